//! The configuration as an operator meets it: every problem at once, on standard error, no secret.

use std::process::Output;

use serde_json::Value;

use crate::harness::backends::variable;
use crate::harness::client::command;
use crate::harness::postgresql::{self, Database};
use crate::harness::sqlite::File;

async fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (Output, String, String) {
    let output = command(variables).args(arguments).output().await.unwrap();
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    (output, stdout, stderr)
}

#[tokio::test]
async fn every_problem_is_reported_at_once_with_a_hint_and_no_secret() {
    let variables = [
        ("RHIZODAT_STORE_ERP", "postgresql://u:s3cr3t-p@ss@h:x/d"),
        (
            "RHIZODAT_STORE_CRM",
            "postgresql://u:s3cr3t@h/d?sslmod=require",
        ),
        ("RHIZODAT_STORE_OLD", "mysql://u:s3cr3t@h/d"),
        ("RHIZODAT_STORE_NOTES", "sqlite://relative.db"),
        ("RHIZODAT_MCP_MAX_ROW", "10"),
        ("RHIZODAT_MCP_MAX_ROWS", "0"),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "10"),
        ("RHIZODAT_MCP_STRUCTURED", "yes"),
        ("RHIZODAT_MCP_RECOVERY_INTERVAL", "1s"),
        ("RHIZODAT_MCP_PERMISSIONS", "schema,reed"),
        ("RHIZODAT_JOURNAL", "sqlite:///j.db"),
    ];
    for arguments in [&["serve"][..], &["check"], &["config"], &[]] {
        let (output, stdout, stderr) = run(arguments, &variables).await;
        // `check` answers a question: no is 1.
        let code = if arguments == ["check"] { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stdout.is_empty(), "{stdout}");
        for (name, _) in variables {
            assert!(
                stderr.contains(&format!("`{name}`")),
                "{name} is missing:\n{stderr}"
            );
        }
        assert!(stderr.contains("did you mean `sslmode`?"), "{stderr}");
        assert!(stderr.contains("RHIZODAT_MCP_MAX_ROWS"), "{stderr}");
        assert!(!stderr.contains("s3cr3t"), "{stderr}");
        assert!(
            stderr
                .lines()
                .filter(|line| line.starts_with("hint: "))
                .count()
                >= 9,
            "{stderr}"
        );
    }
}

#[tokio::test]
async fn check_tells_programs_what_is_wrong_with_a_configuration() {
    let variables = [
        ("RHIZODAT_STORE_ERP", "postgresql://u:s3cr3t@h/d?sslmod=x"),
        ("RHIZODAT_MCP_MAX_ROW", "10"),
    ];
    let (output, stdout, _) = run(&["check", "--json"], &variables).await;
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["ok"], false);
    let problems = report["problems"].as_array().unwrap();
    for (name, _) in variables {
        let told = problems.iter().find(|told| told["subject"] == name);
        assert!(told.unwrap()["hint"].is_string(), "{name}: {stdout}");
    }
    assert!(!stdout.contains("s3cr3t"), "{stdout}");
}

#[tokio::test]
async fn the_effective_configuration_is_printed_masked() {
    let file = File::create("create table t (a);");
    let env_file = file.directory.path().join("rhizodat.env");
    let text = format!(
        "# stores\nexport RHIZODAT_STORE_NOTES='{}'\nRHIZODAT_MCP_MAX_ROWS=7\nOTHER=1\n",
        file.dsn()
    );
    std::fs::write(&env_file, text).unwrap();
    let variables = [
        ("RHIZODAT_STORE_ERP", "postgresql://u@h/d"),
        ("RHIZODAT_STORE_ERP_PASSWORD", "s3cr3t"),
        ("RHIZODAT_MCP_MAX_ROWS", "9"),
    ];
    let path = env_file.to_str().unwrap();
    let (output, stdout, stderr) = run(&["--env-file", path, "config"], &variables).await;
    assert!(output.status.success(), "{stderr}");
    assert!(stdout.contains("RHIZODAT_MCP_MAX_ROWS=9"), "{stdout}");
    assert!(stdout.contains("postgresql://u:***@h/d"), "{stdout}");
    assert!(
        stdout.contains(&format!("RHIZODAT_STORE_NOTES={}", file.dsn())),
        "{stdout}"
    );
    assert!(!stdout.contains("s3cr3t"));
    let (_, stdout, _) = run(&["--env-file", path, "config", "--json"], &variables).await;
    let _: Value = serde_json::from_str(&stdout).unwrap();
    assert!(!stdout.contains("s3cr3t"));
}

