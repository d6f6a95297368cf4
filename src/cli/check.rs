//! `rhizodat-mcp check`: what every store says of itself, and what mends what is wrong.

use std::fmt::{self, Write as _};
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use rhizodat::config::Problems;
use rhizodat::stores::{Handle, Stores};
use serde_json::{Value, json};
use store::{Code, Error, Finding, Probe, Profile, Severity};

use super::{Report, output};

/// How long a store may take to say who it is; never longer than one query.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks every store at once and prints what they said. Fails where one of them cannot be queried.
pub(crate) async fn run(stores: &Stores, report: Report) -> io::Result<ExitCode> {
    let checked = futures::future::join_all(stores.iter().map(Checked::of)).await;
    stores.close().await;
    match report {
        Report::Text => output::print(text(&checked))?,
        Report::Json => output::print(format_args!("{:#}\n", json(&checked)))?,
    }
    Ok(if all_up(&checked) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Says what is wrong with a configuration whose stores could not even be asked.
pub(crate) fn tell_problems(problems: Problems, report: Report) -> io::Result<ExitCode> {
    if report == Report::Json {
        let found: Vec<Value> = problems
            .iter()
            .map(|named| {
                json!({
                    "subject": named.subject,
                    "problem": named.problem.message,
                    "hint": named.problem.hint,
                })
            })
            .collect();
        let document = json!({ "stores": [], "problems": found, "ok": false });
        output::print(format_args!("{document:#}\n"))?;
    }
    output::complain(problems);
    Ok(ExitCode::FAILURE)
}

/// A store and what it said.
struct Checked {
    profile: Profile,
    said: Result<Probe, Error>,
}

/// Whether a store can be queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Up,
    Down,
    Refused,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Refused => "refused",
        })
    }
}

impl Checked {
    async fn of(handle: &Handle) -> Self {
        Self {
            profile: handle.profile().clone(),
            said: handle.probe(PATIENCE).await,
        }
    }

    fn status(&self) -> Status {
        match &self.said {
            Err(_) => Status::Down,
            Ok(probe) if probe.refusal().is_some() => Status::Refused,
            Ok(_) => Status::Up,
        }
    }

    fn findings(&self) -> &[Finding] {
        match &self.said {
            Ok(probe) => &probe.findings,
            Err(_) => &[],
        }
    }

    fn warnings(&self) -> usize {
        self.findings()
            .iter()
            .filter(|finding| finding.severity == Severity::Warning)
            .count()
    }
}

fn all_up(checked: &[Checked]) -> bool {
    checked.iter().all(|one| one.status() == Status::Up)
}

/// A paragraph for each store, and how many are up.
fn text(checked: &[Checked]) -> String {
    let mut text = String::new();
    for one in checked {
        paragraph(one, &mut text);
        text.push('\n');
    }
    let up = checked
        .iter()
        .filter(|one| one.status() == Status::Up)
        .count();
    let warnings: usize = checked.iter().map(Checked::warnings).sum();
    // Writing to a `String` does not fail, here and below.
    _ = write!(text, "stores up: {up} of {}", checked.len());
    if warnings > 0 {
        _ = write!(text, ", warnings: {warnings}");
    }
    text.push('\n');
    text
}

fn paragraph(one: &Checked, text: &mut String) {
    let profile = &one.profile;
    _ = writeln!(text, "{}: {}", profile.name, one.status());
    _ = writeln!(text, "    {}", profile.dsn);
    match &one.said {
        Ok(probe) => {
            _ = write!(text, "    {}", probe.version);
            if let Some(account) = &probe.account {
                _ = write!(text, ", account `{account}`");
            }
            _ = writeln!(text, "\n    read only: {}", probe.read_only_by);
            let two_phase = if probe.two_phase { "yes" } else { "no" };
            _ = writeln!(text, "    two-phase commit: {two_phase}");
            for finding in &probe.findings {
                let word = match finding.severity {
                    Severity::Refused => "error",
                    Severity::Warning => "warning",
                };
                _ = writeln!(text, "    {word}: {}", finding.problem);
                hint(&finding.mend, text);
            }
        }
        Err(error) => {
            _ = writeln!(text, "    error: {}: {error}", error.code);
            if let Some(mend) = &error.hint {
                hint(mend, text);
            }
        }
    }
}

/// What mends it: behind the word, or, where it has several lines to be copied, below it.
fn hint(mend: &str, text: &mut String) {
    if mend.contains('\n') {
        text.push_str("    hint:\n");
        for line in mend.lines() {
            _ = writeln!(text, "        {line}");
        }
    } else {
        _ = writeln!(text, "    hint: {mend}");
    }
}

/// The same for programs. Every member is always there; what is not known is null.
fn json(checked: &[Checked]) -> Value {
    let stores: Vec<Value> = checked.iter().map(document).collect();
    json!({ "stores": stores, "problems": [], "ok": all_up(checked) })
}

