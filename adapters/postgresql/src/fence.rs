//! What is decided of a query's text before the server sees it. The wall against writes is the
//! server's read-only transaction and its own parser; this second fence closes what a rolled-back
//! read can still do to other sessions, to the connection or to the host.

use store::{Code, Error, Position};

use crate::error::READ_ONLY;
use crate::lexer::{Kind, Token, tokens};

/// A text that may be parsed by the server: no `;` in it, none of the refused functions called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The text without trailing semicolons and comments.
    pub(crate) text: String,
}

/// Functions whose effect a ROLLBACK does not undo, or that run SQL given as a string. A name that
/// ends in `*` stands for all that begin so.
const REFUSED_FUNCTIONS: &[&str] = &[
    // Other sessions.
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_advisory_*",
    "pg_try_advisory_*",
    "pg_notify",
    "pg_log_backend_memory_contexts",
    // This session, and with it the text form of the answer.
    "set_config",
    "setseed",
    // SQL given as a string, which this fence cannot see into.
    "query_to_xml*",
    "cursor_to_xml*",
    "ts_stat",
    "ts_rewrite",
    "dblink*",
    "crosstab*",
    "connectby",
    "xpath_table",
    // The write-ahead log, replication, backups, statistics and the server itself.
    "pg_logical_*",
    "pg_replication_*",
    "pg_create_*",
    "pg_copy_*",
    "pg_drop_*",
    "pg_sync_*",
    "pg_export_snapshot",
    "pg_current_xact_id",
    "txid_current",
    "pg_import_system_collations",
    "pg_switch_wal",
    "pg_switch_xlog",
    "pg_wal_replay_*",
    "pg_promote",
    "pg_backup_*",
    "pg_start_backup",
    "pg_stop_backup",
    "pg_reload_conf",
    "pg_rotate_logfile*",
    "pg_log_standby_snapshot",
    "pg_stat_reset*",
    "pg_stat_statements_reset",
    "pg_clear_*_stats",
    "pg_restore_*",
    "pg_buffercache_evict*",
    "pg_prewarm",
    "autoprewarm*",
    "pg_truncate_visibility_map",
    "heap_force_*",
    // Indexes of the account's own tables.
    "brin_summarize_*",
    "brin_desummarize_*",
    "gin_clean_pending_list",
    // Files of the host, and large objects written or opened.
    "pg_read_file*",
    "pg_read_binary_file*",
    "pg_ls_*",
    "pg_stat_file",
    "pg_file_*",
    "pg_current_logfile",
    "lo_import*",
    "lo_export",
    "lo_create",
    "lo_creat",
    "lo_unlink",
    "lo_open",
    "lo_put",
    "lo_from_bytea",
    "lo_truncate*",
    "lowrite",
    // Other hosts.
    "http",
    "http_*",
    "urlencode_http*",
    "postgres_fdw_*",
];

/// Checks a query's text. Errors: empty, a NUL, several statements, a refused function.
pub(crate) fn check(text: &str) -> Result<Statement, Error> {
    if let Some(index) = text.chars().position(|character| character == '\0') {
        let position = Position::of_character(text, index);
        return Err(
            Error::new(Code::QueryRejected, "the text holds a NUL character")
                .with_hint("leave it out; PostgreSQL has no text with a NUL")
                .at(Some(position)),
        );
    }
    let tokens = tokens(text);
    let last = tokens
        .iter()
        .rposition(|token| token.kind != Kind::Semicolon);
    let Some(statement) = last.and_then(|last| tokens.get(..=last)) else {
        return Err(
            Error::new(Code::QueryRejected, "the text holds no statement")
                .with_hint("send one SELECT, VALUES, TABLE or WITH statement"),
        );
    };
    let first_word = statement
        .first()
        .map(|token| token.text.to_ascii_lowercase())
        .unwrap_or_default();
    if let Some(semicolon) = statement.iter().find(|token| token.kind == Kind::Semicolon) {
        return Err(Error::new(
            Code::QueryRejected,
            "the text holds more than one statement",
        )
        .with_hint("send one SELECT, VALUES, TABLE or WITH statement a call")
        .at(position_of(text, semicolon)));
    }
    if !READS.contains(&first_word.as_str()) {
        return Err(no_read(&first_word));
    }
    if let Some((token, name)) = refused_call(statement) {
        return Err(Error::new(
            Code::QueryRejected,
            format!("the name `{name}` is not open to queries here"),
        )
        .with_hint("it names a function with effects beyond reading; leave it out of the query")
        .at(position_of(text, token)));
    }
    let end = statement.last().map_or(0, |token| token.end);
    Ok(Statement {
        text: text.get(..end).unwrap_or_default().to_owned(),
    })
}

/// What a query can begin with, by PostgreSQL's grammar. Anything else would fail inside the
/// parentheses too; it is told sooner and better here.
const READS: [&str; 5] = ["select", "values", "table", "with", "("];

fn no_read(first_word: &str) -> Error {
    let hint = match first_word {
        "show" => "read a setting with `SELECT current_setting('…')`",
        "explain" | "analyze" => "plans are not open here; run the query itself, with a `limit`",
        "desc" | "describe" => "look at tables and columns with `schema`",
        _ => READ_ONLY,
    };
    let shown: String = first_word.chars().take(40).collect();
    Error::new(
        Code::QueryRejected,
        format!("`{shown}` does not begin a read statement"),
    )
    .with_hint(hint)
}

fn position_of(text: &str, token: &Token<'_>) -> Option<Position> {
    let start = token.end.checked_sub(token.text.len())?;
    let characters = text.get(..start)?.chars().count();
    Some(Position::of_character(text, characters))
}