#[tokio::test]
async fn check_tells_of_every_store_and_what_mends_it() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let file = File::create("create table t (a);");
    let (reader, superuser) = (database.reader(), database.dsn("postgres:postgres-test"));
    let (notes, gone) = (file.dsn(), format!("{}.missing", file.dsn()));
    let good = [
        ("RHIZODAT_STORE_ERP", reader.as_str()),
        ("RHIZODAT_STORE_NOTES", notes.as_str()),
    ];
    let (output, stdout, stderr) = run(&["check"], &good).await;
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    for said in [
        "erp: up",
        "notes: up",
        "PostgreSQL 15",
        "rhizodat_reader",
        "READ ONLY",
    ] {
        assert!(stdout.contains(said), "no {said}: {stdout}");
    }

    let writer = format!("{}_writes", database.name);
    let mut admin = database.admin().await;
    let grants = format!(
        "create table t (); create role {writer} login password 'x'; grant insert on t to {writer}"
    );
    postgresql::run(&mut admin, &grants).await;
    let writes = database.dsn(&format!("{writer}:x"));
    let (output, stdout, _) = run(&["check"], &[("RHIZODAT_STORE_ERP", &writes)]).await;
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    assert!(stdout.contains("may write tables"), "{stdout}");
    let end = format!("drop owned by {writer}; drop role {writer}");
    postgresql::run(&mut admin, &end).await;

    let bad = [
        good[0],
        good[1],
        ("RHIZODAT_STORE_ROOT", superuser.as_str()),
        ("RHIZODAT_STORE_GONE", gone.as_str()),
    ];
    let (output, stdout, stderr) = run(&["check", "--json"], &bad).await;
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["ok"], false);
    let status = |name: &str| {
        let stores = report["stores"].as_array().unwrap();
        let store = stores.iter().find(|store| store["name"] == name).unwrap();
        store["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        ["erp", "notes", "root", "gone"].map(status),
        ["up", "up", "refused", "down"]
    );
    assert!(stdout.contains("CREATE ROLE rhizodat_reader"), "{stdout}");
    for secret in ["reader-test", "postgres-test"] {
        assert!(!stdout.contains(secret) && !stderr.contains(secret));
    }
    assert!(!std::path::Path::new(gone.trim_start_matches("sqlite://")).exists());
}

#[tokio::test]
async fn the_demo_needs_nothing_and_ends_with_what_a_client_takes() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("demo");
    let place = place.to_str().unwrap();
    // Twice: it takes again what it made.
    for _ in 0..2 {
        let (output, stdout, stderr) = run(&["demo", "--dir", place], &[]).await;
        assert!(output.status.success(), "{stdout}{stderr}");
        for said in [
            "stores",
            "schema",
            "row_count: ",
            "error: query_rejected: ",
            "hint: ",
        ] {
            assert!(stdout.contains(said), "no {said}: {stdout}");
        }
        let json = stdout.rfind("\n{").map(|at| &stdout[at..]).unwrap();
        let end = json.rfind('}').unwrap();
        let client: Value = serde_json::from_str(&json[..=end]).unwrap();
        let server = &client["mcpServers"]["rhizodat"];
        assert!(std::path::Path::new(server["command"].as_str().unwrap()).is_absolute());
        assert!(server["env"].as_object().unwrap().len() >= 2);
    }
    // What it did not make, it does not touch.
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("mine.txt"), "mine").unwrap();
    let (output, _, stderr) = run(&["demo", "--dir", other.to_str().unwrap()], &[]).await;
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}
