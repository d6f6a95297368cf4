//! A Neo4j of a test's own, to be killed and started again.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// How long it may take to answer.
const START: Duration = Duration::from_secs(120);

/// A server from `scripts/backends`, in a directory of its own, which goes with it.
pub struct Neo4j {
    directory: TempDir,
    /// Its own DSN, as its administrator.
    pub dsn: String,
    /// The command line of the server.
    command: Vec<String>,
    process: u32,
    /// The server after it was started again.
    child: Option<Child>,
}

impl Neo4j {
    /// A new server.
    pub async fn start() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("rhizodat-own-")
            .tempdir()
            .unwrap();
        let run = directory.path().join("run");
        let backends = async |command: &str| {
            let output = Command::new("scripts/backends")
                .args([command, "neo4j"])
                .env("RHIZODAT_BACKENDS_DIR", &run)
                .output()
                .await
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
            String::from_utf8(output.stdout).unwrap()
        };
        // The account that servers run as has to pass through.
        open_to_all(directory.path());
        backends("start").await;
        let variables = backends("env").await;
        let dsn = variables
            .lines()
            .find_map(|line| line.strip_prefix("export RHIZODAT_TEST_NEO4J="))
            .unwrap()
            .to_owned();
        let pid = std::fs::read_to_string(run.join("neo4j/pid")).unwrap();
        let process: u32 = pid.split(' ').next().unwrap().parse().unwrap();
        let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap();
        let command = command
            .split(|byte| *byte == 0)
            .map(|part| String::from_utf8(part.to_vec()).unwrap())
            .filter(|part| !part.is_empty())
            .collect();
        Self {
            directory,
            dsn,
            command,
            process,
            child: None,
        }
    }

    async fn signal(&self, signal: &str) {
        let process = self.process.to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.await.unwrap().success());
    }

    /// From now on it answers nothing, and its connections stay open.
    pub async fn hang(&self) {
        self.signal("-STOP").await;
    }

    pub async fn go_on(&self) {
        self.signal("-CONT").await;
    }

    /// `kill -9`.
    pub async fn kill(&mut self) {
        self.signal("-9").await;
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
        let child = Command::new(&self.command[0])
            .args(&self.command[1..])
            .current_dir("/")
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

    fn address(&self) -> &str {
        self.dsn.rsplit_once('@').unwrap().1
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("again.log")
    }
}

impl Drop for Neo4j {
    fn drop(&mut self) {
        let process = self.process.to_string();
        let _ = std::process::Command::new("kill")
            .args(["-9", &process])
            .stderr(Stdio::null())
            .status();
        let _ = std::process::Command::new("scripts/backends")
            .args(["stop", "neo4j"])
            .env("RHIZODAT_BACKENDS_DIR", self.directory.path().join("run"))
            .stderr(Stdio::null())
            .status();
    }
}

fn open_to_all(directory: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o711)).unwrap();
}