/// The first mention of a refused function, and its name. A function is also called without
/// parentheses, as an attribute of its argument (`(0).pg_terminate_backend`), so its name is
/// refused wherever it stands.
fn refused_call<'t, 'a>(statement: &'t [Token<'a>]) -> Option<(&'t Token<'a>, String)> {
    for (index, token) in statement.iter().enumerate() {
        let name = match token.kind {
            // A server with a Turkish single-byte encoding folds this one letter to an ASCII one.
            Kind::Word => token.text.to_ascii_lowercase().replace('İ', "i"),
            Kind::QuotedName => unquote(token.text),
            Kind::EscapedName => match unescape(statement, index) {
                Some(name) => name,
                // It could be any name.
                None => return Some((token, token.text.to_owned())),
            },
            _ => continue,
        };
        if listed(REFUSED_FUNCTIONS, &name)
            && (!listed(PLAIN_WORDS, &name) || is_called(statement, index))
        {
            return Some((token, name));
        }
    }
    None
}

/// Refused functions whose names are also likely names of columns: refused only where they are
/// called.
const PLAIN_WORDS: &[&str] = &["http", "http_*", "connectby", "crosstab*"];

/// Whether the name at `index` is called: an argument list follows, or it is an attribute of
/// something that is no name.
fn is_called(statement: &[Token<'_>], index: usize) -> bool {
    let has_arguments = statement
        .get(index + 1)
        .is_some_and(|next| next.kind == Kind::Open);
    let mut before = statement.iter().take(index).rev();
    let is_attribute = before.next().is_some_and(|dot| dot.text == ".")
        && before.next().is_none_or(|owner| {
            !matches!(
                owner.kind,
                Kind::Word | Kind::QuotedName | Kind::EscapedName
            )
        });
    has_arguments || is_attribute
}

fn unquote(quoted: &str) -> String {
    quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(quoted)
        .replace("\"\"", "\"")
}

/// The name that `U&"…"` spells, with the escape character of the `UESCAPE` clause behind it.
/// `None` where the clause is not one plainly quoted character, or an escape is not understood.
fn unescape(statement: &[Token<'_>], index: usize) -> Option<String> {
    let written = statement.get(index)?.text;
    let has_clause = statement
        .get(index + 1)
        .is_some_and(|next| next.text.eq_ignore_ascii_case("uescape"));
    let escape = if has_clause {
        let quoted = statement.get(index + 2)?.text;
        let mut characters = quoted.strip_prefix('\'')?.strip_suffix('\'')?.chars();
        characters.next().filter(|_| characters.next().is_none())?
    } else {
        '\\'
    };
    let quoted = written.get(2..)?;
    let inner = unquote(quoted);
    let mut name = String::new();
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        if character != escape {
            name.push(character);
            continue;
        }
        if characters.next_if_eq(&escape).is_some() {
            name.push(escape);
            continue;
        }
        let digits = if characters.next_if_eq(&'+').is_some() {
            6
        } else {
            4
        };
        let mut code = 0;
        for _ in 0..digits {
            code = code * 16 + characters.next()?.to_digit(16)?;
        }
        name.push(char::from_u32(code)?);
    }
    Some(name)
}

fn listed(patterns: &[&str], name: &str) -> bool {
    let first = name.as_bytes().first();
    patterns
        .iter()
        // Nearly every name is settled by its first letter.
        .filter(|pattern| {
            let letter = pattern.as_bytes().first();
            letter == first || letter == Some(&b'*')
        })
        .any(|pattern| match pattern.split_once('*') {
            Some((prefix, suffix)) => {
                name.len() >= prefix.len() + suffix.len()
                    && name.starts_with(prefix)
                    && name.ends_with(suffix)
            }
            None => name == *pattern,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Option<Code> {
        check(text).err().map(|error| error.code)
    }

    #[test]
    fn what_trails_a_statement_is_taken_off() {
        for (text, kept) in [
            ("select 1;", "select 1"),
            (" select ';' -- x\n;; /* ; */ -- end", " select ';'"),
            ("select 1 -- a;b", "select 1"),
            ("table t", "table t"),
            ("select 1 /* open", "select 1 /* open"),
        ] {
            assert_eq!(check(text).unwrap().text, kept);
        }
    }

    #[test]
    fn several_statements_and_none_are_rejected() {
        for text in [
            "select 1; select 2",
            "; ;",
            "",
            "-- x",
            "select 1\0",
            "commit; drop table t",
        ] {
            assert_eq!(code(text), Some(Code::QueryRejected), "{text}");
        }
    }

    #[test]
    fn a_refused_function_is_found_however_it_is_spelt() {
        for text in [
            "select pg_Terminate_backend (1)",
            "select pg_catalog.\"set_config\"/* */('a','b',true)",
            r#"select U&"pg\005fterminate\005fbackend"(1)"#,
            r#"select U&"pg!005fterminate_backend" UESCAPE '!' (1)"#,
            r#"select U&"pg!005fterminate_backend" uescape $$!$$ (1)"#,
            r#"select U&"pg\+00005fterminate_backend"(1)"#,
            "select (0).pg_terminate_backend",
            "select s.pids[1].pg_cancel_backend from s",
            "select ('x').http",
            "select http('x')",
            "select http_get('x')",
            "select pg_termİnate_backend(1)",
            "select * from query_to_xml_and_xmlschema('select 1',true,true,'')",
        ] {
            assert_eq!(code(text), Some(Code::QueryRejected), "{text}");
        }
        for text in [
            "select 'pg_terminate_backend(1)'",
            "select t.http, http, http_status from t",
            "select $$dblink('x')$$ -- set_config(",
            r#"select U&"d\0061ta" from t"#,
        ] {
            assert_eq!(code(text), None, "{text}");
        }
    }
}