fn document(one: &Checked) -> Value {
    let probe = one.said.as_ref().ok();
    let (code, problem, hint) = match &one.said {
        Err(error) => (
            Some(error.code),
            Some(error.to_string()),
            error.hint.clone(),
        ),
        Ok(probe) => match probe.refusal() {
            None => (None, None, None),
            Some(finding) => (
                Some(Code::UnsafeRole),
                Some(finding.problem.clone()),
                Some(finding.mend.clone()),
            ),
        },
    };
    let findings: Vec<Value> = one
        .findings()
        .iter()
        .map(|finding| {
            let severity = match finding.severity {
                Severity::Refused => "refused",
                Severity::Warning => "warning",
            };
            json!({"severity": severity, "problem": finding.problem, "mend": finding.mend})
        })
        .collect();
    json!({
        "name": one.profile.name,
        "kind": one.profile.kind.name(),
        "dsn": one.profile.dsn,
        "status": one.status().to_string(),
        "version": probe.map(|probe| &probe.version),
        "account": probe.and_then(|probe| probe.account.as_ref()),
        "read_only_by": probe.map(|probe| &probe.read_only_by),
        "two_phase": probe.map(|probe| probe.two_phase),
        "findings": findings,
        "problem": problem,
        "hint": hint,
        "code": code.map(Code::name),
    })
}

#[cfg(test)]
mod tests {
    use store::Kind;

    use super::*;

    fn profile(name: &str, kind: Kind, dsn: &str) -> Profile {
        Profile {
            name: name.to_owned(),
            kind,
            dsn: dsn.to_owned(),
            parameters: "",
        }
    }

    fn erp(findings: &[(Severity, &str, &str)]) -> Checked {
        let findings = findings
            .iter()
            .map(|(severity, problem, mend)| Finding {
                severity: *severity,
                problem: (*problem).to_owned(),
                mend: (*mend).to_owned(),
            })
            .collect();
        Checked {
            profile: profile("erp", Kind::Postgresql, "postgresql://u:***@db/erp"),
            said: Ok(Probe {
                version: "PostgreSQL 15.4".to_owned(),
                account: Some("u".to_owned()),
                read_only_by: "a wall".to_owned(),
                two_phase: true,
                findings,
            }),
        }
    }

    fn notes() -> Checked {
        Checked {
            profile: profile("notes", Kind::Sqlite, "sqlite:///notes.db"),
            said: Err(
                Error::new(Code::StoreUnreachable, "the database file does not exist")
                    .with_hint("check the path"),
            ),
        }
    }

    #[test]
    fn warnings_leave_a_store_up_and_a_danger_does_not() {
        let warned = erp(&[(Severity::Warning, "owns tables", "ALTER TABLE …")]);
        let refused = erp(&[(Severity::Refused, "superuser", "CREATE ROLE …")]);
        assert_eq!(warned.status(), Status::Up);
        assert_eq!(refused.status(), Status::Refused);
        assert!(all_up(&[erp(&[]), warned]));
        assert!(!all_up(&[erp(&[]), refused]));
        assert!(!all_up(&[notes()]));
    }

    #[test]
    fn the_text_says_what_is_wrong_and_what_mends_it() {
        let found = erp(&[
            (
                Severity::Refused,
                "the account is a superuser",
                "ONE;\nTWO;",
            ),
            (Severity::Warning, "the account owns tables", "THREE;"),
        ]);
        let expected = "\
erp: refused
    postgresql://u:***@db/erp
    PostgreSQL 15.4, account `u`
    read only: a wall
    two-phase commit: yes
    error: the account is a superuser
    hint:
        ONE;
        TWO;
    warning: the account owns tables
    hint: THREE;

notes: down
    sqlite:///notes.db
    error: store_unreachable: the database file does not exist
    hint: check the path

stores up: 0 of 2, warnings: 1
";
        assert_eq!(text(&[found, notes()]), expected);
    }

    #[test]
    fn the_document_has_the_same_members_whatever_was_found() {
        let refused = erp(&[(Severity::Refused, "superuser", "CREATE ROLE …")]);
        let document = json(&[refused, erp(&[]), notes()]);
        let members = |index: usize| -> Vec<&String> {
            document["stores"][index]
                .as_object()
                .unwrap()
                .keys()
                .collect()
        };
        assert_eq!(members(0), members(1));
        assert_eq!(members(0), members(2));
        assert_eq!(document["ok"], json!(false));
        assert_eq!(document["stores"][0]["code"], json!("unsafe_role"));
        assert_eq!(document["stores"][0]["hint"], json!("CREATE ROLE …"));
        assert_eq!(document["stores"][1]["problem"], json!(null));
        assert_eq!(document["stores"][2]["two_phase"], json!(null));
        assert_eq!(document["stores"][2]["findings"], json!([]));
    }
}
