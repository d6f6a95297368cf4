//! PackStream, the encoding of Bolt: <https://neo4j.com/docs/bolt/current/packstream/>.

/// A value of the protocol's own messages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pack {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Bytes(Vec<u8>),
    Text(String),
    List(Vec<Pack>),
    Map(Vec<(String, Pack)>),
    /// A tag and its fields.
    Structure(u8, Vec<Pack>),
}

/// Bytes that are no PackStream, or not what was expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed PackStream")]
pub(crate) struct Malformed;

/// The deepest nesting that is read: plans nest by two levels for each operator.
const DEEPEST: usize = 1200;

impl Pack {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn map<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let members = members.into_iter();
        Self::Map(
            members
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// The member of a map.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members
                .iter()
                .find(|(member, _)| member == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// The texts of a list; what is no text is left out.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let elements = self.as_list().unwrap_or_default();
        elements.iter().filter_map(Self::as_text).collect()
    }

    /// Appends the encoding.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0xC0),
            Self::Boolean(false) => out.push(0xC2),
            Self::Boolean(true) => out.push(0xC3),
            Self::Integer(integer) => write_integer(*integer, out),
            Self::Float(float) => {
                out.push(0xC1);
                out.extend_from_slice(&float.to_be_bytes());
            }
            Self::Bytes(bytes) => {
                write_size(bytes.len(), None, [0xCC, 0xCD, 0xCE], out);
                out.extend_from_slice(bytes);
            }
            Self::Text(text) => write_text(text, out),
            Self::List(elements) => {
                write_size(elements.len(), Some(0x90), [0xD4, 0xD5, 0xD6], out);
                for element in elements {
                    element.write(out);
                }
            }
            Self::Map(members) => {
                write_size(members.len(), Some(0xA0), [0xD8, 0xD9, 0xDA], out);
                for (name, value) in members {
                    write_text(name, out);
                    value.write(out);
                }
            }
            Self::Structure(tag, fields) => {
                // No structure of the protocol has more fields than fit.
                out.push(0xB0 | (fields.len() & 0x0F) as u8);
                out.push(*tag);
                for field in fields {
                    field.write(out);
                }
            }
        }
    }
}

fn write_integer(integer: i64, out: &mut Vec<u8>) {
    if let Ok(small) = i8::try_from(integer) {
        if small < -16 {
            out.push(0xC8);
        }
        out.extend_from_slice(&small.to_be_bytes());
    } else if let Ok(short) = i16::try_from(integer) {
        out.push(0xC9);
        out.extend_from_slice(&short.to_be_bytes());
    } else if let Ok(medium) = i32::try_from(integer) {
        out.push(0xCA);
        out.extend_from_slice(&medium.to_be_bytes());
    } else {
        out.push(0xCB);
        out.extend_from_slice(&integer.to_be_bytes());
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_size(text.len(), Some(0x80), [0xD0, 0xD1, 0xD2], out);
    out.extend_from_slice(text.as_bytes());
}

/// Everything that is sent is far below the four bytes that the widest size has.
fn write_size(size: usize, tiny: Option<u8>, markers: [u8; 3], out: &mut Vec<u8>) {
    let [byte, short, long] = markers;
    match (tiny, size) {
        (Some(tiny), 0..=15) => out.push(tiny | size as u8),
        (_, 0..=0xFF) => out.extend_from_slice(&[byte, size as u8]),
        (_, 0..=0xFFFF) => {
            out.push(short);
            out.extend_from_slice(&(size as u16).to_be_bytes());
        }
        _ => {
            out.push(long);
            out.extend_from_slice(&(size as u32).to_be_bytes());
        }
    }
}

/// A marker with what it announces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Bytes(Content<'a>),
    Text(Content<'a>),
    /// So many elements follow.
    List(usize),
    /// So many pairs of a text and a value follow.
    Map(usize),
    /// A tag; so many fields follow.
    Structure(u8, usize),
}

/// The bytes of a text, or of bytes: all, or their beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content<'a> {
    pub(crate) bytes: &'a [u8],
    /// How many there were.
    pub(crate) whole: u64,
    /// How many more characters JSON would take for those that were left out.
    pub(crate) escapes: u64,
}

impl<'a> Content<'a> {
    pub(crate) fn is_cut(&self) -> bool {
        self.whole > self.bytes.len() as u64
    }

    /// The text, where it is whole and UTF-8.
    pub(crate) fn text(&self) -> Result<&'a str, Malformed> {
        if self.is_cut() {
            return Err(Malformed);
        }
        std::str::from_utf8(self.bytes).map_err(|_| Malformed)
    }
}

