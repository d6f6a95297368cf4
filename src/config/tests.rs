//! What a whole configuration keeps: precedence, secrecy, and that every problem is told at once.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

use secrecy::ExposeSecret;

use super::*;

const NOTES: (&str, &str) = ("RHIZODAT_STORE_NOTES", "sqlite:///data/notes.db");

fn load(variables: &[(&str, &str)]) -> Result<Config, Problems> {
    load_over(variables, None)
}

fn load_over(variables: &[(&str, &str)], env_file: Option<&Path>) -> Result<Config, Problems> {
    let environment = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Config::load(environment, env_file)
}

fn file(content: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

/// The subjects and messages of what is wrong.
fn told(problems: &Problems) -> Vec<(&str, &str)> {
    problems
        .iter()
        .map(|named| (named.subject.as_str(), named.problem.message.as_str()))
        .collect()
}

#[test]
fn one_store_is_enough_and_the_rest_has_defaults() {
    let config = load(&[NOTES, ("PATH", "/bin"), ("RHIZODAT_MCP_MAX_ROWS", "")]).unwrap();
    assert_eq!(config.stores[0].name, "notes");
    assert_eq!(config.stores[0].dsn.path(), "/data/notes.db");
    assert_eq!(config.permissions.to_string(), "schema,read");
    assert_eq!(
        config.limits,
        Limits {
            max_rows: 1000,
            max_bytes: 65_536,
            max_cell_bytes: 4096,
            max_sql_bytes: 32_768
        }
    );
    assert_eq!(config.query_timeout, Duration::from_secs(10));
    assert_eq!(config.busy_timeout, Duration::from_secs(3));
    assert_eq!(config.max_concurrency, 4);
    assert_eq!(config.format, Format::Toon);
    assert_eq!(config.results, Results::TextOnly);
    assert_eq!(config.log.filter, "warn");
    assert_eq!(config.log.format, LogFormat::Text);
    assert!(config.warnings.is_empty());
}

#[test]
fn every_problem_is_told_at_once() {
    let not_utf8 = OsString::from_vec(vec![0xff]);
    let environment = [
        ("RHIZODAT_STORE_ERP", OsString::from("erp")),
        ("RHIZODAT_STORE_ERP_PASSWORD", "s3cret".into()),
        ("RHIZODAT_STORE_OLD_PASSWORD", "s3cret".into()),
        ("RHIZODAT_STORE_9", "sqlite:///x".into()),
        ("RHIZODAT_MCP_PERMISSIONS", "read,write,raed".into()),
        ("RHIZODAT_MCP_MAX_ROWS", "0".into()),
        ("RHIZODAT_MCP_MAX_BYTES", not_utf8),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "10".into()),
        ("RHIZODAT_MCP_FORMAT", "xml".into()),
        ("RHIZODAT_MCP_STRUCTURED", "yes".into()),
        ("RHIZODAT_MCP_WRITES", "1".into()),
        ("RHIZODAT_MCP_RECOVERY_EVERY", "1m".into()),
        ("RHIZODAT_LOG", "wran".into()),
        ("RHIZODAT_MCP_MAX_ROW", "10".into()),
        ("RHIZODAT_TEST_POSTGRESQL", "x".into()),
    ];
    let environment = environment.map(|(name, value)| (OsString::from(name), value));
    let problems = Config::load(environment, None).unwrap_err();
    let mut subjects: Vec<&str> = told(&problems)
        .iter()
        .map(|(subject, _)| *subject)
        .collect();
    subjects.sort_unstable();
    assert_eq!(
        subjects,
        [
            "RHIZODAT_LOG",
            "RHIZODAT_MCP_FORMAT",
            "RHIZODAT_MCP_MAX_BYTES",
            "RHIZODAT_MCP_MAX_ROW",
            "RHIZODAT_MCP_MAX_ROWS",
            "RHIZODAT_MCP_PERMISSIONS",
            "RHIZODAT_MCP_PERMISSIONS",
            "RHIZODAT_MCP_QUERY_TIMEOUT",
            "RHIZODAT_MCP_RECOVERY_EVERY",
            "RHIZODAT_MCP_STRUCTURED",
            "RHIZODAT_MCP_WRITES",
            "RHIZODAT_STORE_9",
            "RHIZODAT_STORE_ERP",
            "RHIZODAT_STORE_OLD_PASSWORD",
        ]
    );
    let shown = problems.to_string();
    assert_eq!(shown.split("\n\n").count(), subjects.len());
    assert!(shown.contains(
        "error: `RHIZODAT_MCP_MAX_ROW`: unknown variable\nhint: did you mean `RHIZODAT_MCP_MAX_ROWS`?"
    ));
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn without_a_store_the_hint_shows_how_one_is_given() {
    let problems = load(&[]).unwrap_err();
    assert_eq!(
        told(&problems),
        [("RHIZODAT_STORE_<NAME>", "no store is configured")]
    );
    let shown = problems.to_string();
    assert!(
        shown.contains("=sqlite:///") && shown.contains("=postgresql://"),
        "{shown}"
    );
}

#[test]
fn the_environment_wins_over_the_file() {
    let env_file = file(
        "RHIZODAT_STORE_NOTES=sqlite:///file.db\nRHIZODAT_MCP_MAX_ROWS=7\n\
         export RHIZODAT_MCP_MAX_BYTES=1KiB # small\nHOME=/nowhere\n",
    );
    let environment = [NOTES, ("RHIZODAT_MCP_MAX_ROWS", "")];
    let config = load_over(&environment, Some(env_file.path())).unwrap();
    assert_eq!(config.stores[0].dsn.path(), "/data/notes.db");
    let shown = render::text(&config);
    for line in [
        "RHIZODAT_STORE_NOTES=sqlite:///data/notes.db  # environment",
        "RHIZODAT_MCP_MAX_ROWS=7  # file",
        "RHIZODAT_MCP_MAX_BYTES=1024  # file",
        "RHIZODAT_MCP_MAX_CELL_BYTES=1024  # default",
        "RHIZODAT_MCP_QUERY_TIMEOUT=10s  # default",
    ] {
        assert!(
            shown.lines().any(|shown_line| shown_line == line),
            "{line}\n{shown}"
        );
    }
    let json = render::json(&config);
    assert_eq!(
        json["RHIZODAT_MCP_MAX_ROWS"],
        serde_json::json!({"value": "7", "origin": "file"})
    );
}

#[test]
fn a_file_that_is_missing_is_a_problem_and_one_that_all_can_read_a_warning() {
    let missing = Path::new("/nonexistent/rhizodat.env");
    let problems = load_over(&[], Some(missing)).unwrap_err();
    assert_eq!(problems.iter().count(), 1, "{problems}");
    assert!(
        problems
            .to_string()
            .starts_with("error: `--env-file`: cannot read `/nonexistent")
    );

    let env_file = file("RHIZODAT_STORE_NOTES=sqlite:///file.db\n");
    for (mode, warnings) in [(0o600, 0), (0o640, 0), (0o644, 1)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(env_file.path(), permissions).unwrap();
        let config = load_over(&[], Some(env_file.path())).unwrap();
        assert_eq!(config.warnings.len(), warnings, "{mode:o}");
    }
}

#[test]
fn a_password_comes_from_one_place_and_goes_nowhere() {
    const ERP: (&str, &str) = ("RHIZODAT_STORE_ERP", "postgresql://reader@db/erp");
    let secret = "pa ss$word";
    let password_file = file("pa ss$word\n");
    let path = password_file.path().to_str().unwrap();
    let encoded = (
        "RHIZODAT_STORE_ERP",
        "postgresql://reader:pa%20ss%24word@db/erp",
    );
    for variables in [
        vec![encoded],
        vec![ERP, ("RHIZODAT_STORE_ERP_PASSWORD", secret)],
        vec![ERP, ("RHIZODAT_STORE_ERP_PASSWORD_FILE", path)],
    ] {
        let config = load(&variables).unwrap();
        let dsn = &config.stores[0].dsn;
        assert_eq!(dsn.password().unwrap().expose_secret(), secret);
        for shown in [
            format!("{config:?}"),
            format!("{config:#?}"),
            render::text(&config),
            render::json(&config).to_string(),
        ] {
            assert!(
                !shown.contains("ss$word") && !shown.contains("ss%24word"),
                "{shown}"
            );
            assert!(shown.contains("postgresql://reader:***@db/erp"), "{shown}");
        }
    }

    let password = ("RHIZODAT_STORE_ERP_PASSWORD", secret);
    let from_file = ("RHIZODAT_STORE_ERP_PASSWORD_FILE", path);
    let empty = file("\n");
    let empty_path = empty.path().to_str().unwrap();
    let in_parameter = ("RHIZODAT_STORE_ERP", "postgresql://db/erp?password=ss$word");
    let twice = (ERP.0, "postgresql://reader:one@db/erp?password=two");
    for (variables, subject, message) in [
        (
            vec![twice],
            twice.0,
            "its value has a password before its host and another as the parameter `password`",
        ),
        (
            vec![encoded, password],
            password.0,
            "the DSN in `RHIZODAT_STORE_ERP` has a password too",
        ),
        (
            vec![in_parameter, from_file],
            from_file.0,
            "the DSN in `RHIZODAT_STORE_ERP` has a password too",
        ),
        (
            vec![ERP, password, from_file],
            password.0,
            "`RHIZODAT_STORE_ERP_PASSWORD_FILE` is set too",
        ),
        (vec![NOTES, password], password.0, "there is no store `erp`"),
        (
            vec![ERP, (from_file.0, empty_path)],
            from_file.0,
            "is empty",
        ),
        (
            vec![ERP, (from_file.0, "/dev/zero")],
            from_file.0,
            "`/dev/zero` is longer than any password",
        ),
        (
            vec![ERP, (from_file.0, "/nonexistent")],
            from_file.0,
            "cannot read `/nonexistent`",
        ),
    ] {
        let problems = load(&variables).unwrap_err();
        let [(found, why)] = told(&problems)[..] else {
            panic!("{problems}");
        };
        assert_eq!(found, subject);
        assert!(why.contains(message), "{why}");
        assert!(!problems.to_string().contains("ss$word"));
    }
}

#[test]
fn a_dsn_that_is_wrong_is_named_and_never_repeated() {
    for (dsn, message) in [
        ("s3cret", "its value does not begin with a scheme"),
        (
            "postgresql://u:s3#cret@h/d",
            "its value holds an unencoded `#`",
        ),
        (
            "postgresql://u:s3/cret@h/d",
            "its value holds a port that is no number",
        ),
        (
            "postgresql://u:12/s3cret@h/d",
            "its value holds an `@` after its host",
        ),
        (
            "postgresql://u:12?s3cret@h/d",
            "its value holds an `@` after its host",
        ),
        (
            "postgresql://u:s3cret@h/d\n",
            "its value begins or ends with a blank",
        ),
    ] {
        let problems = load(&[("RHIZODAT_STORE_ERP", dsn)]).unwrap_err();
        let [(subject, why)] = told(&problems)[..] else {
            panic!("{problems}");
        };
        assert_eq!(subject, "RHIZODAT_STORE_ERP");
        assert!(why.starts_with(message), "{why}");
        assert!(problems.to_string().contains("hint: "), "{problems}");
        assert!(!problems.to_string().contains("cret"), "{problems}");
    }
    assert!(load(&[("RHIZODAT_STORE_MAIL", "sqlite:///home/a@b/my mail.db")]).is_ok());
}

#[test]
fn limits_that_contradict_each_other_are_told() {
    let problems = load(&[
        NOTES,
        ("RHIZODAT_MCP_MAX_BYTES", "2KiB"),
        ("RHIZODAT_MCP_MAX_CELL_BYTES", "4KiB"),
    ])
    .unwrap_err();
    assert_eq!(
        told(&problems),
        [(
            "RHIZODAT_MCP_MAX_CELL_BYTES",
            "one value could be larger than `RHIZODAT_MCP_MAX_BYTES`, a whole result"
        )]
    );
}

#[test]
fn what_cannot_be_meant_twice_is_refused() {
    let problems = load(&[
        ("RHIZODAT_STORE_ERP", "sqlite:///a.db"),
        ("RHIZODAT_STORE_erp", "sqlite:///b.db"),
    ])
    .unwrap_err();
    assert_eq!(
        told(&problems),
        [(
            "RHIZODAT_STORE_erp",
            "means the same as `RHIZODAT_STORE_ERP`, which is set too"
        )]
    );
    for (writes, problems) in [("0", 0), ("false", 0), ("true", 1), ("off", 1)] {
        let found = load(&[NOTES, ("RHIZODAT_MCP_WRITES", writes)]);
        assert_eq!(
            found.err().map_or(0, |found| found.iter().count()),
            problems
        );
    }
}
