//! JSON as the server writes it, read byte by byte: numbers keep their digits, and texts may hold
//! bytes that are no UTF-8.

/// A place in one line of JSON.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Why a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A value nests no deeper than this.
pub(crate) const DEEPEST: usize = 64;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next byte that is no white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !byte.is_ascii_whitespace() {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Takes this byte, if it is the next one.
    pub(crate) fn take(&mut self, wanted: u8) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.at += 1;
        }
        is_next
    }

    pub(crate) fn expect(&mut self, wanted: u8) -> Result<(), Malformed> {
        self.take(wanted).then_some(()).ok_or(Malformed)
    }

    /// Takes a word, if it is next.
    pub(crate) fn word(&mut self, word: &str) -> bool {
        self.peek();
        let is_next = self
            .bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word.as_bytes()));
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// A text's bytes.
    pub(crate) fn string(&mut self) -> Result<Vec<u8>, Malformed> {
        self.expect(b'"')?;
        let mut out = Vec::new();
        loop {
            let rest = self.bytes.get(self.at..).ok_or(Malformed)?;
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\'))
                .ok_or(Malformed)?;
            out.extend_from_slice(rest.get(..plain).ok_or(Malformed)?);
            self.at += plain + 1;
            if rest.get(plain) == Some(&b'"') {
                return Ok(out);
            }
            self.escape(&mut out)?;
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let byte = *self.bytes.get(self.at).ok_or(Malformed)?;
        self.at += 1;
        match byte {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let mut code = self.four_digits()?;
                if (0xd800..0xdc00).contains(&code) && self.word("\\u") {
                    let low = self.four_digits()?.checked_sub(0xdc00).ok_or(Malformed)?;
                    code = 0x10000 + ((code - 0xd800) << 10) + low;
                }
                let character = char::from_u32(code).ok_or(Malformed)?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
        Ok(())
    }

    fn four_digits(&mut self) -> Result<u32, Malformed> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or(Malformed)?;
        self.at += 4;
        let digits = std::str::from_utf8(digits).map_err(|_| Malformed)?;
        u32::from_str_radix(digits, 16).map_err(|_| Malformed)
    }

    /// The digits of a number, as they are.
    pub(crate) fn number(&mut self) -> Result<&'a str, Malformed> {
        self.peek();
        let rest = self.bytes.get(self.at..).ok_or(Malformed)?;
        let length = rest
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        if length == 0 {
            return Err(Malformed);
        }
        self.at += length;
        let digits = rest.get(..length).ok_or(Malformed)?;
        std::str::from_utf8(digits).map_err(|_| Malformed)
    }

    /// The bytes of whatever value is next.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8], Malformed> {
        self.peek();
        let start = self.at;
        self.skip(0)?;
        self.bytes.get(start..self.at).ok_or(Malformed)
    }

    fn skip(&mut self, depth: usize) -> Result<(), Malformed> {
        if depth > 4 * DEEPEST {
            return Err(Malformed);
        }
        match self.peek().ok_or(Malformed)? {
            b'"' => self.string().map(|_| ()),
            b'[' => {
                self.at += 1;
                self.items(b']', |reader| reader.skip(depth + 1))
            }
            b'{' => {
                self.at += 1;
                self.items(b'}', |reader| {
                    reader.string()?;
                    reader.expect(b':')?;
                    reader.skip(depth + 1)
                })
            }
            _ if self.word("true") || self.word("false") || self.word("null") => Ok(()),
            _ => self.number().map(|_| ()),
        }
    }

    /// Items by commas up to `end`, each read by `item`.
    pub(crate) fn items(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if self.take(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.take(end) {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Whether nothing but white space is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }
}

/// A line that is an array of texts.
pub(crate) fn texts(line: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut reader = Reader::new(line);
    let mut texts = Vec::new();
    reader.expect(b'[')?;
    reader.items(b']', |reader| {
        let text = reader.string()?;
        texts.push(String::from_utf8(text).map_err(|_| Malformed)?);
        Ok(())
    })?;
    if reader.is_at_end() {
        Ok(texts)
    } else {
        Err(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_keep_their_bytes_and_numbers_their_digits() {
        let mut reader =
            Reader::new(b"\"a\\u0000\\ud83d\\ude00\xff\\/\\\"\" , 1.50e3 {\"a\":[1,\"]\"]} x");
        assert_eq!(reader.string().unwrap(), b"a\0\xf0\x9f\x98\x80\xff/\"");
        assert!(reader.take(b','));
        assert_eq!(reader.number(), Ok("1.50e3"));
        assert_eq!(reader.raw().unwrap(), b"{\"a\":[1,\"]\"]}");
        assert_eq!(reader.raw(), Err(Malformed));
        assert_eq!(texts(b"[\"a\", \"b\"]\n").unwrap(), ["a", "b"]);
        for broken in [&b"[\"a"[..], b"[\"a\"", b"[\"a\"] x", b"[1]"] {
            assert_eq!(texts(broken), Err(Malformed));
        }
        let deep = "[".repeat(100_000);
        assert_eq!(Reader::new(deep.as_bytes()).raw(), Err(Malformed));
    }
}