/// Reads a message's values one after another.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Of a text or bytes longer than this, only so much is there; see `framing`.
    keep: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], keep: usize) -> Self {
        Self { bytes, keep }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    fn size(&mut self, width: u8) -> Result<usize, Malformed> {
        Ok(match width {
            0 => usize::from(u8::from_be_bytes(self.array()?)),
            1 => usize::from(u16::from_be_bytes(self.array()?)),
            _ => usize::try_from(u32::from_be_bytes(self.array()?)).map_err(|_| Malformed)?,
        })
    }

    fn content(&mut self, whole: usize) -> Result<Content<'a>, Malformed> {
        let bytes = self.take(whole.min(self.keep))?;
        let escapes = if whole > self.keep {
            u64::from_be_bytes(self.array()?)
        } else {
            0
        };
        Ok(Content {
            bytes,
            whole: whole as u64,
            escapes,
        })
    }

    /// The next marker, with what it holds itself.
    pub(crate) fn token(&mut self) -> Result<Token<'a>, Malformed> {
        let [marker] = self.array::<1>()?;
        Ok(match marker {
            0x00..=0x7F | 0xF0..=0xFF => Token::Integer(i64::from(marker.cast_signed())),
            0x80..=0x8F => Token::Text(self.content(usize::from(marker & 0x0F))?),
            0x90..=0x9F => Token::List(usize::from(marker & 0x0F)),
            0xA0..=0xAF => Token::Map(usize::from(marker & 0x0F)),
            0xB0..=0xBF => {
                let [tag] = self.array::<1>()?;
                Token::Structure(tag, usize::from(marker & 0x0F))
            }
            0xC0 => Token::Null,
            0xC1 => Token::Float(f64::from_be_bytes(self.array()?)),
            0xC2 => Token::Boolean(false),
            0xC3 => Token::Boolean(true),
            0xC8 => Token::Integer(i64::from(i8::from_be_bytes(self.array()?))),
            0xC9 => Token::Integer(i64::from(i16::from_be_bytes(self.array()?))),
            0xCA => Token::Integer(i64::from(i32::from_be_bytes(self.array()?))),
            0xCB => Token::Integer(i64::from_be_bytes(self.array()?)),
            0xCC..=0xCE => {
                let whole = self.size(marker - 0xCC)?;
                Token::Bytes(self.content(whole)?)
            }
            0xD0..=0xD2 => {
                let whole = self.size(marker - 0xD0)?;
                Token::Text(self.content(whole)?)
            }
            0xD4..=0xD6 => Token::List(self.size(marker - 0xD4)?),
            0xD8..=0xDA => Token::Map(self.size(marker - 0xD8)?),
            _ => return Err(Malformed),
        })
    }

    /// Passes over one value, whatever it nests.
    pub(crate) fn skip(&mut self) -> Result<(), Malformed> {
        let mut left = 1_u64;
        while left > 0 {
            left -= 1;
            left += match self.token()? {
                Token::List(count) | Token::Structure(_, count) => count as u64,
                Token::Map(count) => 2 * count as u64,
                _ => 0,
            };
        }
        Ok(())
    }

    /// One value.
    pub(crate) fn pack(&mut self) -> Result<Pack, Malformed> {
        self.nested(0)
    }

    /// What nests too deeply is null.
    fn nested(&mut self, depth: usize) -> Result<Pack, Malformed> {
        if depth > DEEPEST {
            self.skip()?;
            return Ok(Pack::Null);
        }
        Ok(match self.token()? {
            Token::Null => Pack::Null,
            Token::Boolean(boolean) => Pack::Boolean(boolean),
            Token::Integer(integer) => Pack::Integer(integer),
            Token::Float(float) => Pack::Float(float),
            Token::Bytes(content) => Pack::Bytes(content.bytes.to_vec()),
            Token::Text(content) => Pack::Text(String::from_utf8_lossy(content.bytes).into_owned()),
            Token::List(count) => Pack::List(self.several(count, depth)?),
            Token::Structure(tag, count) => Pack::Structure(tag, self.several(count, depth)?),
            Token::Map(count) => {
                let mut members = Vec::new();
                for _ in 0..count {
                    let Pack::Text(name) = self.nested(depth + 1)? else {
                        return Err(Malformed);
                    };
                    members.push((name, self.nested(depth + 1)?));
                }
                Pack::Map(members)
            }
        })
    }

    /// Room is made as the values come: a count is only what the sender says.
    fn several(&mut self, count: usize, depth: usize) -> Result<Vec<Pack>, Malformed> {
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(self.nested(depth + 1)?);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut values: Vec<Pack> = [
            0,
            -16,
            -17,
            127,
            -128,
            128,
            32_767,
            -32_769,
            2_147_483_647,
            2_147_483_648,
            i64::MIN,
        ]
        .map(Pack::Integer)
        .to_vec();
        for length in [0, 15, 16, 255, 256, 65_535, 65_536] {
            values.push(Pack::Text("x".repeat(length)));
            values.push(Pack::Bytes(vec![7; length]));
            values.push(Pack::List(vec![Pack::Null; length]));
        }
        values.push(Pack::map([
            ("a", Pack::Float(0.1)),
            ("é", Pack::Boolean(true)),
        ]));
        values.push(Pack::Structure(
            0x4E,
            vec![Pack::Boolean(false), Pack::Null],
        ));
        let whole = Pack::List(values);
        let mut bytes = Vec::new();
        whole.write(&mut bytes);
        let mut reader = Reader::new(&bytes, usize::MAX);
        assert_eq!(reader.pack().unwrap(), whole);
        assert!(reader.is_at_end());
        let mut reader = Reader::new(&bytes, usize::MAX);
        reader.skip().unwrap();
        assert!(reader.is_at_end());
    }

    #[test]
    fn bytes_cut_short_or_made_up_are_malformed() {
        for bytes in [
            &[][..],
            &[0xC4],
            &[0xD2, 0xFF, 0xFF, 0xFF, 0xFF, 1],
            &[0xD6, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0xA1, 0x01, 0x01],
        ] {
            assert_eq!(Reader::new(bytes, usize::MAX).pack(), Err(Malformed));
        }
        let mut deep = vec![0x91; 100_000];
        assert_eq!(Reader::new(&deep, usize::MAX).pack(), Err(Malformed));
        deep.push(0x01);
        let mut inner = Reader::new(&deep, usize::MAX).pack().unwrap();
        while let Pack::List(elements) = &mut inner {
            inner = elements.remove(0);
        }
        assert_eq!(inner, Pack::Null);
    }
}
