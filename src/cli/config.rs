//! `rhizodat-mcp config`: the configuration in effect.

use std::io;

use rhizodat::config::{Config, reference, render};

use super::{Report, output};

/// Prints every variable with its value, secrets masked, and where that came from.
pub(crate) fn run(config: &Config, report: Report) -> io::Result<()> {
    output::warn(&config.warnings);
    match report {
        Report::Text => output::print(render::text(config)),
        Report::Json => output::print(format_args!("{:#}\n", render::json(config))),
    }
}

/// Prints the page about every variable.
pub(crate) fn print_reference() -> io::Result<()> {
    output::print(reference::markdown())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use rhizodat::stores::Stores;
    use serde_json::Value;

    use super::*;

    /// The environment of each server in a client's configuration, whatever the client calls it.
    fn environments(client: &Value) -> Vec<Vec<(String, String)>> {
        ["mcpServers", "servers", "context_servers"]
            .iter()
            .filter_map(|key| client[key].as_object())
            .flat_map(|servers| servers.values())
            .filter_map(|server| server["env"].as_object())
            .map(|env| {
                env.iter()
                    .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn every_example_is_a_configuration_and_stands_in_the_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(root.join("docs/clients.md")).unwrap();
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "secret").unwrap();
        let mut checked = 0;
        for entry in std::fs::read_dir(root.join("examples/clients")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(page.contains(&text), "{}", path.display());
            for environment in environments(&serde_json::from_str(&text).unwrap()) {
                let variables = environment.into_iter().map(|(name, value)| {
                    let value = if name.ends_with("_PASSWORD_FILE") {
                        secret.path().as_os_str().to_owned()
                    } else {
                        OsString::from(value)
                    };
                    (OsString::from(name), value)
                });
                let config = Config::load(variables, None).unwrap();
                let opened = Stores::open(&config);
                assert!(opened.is_ok(), "{}: {:?}", path.display(), opened.err());
                checked += 1;
            }
        }
        assert!(checked >= 5, "only {checked} were looked at");
    }
}
