//! One value out of SQLite, of which no more than the cell limit is copied.

use rusqlite::types::ValueRef;
use store::{Cell, Code, Error, Value};

/// The longest character of UTF-8.
const LONGEST: usize = 4;

/// The cell of a value, cut where it is longer than `limit` bytes. `column` names it in an error.
pub(crate) fn cell(value: ValueRef<'_>, limit: u64, column: &str) -> Result<Cell, Error> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(match value {
        ValueRef::Null => Cell::whole(Value::Null),
        ValueRef::Integer(integer) => Cell::whole(Value::Integer(integer)),
        ValueRef::Real(float) => Cell::whole(Value::Float(float)),
        ValueRef::Blob(bytes) => match bytes.get(..limit) {
            Some(beginning) if beginning.len() < bytes.len() => {
                Cell::cut(Value::Bytes(beginning.to_vec()), bytes.len() as u64)
            }
            _ => Cell::whole(Value::Bytes(bytes.to_vec())),
        },
        ValueRef::Text(bytes) => {
            let text = beginning(bytes, limit).ok_or_else(|| undecodable(column))?;
            let value = Value::Text(text.to_owned());
            if text.len() < bytes.len() {
                Cell::cut(value, bytes.len() as u64)
            } else {
                Cell::whole(value)
            }
        }
    })
}

/// The longest text of whole characters within `limit` bytes; `None` where those bytes hold
/// something else than UTF-8.
fn beginning(bytes: &[u8], limit: usize) -> Option<&str> {
    // A character that begins within the limit ends within this window.
    let window = bytes.get(..limit.saturating_add(LONGEST)).unwrap_or(bytes);
    let valid = match std::str::from_utf8(window) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() >= limit => {
            std::str::from_utf8(window.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    valid.get(..valid.floor_char_boundary(limit))
}

fn undecodable(column: &str) -> Error {
    Error::new(
        Code::UndecodableValue,
        format!("column `{column}` holds text that is not UTF-8"),
    )
    .with_hint("read its bytes with `CAST(column AS BLOB)` or `hex(column)`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], limit: u64) -> Result<(String, Option<u64>), Error> {
        cell(ValueRef::Text(bytes), limit, "c").map(|cell| match cell.value {
            Value::Text(text) => (text, cell.cut_from),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_cut_breaks_no_character() {
        let bytes = "aé😀b".as_bytes();
        for (limit, kept) in [
            (0, ""),
            (1, "a"),
            (2, "a"),
            (3, "aé"),
            (6, "aé"),
            (7, "aé😀"),
        ] {
            assert_eq!(text(bytes, limit).unwrap(), (kept.to_owned(), Some(8)));
        }
        assert_eq!(text(bytes, 8).unwrap(), ("aé😀b".to_owned(), None));
        assert_eq!(text(b"", 0).unwrap(), (String::new(), None));
    }

    #[test]
    fn what_is_no_utf_8_is_an_error_that_names_its_column() {
        for (bytes, limit) in [
            (&b"a\xff"[..], 2),
            (b"a\xff", 9),
            (b"a\xc3", 9),
            (b"\xf0\x9f\x98xyz", 4),
        ] {
            let error = text(bytes, limit).unwrap_err();
            assert_eq!(error.code, Code::UndecodableValue);
            assert_eq!(error.message, "column `c` holds text that is not UTF-8");
        }
        // What lies behind the cut is never looked at.
        assert_eq!(text(b"ab\xff", 2).unwrap(), ("ab".to_owned(), Some(3)));
    }

    #[test]
    fn blobs_are_cut_at_bytes() {
        let cut = cell(ValueRef::Blob(&[1, 2, 3]), 2, "c").unwrap();
        assert_eq!(cut, Cell::cut(Value::Bytes(vec![1, 2]), 3));
        let whole = cell(ValueRef::Blob(&[1, 2, 3]), 3, "c").unwrap();
        assert_eq!(whole, Cell::whole(Value::Bytes(vec![1, 2, 3])));
    }
}
