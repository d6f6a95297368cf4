//! A record into the cells of a row.

use serde_json::value::RawValue;
use store::{Cell, Code, Column, Error, Row, Value};

use crate::bolt::{Content, Malformed, Message, Reader, Token};
use crate::error::unread;
use crate::json::Json;
use crate::temporal;

/// Why a value could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Undecodable(pub(crate) &'static str);

impl From<Malformed> for Undecodable {
    fn from(_: Malformed) -> Self {
        Self("the server sent it in an unknown form")
    }
}

/// The cells of a record. A cell whose text or JSON is longer than `cell_bytes` is cut.
pub(crate) fn row(record: &Message, columns: &[Column], cell_bytes: usize) -> Result<Row, Error> {
    let mut reader = record.reader();
    let announced = reader.token().and_then(|_| reader.token());
    if announced != Ok(Token::List(columns.len())) {
        return Err(unread(Malformed));
    }
    let mut cells = Row::with_capacity(columns.len());
    for column in columns {
        let cell = cell(&mut reader, cell_bytes).map_err(|why| undecodable(column, why))?;
        cells.push(cell);
    }
    if !reader.is_at_end() {
        return Err(unread(Malformed));
    }
    Ok(cells)
}

fn undecodable(column: &Column, why: Undecodable) -> Error {
    Error::new(
        Code::UndecodableValue,
        format!("column `{}`: {}", column.name, why.0),
    )
    .with_hint("leave the column out, or return a property of it, or its text with `toString`")
}

fn cell(reader: &mut Reader<'_>, most: usize) -> Result<Cell, Undecodable> {
    let begun = reader.clone();
    match reader.token()? {
        Token::Text(content) => text(content, most),
        Token::Bytes(content) if content.is_cut() => {
            let beginning = Value::Bytes(content.bytes.to_vec());
            Ok(Cell::cut(beginning, content.whole))
        }
        Token::List(_) | Token::Map(_) | Token::Structure(b'N' | b'R' | b'P' | b'X' | b'Y', _) => {
            *reader = begun;
            let mut json = Json::new(most);
            json.value(reader)?;
            if !json.is_whole() {
                return Ok(Cell::cut(Value::Text(json.text), json.length));
            }
            let raw = RawValue::from_string(json.text)
                .map_err(|_| Undecodable("it could not be written as JSON"))?;
            Ok(Cell::whole(Value::Json(raw)))
        }
        other => scalar(other, reader).map(Cell::whole),
    }
}

fn text(content: Content<'_>, most: usize) -> Result<Cell, Undecodable> {
    if !content.is_cut() && content.bytes.len() <= most {
        return Ok(Cell::whole(Value::Text(content.text()?.to_owned())));
    }
    let kept = content.bytes.get(..most).unwrap_or(content.bytes);
    let beginning = match std::str::from_utf8(kept) {
        Ok(text) => text,
        // It was cut in the middle of a character.
        Err(error) if error.error_len().is_none() => {
            let valid = kept.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).map_err(|_| Malformed)?
        }
        Err(_) => return Err(Malformed.into()),
    };
    Ok(Cell::cut(Value::Text(beginning.to_owned()), content.whole))
}

