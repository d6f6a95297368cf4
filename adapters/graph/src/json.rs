//! What holds other values, written as JSON while it is read: no further than a cell may be long, and
//! counted to its end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use store::Value;

use crate::bolt::{Content, Malformed, Reader, Token};
use crate::decode::{Undecodable, scalar};

/// The deepest nesting that is written.
const DEEPEST: usize = 100;

/// JSON in the making: its beginning, and its length.
pub(crate) struct Json {
    pub(crate) text: String,
    pub(crate) length: u64,
    most: usize,
}

impl Json {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            text: String::new(),
            length: 0,
            most,
        }
    }

    /// Whether all of it is in `text`.
    pub(crate) fn is_whole(&self) -> bool {
        self.length == self.text.len() as u64
    }

    fn push(&mut self, part: &str) {
        let was_whole = self.is_whole();
        self.length += part.len() as u64;
        if was_whole {
            let room = self.most.saturating_sub(self.text.len());
            let end = part.floor_char_boundary(room.min(part.len()));
            self.text.push_str(part.get(..end).unwrap_or_default());
        }
    }

    /// A name and its value within an object.
    fn name(&mut self, name: &str) {
        self.push(&Value::Text(name.to_owned()).to_json());
        self.push(":");
    }

    /// The next value of a message.
    pub(crate) fn value(&mut self, reader: &mut Reader<'_>) -> Result<(), Undecodable> {
        self.nested(reader, 0)
    }

    fn nested(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), Undecodable> {
        if depth > DEEPEST {
            return Err(Undecodable("it nests too deeply"));
        }
        match reader.token()? {
            Token::List(count) => self.list(reader, count, depth),
            Token::Map(count) => self.map(reader, count, depth),
            Token::Structure(b'N', fields) => self.node(reader, fields, depth),
            Token::Structure(b'R', fields) => self.relationship(reader, fields, depth),
            Token::Structure(b'P', 3) => self.path(reader, depth),
            Token::Structure(b'X', 3) => self.point(reader, &["x", "y"]),
            Token::Structure(b'Y', 4) => self.point(reader, &["x", "y", "z"]),
            Token::Text(content) => self.content(content),
            Token::Bytes(content) if content.is_cut() => {
                self.push("{\"base64\":\"");
                self.push(&STANDARD.encode(content.bytes));
                let encoded = content.whole.div_ceil(3) * 4;
                self.length += encoded.saturating_sub((content.bytes.len() as u64).div_ceil(3) * 4);
                self.push("\"}");
                Ok(())
            }
            other => {
                self.push(&scalar(other, reader)?.to_json());
                Ok(())
            }
        }
    }

    /// A text, of which the end may not be there.
    fn content(&mut self, content: Content<'_>) -> Result<(), Undecodable> {
        if !content.is_cut() {
            self.push(&Value::Text(content.text()?.to_owned()).to_json());
            return Ok(());
        }
        let beginning = String::from_utf8_lossy(content.bytes);
        // What was cut in the middle of a character is not shown: the cell ends before it.
        let shown = beginning.trim_end_matches('\u{fffd}');
        let written = Value::Text(shown.to_owned()).to_json();
        let body = written.strip_suffix('"').unwrap_or(&written);
        self.push(body);
        self.length += content.whole - shown.len() as u64 + content.escapes;
        self.push("\"");
        Ok(())
    }

    fn list(
        &mut self,
        reader: &mut Reader<'_>,
        count: usize,
        depth: usize,
    ) -> Result<(), Undecodable> {
        self.push("[");
        for index in 0..count {
            if index > 0 {
                self.push(",");
            }
            self.nested(reader, depth + 1)?;
        }
        self.push("]");
        Ok(())
    }

    fn map(
        &mut self,
        reader: &mut Reader<'_>,
        count: usize,
        depth: usize,
    ) -> Result<(), Undecodable> {
        self.push("{");
        for index in 0..count {
            if index > 0 {
                self.push(",");
            }
            let Token::Text(name) = reader.token()? else {
                return Err(Malformed.into());
            };
            self.content(name)?;
            self.push(":");
            self.nested(reader, depth + 1)?;
        }
        self.push("}");
        Ok(())
    }

    /// `id, labels, properties, element id`.
    fn node(
        &mut self,
        reader: &mut Reader<'_>,
        fields: usize,
        depth: usize,
    ) -> Result<(), Undecodable> {
        if fields != 4 {
            return Err(Malformed.into());
        }
        reader.skip()?;
        let mut labels = reader.clone();
        reader.skip()?;
        let mut properties = reader.clone();
        reader.skip()?;
        self.push("{\"id\":");
        self.nested(reader, depth + 1)?;
        self.push(",\"labels\":");
        self.nested(&mut labels, depth + 1)?;
        self.push(",\"properties\":");
        self.nested(&mut properties, depth + 1)?;
        self.push("}");
        Ok(())
    }

    /// `id, start, end, type, properties, element id`, and the element ids of start and end.
    fn relationship(
        &mut self,
        reader: &mut Reader<'_>,
        fields: usize,
        depth: usize,
    ) -> Result<(), Undecodable> {
        if fields != 8 {
            return Err(Malformed.into());
        }
        for _ in 0..3 {
            reader.skip()?;
        }
        let mut kind = reader.clone();
        reader.skip()?;
        let mut properties = reader.clone();
        reader.skip()?;
        self.push("{\"id\":");
        self.nested(reader, depth + 1)?;
        self.push(",\"type\":");
        self.nested(&mut kind, depth + 1)?;
        self.push(",\"start\":");
        self.nested(reader, depth + 1)?;
        self.push(",\"end\":");
        self.nested(reader, depth + 1)?;
        self.push(",\"properties\":");
        self.nested(&mut properties, depth + 1)?;
        self.push("}");
        Ok(())
    }

    /// `nodes, relationships, steps`: each step is a relationship's number, negative against its
    /// direction, and the place of the node that it leads to.
    fn path(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), Undecodable> {
        let nodes = places(reader)?;
        let relationships = places(reader)?;
        let mut steps = Vec::new();
        for mut step in places(reader)? {
            let Token::Integer(step) = step.token()? else {
                return Err(Malformed.into());
            };
            steps.push(step);
        }
        let at = |index: i64| -> Result<&Reader<'_>, Malformed> {
            let index = usize::try_from(index).map_err(|_| Malformed)?;
            nodes.get(index).ok_or(Malformed)
        };
        self.push("[");
        let mut from = at(0)?;
        self.nested(&mut from.clone(), depth + 1)?;
        for step in steps.chunks(2) {
            let &[number, to] = step else {
                return Err(Malformed.into());
            };
            let index = usize::try_from(number.unsigned_abs()).map_err(|_| Malformed)?;
            let index = index.checked_sub(1).ok_or(Malformed)?;
            let unbound = relationships.get(index).ok_or(Malformed)?;
            let to = at(to)?;
            self.push(",");
            let (start, end) = if number < 0 { (to, from) } else { (from, to) };
            self.unbound(&mut unbound.clone(), start, end, depth)?;
            self.push(",");
            self.nested(&mut to.clone(), depth + 1)?;
            from = to;
        }
        self.push("]");
        Ok(())
    }

    /// A relationship of a path, `id, type, properties, element id`, whose ends are the path's.
    fn unbound(
        &mut self,
        reader: &mut Reader<'_>,
        start: &Reader<'_>,
        end: &Reader<'_>,
        depth: usize,
    ) -> Result<(), Undecodable> {
        if reader.token()? != Token::Structure(b'r', 4) {
            return Err(Malformed.into());
        }
        reader.skip()?;
        let mut kind = reader.clone();
        reader.skip()?;
        let mut properties = reader.clone();
        reader.skip()?;
        self.push("{\"id\":");
        self.nested(reader, depth + 1)?;
        self.push(",\"type\":");
        self.nested(&mut kind, depth + 1)?;
        for (name, node) in [(",\"start\":", start), (",\"end\":", end)] {
            self.push(name);
            let mut node = node.clone();
            if node.token()? != Token::Structure(b'N', 4) {
                return Err(Malformed.into());
            }
            for _ in 0..3 {
                node.skip()?;
            }
            self.nested(&mut node, depth + 1)?;
        }
        self.push(",\"properties\":");
        self.nested(&mut properties, depth + 1)?;
        self.push("}");
        Ok(())
    }

    /// A point: its reference system, then its coordinates; `point()` takes it back as it is.
    fn point(&mut self, reader: &mut Reader<'_>, names: &[&str]) -> Result<(), Undecodable> {
        let Token::Integer(system) = reader.token()? else {
            return Err(Malformed.into());
        };
        self.push("{");
        match system {
            7203 => self.push("\"crs\":\"cartesian\""),
            9157 => self.push("\"crs\":\"cartesian-3d\""),
            4326 => self.push("\"crs\":\"wgs-84\""),
            4979 => self.push("\"crs\":\"wgs-84-3d\""),
            other => self.push(&format!("\"srid\":{other}")),
        }
        for name in names {
            let Token::Float(coordinate) = reader.token()? else {
                return Err(Malformed.into());
            };
            self.push(",");
            self.name(name);
            self.push(&Value::Float(coordinate).to_json());
        }
        self.push("}");
        Ok(())
    }
}

/// A reader at each element of a list.
fn places<'a>(reader: &mut Reader<'a>) -> Result<Vec<Reader<'a>>, Malformed> {
    let Token::List(count) = reader.token()? else {
        return Err(Malformed);
    };
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(reader.clone());
        reader.skip()?;
    }
    Ok(found)
}
