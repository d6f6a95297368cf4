//! The page about configuration, `docs/configuration.md`, made from the table of variables.

use super::variables::{TABLE, Variable};

const BEFORE: &str = "\
# Configuration

<!-- Made by `rhizodat-mcp config --reference > docs/configuration.md`. A test fails while it is stale. -->

rhizodat-mcp reads its configuration from environment variables, so that secrets stay out of command lines. At start
every variable is checked, every problem is reported at once on standard error, and with any problem the program exits
with code 2 (`check` with 1, and it asks no store then). A store that cannot be reached is not a problem: it is shown as down, and the next call tries again.

`rhizodat-mcp config` prints the configuration in effect, secrets masked, and where each value came from;
`rhizodat-mcp check` also asks every store.

## Variables

";

const AFTER: &str = "
A variable with an empty value counts as unset. A name that begins with `RHIZODAT_` and is not in the table is refused,
except `RHIZODAT_TEST_…` and `RHIZODAT_BACKENDS_…`, which belong to the project's tests. `RHIZODAT_MCP_WRITES=0` is
accepted: this version has no tool that writes. There are no settings for recovery.

- **Sizes** are whole numbers of bytes, alone or with a unit: `65536`, `64KiB`, `1MiB`, `64kB`, `1MB`.
- **Durations** are whole numbers with a unit: `500ms`, `10s`, `2m`, `1h`. A bare number is refused.
- **Switches** are exactly `0`, `1`, `true` or `false`.

## Stores

`RHIZODAT_STORE_ERP` gives the store `erp`. A name has 1 to 32 letters, digits and underscores, begins with a letter,
and does not end in `_PASSWORD` or `_PASSWORD_FILE`.

    RHIZODAT_STORE_ERP=postgresql://reader@db.example:5432/erp?sslmode=verify-full
    RHIZODAT_STORE_ERP_PASSWORD_FILE=/run/secrets/erp
    RHIZODAT_STORE_NOTES=sqlite:///data/notes.db

In a DSN, user, password, host, path and parameters are percent-encoded: write `@` as `%40`, `/` as `%2F`, `:` as `%3A`,
`?` as `%3F`, `#` as `%23` and `%` as `%25`. A password can stand in the DSN, in `RHIZODAT_STORE_<NAME>_PASSWORD` or in
the file of `RHIZODAT_STORE_<NAME>_PASSWORD_FILE`, and only in one of them; the latter two are taken as they are.

## The file of `--env-file`

`rhizodat-mcp --env-file FILE` takes from a file what the environment does not set. Only names that begin with
`RHIZODAT_` are read from it.

    # comments, blank lines and `export` are fine
    RHIZODAT_STORE_NOTES=sqlite:///data/notes.db
    export RHIZODAT_LOG='warn,rhizodat=debug'   # quotes keep blanks, quotes, `#` and `\\`

Nothing is substituted: `$` stands for itself. In double quotes and outside of quotes a backslash escapes a blank, a
quote or a backslash, and `\\n` is a newline; in single quotes everything stands for itself. A file that every account of
the machine can read is accepted with a warning.

## Logs

Logs go to standard error, for standard output belongs to the protocol. `RHIZODAT_LOG` is a level, or levels per target
as in `warn,rhizodat=debug`. The targets `sqlx` and `rmcp` stay at `warn` unless they are named.
";

/// The page, in Markdown.
pub fn markdown() -> String {
    let rows: Vec<String> = TABLE.iter().map(|variable| row(variable)).collect();
    let head = "| variable | default | values | meaning |\n|---|---|---|---|\n";
    format!("{BEFORE}{head}{}{AFTER}", rows.concat())
}

fn row(variable: &Variable) -> String {
    let default = match variable.default {
        "" => String::new(),
        text => format!("`{text}`"),
    };
    format!(
        "| `{}` | {default} | {} | {} |\n",
        variable.name,
        variable.values.describe(),
        variable.meaning
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_the_one_the_table_makes() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == super::markdown(),
            "stale: run `rhizodat-mcp config --reference > docs/configuration.md`"
        );
    }
}