/// A value that holds no others; the fields of a structure are read.
pub(crate) fn scalar(token: Token<'_>, reader: &mut Reader<'_>) -> Result<Value, Undecodable> {
    let (tag, count) = match token {
        Token::Null => return Ok(Value::Null),
        Token::Boolean(boolean) => return Ok(Value::Boolean(boolean)),
        Token::Integer(integer) => return Ok(Value::Integer(integer)),
        Token::Float(float) => return Ok(Value::Float(float)),
        Token::Text(content) => return Ok(Value::Text(content.text()?.to_owned())),
        Token::Bytes(content) => return Ok(Value::Bytes(content.bytes.to_vec())),
        Token::List(_) | Token::Map(_) => return Err(Malformed.into()),
        Token::Structure(tag, count) => (tag, count),
    };
    let mut integer = || match reader.token() {
        Ok(Token::Integer(integer)) => Ok(integer),
        _ => Err(Malformed),
    };
    let written = match (tag, count) {
        (b'D', 1) => Some(temporal::date(integer()?)),
        (b't', 1) => temporal::time(integer()?),
        (b'T', 2) => temporal::time_at(integer()?, integer()?),
        (b'd', 2) => temporal::moment(integer()?, integer()?),
        (b'E', 4) => temporal::duration(integer()?, integer()?, integer()?, integer()?),
        // With an offset or the name of a zone: either way the seconds are those of UTC.
        (b'I' | b'i', 3) => {
            let mut moment = temporal::moment(integer()?, integer()?);
            reader.skip()?;
            if let Some(moment) = &mut moment {
                moment.push('Z');
            }
            moment
        }
        _ => return Err(Undecodable("it is of a type that is not known here")),
    };
    let written = written.ok_or(Undecodable("it is beyond the range of its type"))?;
    Ok(Value::Text(written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bolt::Pack;

    fn decoded(value: Pack, most: usize) -> Result<Cell, Error> {
        let record = Pack::Structure(0x71, vec![Pack::List(vec![value])]);
        let mut body = Vec::new();
        record.write(&mut body);
        let columns = [Column {
            name: "a".to_owned(),
            type_name: "ANY".to_owned(),
        }];
        row(&Message::of(body), &columns, most).map(|row| row[0].clone())
    }

    fn node(id: &str) -> Pack {
        Pack::Structure(
            b'N',
            vec![
                Pack::Integer(1),
                Pack::List(vec![Pack::text("L")]),
                Pack::map([("x", Pack::Integer(1))]),
                Pack::text(id),
            ],
        )
    }

    #[test]
    fn a_path_alternates_and_its_relationships_keep_their_direction() {
        let unbound = |id: &str| {
            let fields = vec![
                Pack::Integer(1),
                Pack::text("KNOWS"),
                Pack::Map(vec![]),
                Pack::text(id),
            ];
            Pack::Structure(b'r', fields)
        };
        let path = Pack::Structure(
            b'P',
            vec![
                Pack::List(vec![node("a"), node("b")]),
                Pack::List(vec![unbound("r"), unbound("s")]),
                Pack::List([-1, 1, 2, 0].map(Pack::Integer).to_vec()),
            ],
        );
        let json = decoded(path, 10_000).unwrap().value.to_json();
        let found: serde_json::Value = serde_json::from_str(&json).unwrap();
        let ids: Vec<&str> = (0..5)
            .map(|index| found[index]["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["a", "r", "b", "s", "a"]);
        assert_eq!(
            (&found[1]["start"], &found[1]["end"]),
            (&"b".into(), &"a".into())
        );
        assert_eq!(
            (&found[3]["start"], &found[3]["end"]),
            (&"b".into(), &"a".into())
        );
    }

    #[test]
    fn what_is_too_long_is_cut_and_its_length_told() {
        let cell = decoded(Pack::List(vec![Pack::Integer(7); 1000]), 10).unwrap();
        assert_eq!(cell, Cell::cut(Value::Text("[7,7,7,7,7".to_owned()), 2001));
        let cell = decoded(Pack::text("éééé"), 5).unwrap();
        assert_eq!(cell, Cell::cut(Value::Text("éé".to_owned()), 8));
        let cell = decoded(Pack::map([("b", Pack::text("x")), ("a", Pack::Null)]), 100).unwrap();
        assert_eq!(cell.value.to_json(), "{\"b\":\"x\",\"a\":null}");
    }

    #[test]
    fn what_is_not_known_is_an_error_that_names_the_column() {
        let mut deep = Pack::Null;
        for _ in 0..200 {
            deep = Pack::List(vec![deep]);
        }
        for value in [
            Pack::Structure(b'?', vec![]),
            Pack::Structure(b'N', vec![Pack::Null]),
            Pack::Structure(b't', vec![Pack::Integer(-1)]),
            Pack::List(vec![Pack::Structure(
                b'd',
                vec![Pack::Integer(0), Pack::Integer(-1)],
            )]),
            deep,
        ] {
            let error = decoded(value, 1000).unwrap_err();
            assert_eq!(error.code, Code::UndecodableValue);
            assert!(error.message.contains("`a`"));
        }
    }
}
