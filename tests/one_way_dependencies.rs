//! Dependencies point one way: a room knows only the rooms below it, and an adapter only the
//! contract and its own driver.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The rooms of `src`, and those that each may use.
const ROOMS: [(&str, &[&str]); 5] = [
    ("cli", &["mcp", "guard", "stores", "config"]),
    ("mcp", &["guard", "stores", "config"]),
    ("guard", &["config"]),
    ("stores", &["config"]),
    ("config", &[]),
];

/// What only one place may know.
const DRIVERS: [(&str, &[&str]); 5] = [
    ("clickhouse", &["adapters/clickhouse"]),
    ("sqlx", &["adapters/postgresql"]),
    ("rusqlite", &["adapters/sqlite", "src/cli/demo"]),
    ("rmcp", &["src/mcp", "src/cli/demo"]),
    ("anyhow", &["src/main.rs", "src/cli"]),
];

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The code of a file: no comments, and nothing of its unit tests.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The place of a file within its crate, by modules: `src/mcp/tools/query.rs` is `mcp`, `tools`,
/// `query`.
fn module(file: &Path) -> Vec<String> {
    let within = file.strip_prefix("src").unwrap().with_extension("");
    let names = within.iter().map(|name| name.to_str().unwrap().to_owned());
    names.filter(|name| name != "mod").collect()
}

/// What the paths of `code` that lead up to the root of the crate name there: `mcp` of
/// `super::super::mcp::x`.
fn upward(code: &str, module: &[String]) -> Vec<String> {
    code.match_indices("super::")
        .filter(|(at, _)| !code[..*at].ends_with("super::"))
        .filter_map(|(at, _)| {
            let path = &code[at..];
            let steps = path.split("::").take_while(|part| *part == "super").count();
            let left = module.len().checked_sub(steps)?;
            let rest: String = path["super::".len() * steps..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '{')
                .collect();
            (left == 0).then_some(rest)
        })
        .collect()
}

#[test]
fn paths_that_lead_upwards_are_seen() {
    let tool = module(Path::new("src/mcp/tools/query.rs"));
    for (code, found) in [
        ("use super::Failure;", vec![]),
        ("use super::super::reply::Reply;", vec![]),
        ("use super::super::super::cli::x;", vec!["cli"]),
        ("use super::super::super::{cli, mcp};", vec!["{cli"]),
    ] {
        assert_eq!(upward(code, &tool), found, "{code}");
    }
    let room = module(Path::new("src/stores/mod.rs"));
    assert_eq!(upward("super::mcp::serve()", &room), ["mcp"]);
}

fn mentions(code: &str, name: &str) -> bool {
    code.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn a_room_knows_only_the_rooms_below_it() {
    let mut checked = 0;
    for (room, below) in ROOMS {
        for file in sources(&Path::new("src").join(room)) {
            checked += 1;
            let code = code(&file);
            for name in upward(&code, &module(&file)) {
                assert!(
                    name == room || below.contains(&name.as_str()),
                    "{} uses `{name}` by `super::`",
                    file.display()
                );
            }
            for root in ["crate", "rhizodat"] {
                let group = format!("{root}::{{");
                assert!(
                    !code.contains(&group),
                    "{} groups `{group}…`: name each room on a line of its own",
                    file.display()
                );
                for (other, _) in ROOMS.iter().filter(|(other, _)| *other != room) {
                    let path = format!("{root}::{other}");
                    assert!(
                        below.contains(other) || !code.contains(&path),
                        "{} uses `{path}`",
                        file.display()
                    );
                }
            }
        }
    }
    assert!(checked > 20, "only {checked} files were looked at");
    let found: BTreeSet<String> = std::fs::read_dir("src")
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        found,
        ROOMS.map(|(room, _)| room.to_owned()).into(),
        "a room has no place among them"
    );
}

#[test]
fn a_driver_is_known_in_one_place() {
    let mut files = sources(Path::new("src"));
    for adapter in ["store", "postgresql", "sqlite", "clickhouse", "graph"] {
        files.extend(sources(&Path::new("adapters").join(adapter).join("src")));
    }
    for file in files {
        let shown = file.display().to_string();
        for (name, places) in DRIVERS {
            let is_its_place = places.iter().any(|place| shown.starts_with(place));
            assert!(
                is_its_place || !mentions(&code(&file), name),
                "{shown} knows `{name}`"
            );
        }
    }
}

#[test]
fn an_adapter_depends_on_the_contract_and_its_own_driver() {
    let metadata = std::process::Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let dependencies = package["dependencies"].as_array().unwrap();
        for dependency in dependencies {
            let dependency = dependency["name"].as_str().unwrap();
            let driver = DRIVERS.iter().find(|(driver, _)| *driver == dependency);
            let room = name.replace("rhizodat-", "adapters/");
            let is_allowed = driver.is_none_or(|(_, places)| places.contains(&room.as_str()));
            assert!(
                is_allowed || name == "rhizodat",
                "`{name}` depends on `{dependency}`"
            );
        }
        let own: Vec<&str> = dependencies
            .iter()
            .filter(|dependency| dependency["path"].is_string())
            .map(|dependency| dependency["name"].as_str().unwrap())
            .collect();
        match name {
            "rhizodat" => continue,
            "rhizodat-store" => assert!(own.is_empty(), "{name}: {own:?}"),
            _ => assert_eq!(own, ["rhizodat-store"], "{name}"),
        }
    }
    assert!(packages.len() >= 5);
}

#[test]
fn every_error_code_has_its_section_in_the_docs() {
    let page = std::fs::read_to_string("docs/errors.md").unwrap();
    for code in store::Code::ALL {
        let heading = format!("\n## `{code}`\n");
        let plain = format!("\n## {code}\n");
        assert!(
            page.contains(&heading) || page.contains(&plain),
            "no section `{code}`"
        );
    }
}
