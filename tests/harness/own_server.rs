//! A server of a test's own, to be killed and started again.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// How long it may take to answer.
const START: Duration = Duration::from_secs(120);

/// A server from `scripts/backends`, in a directory of its own, which goes with it.
pub struct OwnServer {
    directory: TempDir,
    backend: &'static str,
    /// The DSN that the tests know its kind by.
    pub dsn: String,
    /// How it was started: the command line, the variables, where, and as whom.
    command: Vec<String>,
    variables: Vec<(String, String)>,
    place: PathBuf,
    user: (u32, u32),
    process: u32,
    /// The server after it was started again.
    child: Option<Child>,
}

impl OwnServer {
    /// A new server of this backend, whose DSN is in `variable`.
    pub async fn start(backend: &'static str, variable: &str) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("rhizodat-own-")
            .tempdir()
            .unwrap();
        let run = directory.path().join("run");
        // The account that servers run as has to pass through.
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
        backends(&run, "start", backend).await;
        let prefix = format!("export {variable}=");
        let dsn = backends(&run, "env", backend)
            .await
            .lines()
            .find_map(|line| line.strip_prefix(&prefix))
            .unwrap()
            .to_owned();
        let pid = std::fs::read_to_string(run.join(backend).join("pid")).unwrap();
        let process: u32 = pid.split(' ').next().unwrap().parse().unwrap();
        let its = PathBuf::from(format!("/proc/{process}"));
        let owner = std::fs::metadata(&its).unwrap();
        let variables = parts(&its.join("environ"))
            .iter()
            .filter_map(|variable| variable.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Self {
            directory,
            backend,
            dsn,
            command: parts(&its.join("cmdline")),
            variables,
            place: std::fs::read_link(its.join("cwd")).unwrap(),
            user: (owner.uid(), owner.gid()),
            process,
            child: None,
        }
    }

    async fn signal(&self, signal: &str, processes: &[String]) {
        let sent = Command::new("kill").arg(signal).args(processes).status();
        assert!(sent.await.unwrap().success());
    }

    /// From now on it answers nothing, and its connections stay open.
    pub async fn hang(&self) {
        self.signal("-STOP", &self.processes()).await;
    }

    pub async fn go_on(&self) {
        self.signal("-CONT", &self.processes()).await;
    }

    /// `kill -9`.
    pub async fn kill(&mut self) {
        self.signal("-9", &self.processes()).await;
        if let Some(child) = &mut self.child {
            child.wait().await.unwrap();
        }
        let gone = async {
            while TcpStream::connect(self.address()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(START, gone).await.unwrap();
    }

    /// The same server on the same data.
    pub async fn start_again(&mut self) {
        let log = std::fs::File::create(self.log()).unwrap();
        // PostgreSQL takes a process that nobody has reaped for one that runs.
        let (_, port) = self.address().rsplit_once(':').unwrap();
        let own = self.directory.path().join("run").join(self.backend);
        let _ = std::fs::remove_file(own.join("data/postmaster.pid"));
        let _ = std::fs::remove_file(own.join(format!("socket/.s.PGSQL.{port}.lock")));
        let (user, group) = self.user;
        let child = Command::new("setpriv")
            .arg(format!("--reuid={user}"))
            .arg(format!("--regid={group}"))
            .args(["--clear-groups", "--"])
            .args(&self.command)
            .env_clear()
            .envs(self.variables.iter().cloned())
            .current_dir(&self.place)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.process = child.id().unwrap();
        self.child = Some(child);
        let up = async {
            while TcpStream::connect(self.address()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(START, up).await.is_err() {
            panic!("{}", std::fs::read_to_string(self.log()).unwrap());
        }
    }

    /// The server's own process and those that it started.
    fn processes(&self) -> Vec<String> {
        let mut all = vec![self.process.to_string()];
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process)).unwrap();
        for task in tasks {
            let children = std::fs::read_to_string(task.unwrap().path().join("children"));
            let children = children.unwrap_or_default();
            all.extend(children.split_whitespace().map(str::to_owned));
        }
        all
    }

    /// `host:port`.
    fn address(&self) -> &str {
        let (_, after) = self.dsn.rsplit_once('@').unwrap();
        after.split('/').next().unwrap()
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("again.log")
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let process = self.process.to_string();
        let _ = std::process::Command::new("kill")
            .args(["-9", &process])
            .stderr(Stdio::null())
            .status();
        let _ = std::process::Command::new("scripts/backends")
            .args(["stop", self.backend])
            .env("RHIZODAT_BACKENDS_DIR", self.directory.path().join("run"))
            .stderr(Stdio::null())
            .status();
    }
}

async fn backends(run: &Path, command: &str, backend: &str) -> String {
    let output = Command::new("scripts/backends")
        .args([command, backend])
        .env("RHIZODAT_BACKENDS_DIR", run)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The parts of a file of `/proc` that ends each with a NUL.
fn parts(file: &Path) -> Vec<String> {
    let whole = std::fs::read(file).unwrap();
    whole
        .split(|byte| *byte == 0)
        .map(|part| String::from_utf8(part.to_vec()).unwrap())
        .filter(|part| !part.is_empty())
        .collect()
}
