//! Messages from chunks, bounded while they arrive: of a text or bytes longer than it may be, only the
//! beginning is kept, and a message longer than it may be is given up.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::packstream::{Malformed, Reader};

/// The most bytes of a message that are kept.
const LONGEST: usize = 4 << 20;

/// The most bytes that one message may have on the wire. Reading on costs time, not memory.
const LONGEST_SENT: u64 = 1 << 30;

/// How much of one text is kept in what is not a record.
const LONGEST_TEXT: usize = 1 << 20;

/// The first bytes of a record: a structure of one field, and its tag.
const RECORD: [u8; 2] = [0xB1, 0x71];

/// Why no message came.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The connection failed.
    #[error("{0}")]
    Lost(#[from] io::Error),
    /// What came is no Bolt.
    #[error("the server sent what is no Bolt")]
    Malformed,
    /// A message is longer than can be held.
    #[error("a message is longer than can be read")]
    TooLong,
}

impl From<Malformed> for Broken {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// One message: a structure, whose long texts are cut.
#[derive(Debug)]
pub(crate) struct Message {
    body: Vec<u8>,
    keep: usize,
}

impl Message {
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.body, self.keep)
    }

    #[cfg(test)]
    pub(crate) fn of(body: Vec<u8>) -> Self {
        Self {
            body,
            keep: usize::MAX,
        }
    }
}

/// The bytes that have arrived, and the message that has arrived in part. Waiting for the rest can be
/// given up and taken up again.
#[derive(Debug)]
pub(crate) struct Incoming {
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    partial: Option<Partial>,
}

/// A message of which the end has not arrived.
#[derive(Debug)]
struct Partial {
    squeeze: Squeeze,
    /// The first byte of the next chunk's size.
    size: Option<u8>,
    /// What is missing of the chunk.
    left: usize,
    /// The bytes of all its chunks so far.
    sent: u64,
}

impl Default for Incoming {
    fn default() -> Self {
        Self {
            buffer: vec![0; 16 << 10].into_boxed_slice(),
            from: 0,
            to: 0,
            partial: None,
        }
    }
}

impl Incoming {
    /// The next message. Of each text of a record, `keep` bytes are kept.
    pub(crate) async fn message(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        keep: usize,
    ) -> Result<Message, Broken> {
        loop {
            if let Some(message) = self.advance(keep)? {
                return Ok(message);
            }
            let count = stream.read(&mut self.buffer).await?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            (self.from, self.to) = (0, count);
        }
    }

    /// Takes what has arrived of the next message; answers it once it is whole.
    fn advance(&mut self, keep: usize) -> Result<Option<Message>, Broken> {
        let mut partial = self.partial.take().unwrap_or_else(|| Partial {
            squeeze: Squeeze::new(keep),
            size: None,
            left: 0,
            sent: 0,
        });
        while let Some((&first, _)) = self
            .buffer
            .get(self.from..self.to)
            .and_then(<[u8]>::split_first)
        {
            if partial.left > 0 {
                let end = self.to.min(self.from + partial.left);
                let piece = self.buffer.get(self.from..end).unwrap_or_default();
                partial.squeeze.feed(piece)?;
                partial.left -= piece.len();
                self.from = end;
                continue;
            }
            self.from += 1;
            let Some(high) = partial.size.take() else {
                partial.size = Some(first);
                continue;
            };
            partial.left = usize::from(u16::from_be_bytes([high, first]));
            partial.sent += partial.left as u64;
            if partial.sent > LONGEST_SENT {
                return Err(Broken::TooLong);
            }
            // An empty chunk ends a message; between messages it keeps an idle connection alive.
            if partial.left == 0 && partial.sent > 0 {
                return partial.squeeze.finish().map(Some);
            }
        }
        self.partial = Some(partial);
        Ok(None)
    }
}

/// Passes a message on but for the ends of long texts: behind the kept beginning of one stand eight
/// bytes, the characters more that JSON would take for the rest.
#[derive(Debug)]
struct Squeeze {
    body: Vec<u8>,
    keep: usize,
    expects: Expects,
}

/// What the next byte is.
#[derive(Debug)]
enum Expects {
    Marker,
    /// So many bytes of a number or tag.
    Plain(usize),
    /// So many bytes of a size, and what was read of it. Of a list or map it is passed on alone.
    Size {
        left: u8,
        size: usize,
        is_content: bool,
    },
    /// Of a text or bytes: so many to keep, so many to leave out, and what JSON would add for those.
    Content {
        keep: usize,
        omit: usize,
        escapes: Option<u64>,
    },
}

impl Squeeze {
    fn new(keep: usize) -> Self {
        Self {
            body: Vec::new(),
            keep,
            expects: Expects::Marker,
        }
    }

    fn feed(&mut self, mut piece: &[u8]) -> Result<(), Broken> {
        while let Some((&first, rest)) = piece.split_first() {
            match &mut self.expects {
                Expects::Marker => {
                    // Every message is a structure: what is none is not waited for to its end.
                    if self.body.is_empty() && !matches!(first, 0xB0 | 0xB1) {
                        return Err(Broken::Malformed);
                    }
                    self.body.push(first);
                    piece = rest;
                    self.expects = after_marker(first).ok_or(Broken::Malformed)?;
                    self.begin_content();
                }
                Expects::Plain(left) => {
                    let count = piece.len().min(*left);
                    let (now, later) = piece.split_at_checked(count).ok_or(Broken::Malformed)?;
                    self.body.extend_from_slice(now);
                    piece = later;
                    *left -= count;
                    if *left == 0 {
                        self.expects = Expects::Marker;
                        if self.body.len() == RECORD.len() && self.body != RECORD {
                            self.keep = LONGEST_TEXT;
                        }
                    }
                }
                Expects::Size { left, size, .. } => {
                    self.body.push(first);
                    piece = rest;
                    *left -= 1;
                    *size = *size << 8 | usize::from(first);
                    self.begin_content();
                }
                Expects::Content {
                    keep,
                    omit,
                    escapes,
                } => {
                    let count = piece.len().min(*keep);
                    let (now, later) = piece.split_at_checked(count).ok_or(Broken::Malformed)?;
                    self.body.extend_from_slice(now);
                    *keep -= count;
                    let count = later.len().min(*omit);
                    let (out, later) = later.split_at_checked(count).ok_or(Broken::Malformed)?;
                    *omit -= count;
                    if let Some(escapes) = escapes {
                        *escapes += out.iter().map(|&byte| escape(byte)).sum::<u64>();
                    }
                    piece = later;
                    self.end_content();
                }
            }
            if self.body.len() > LONGEST {
                return Err(Broken::TooLong);
            }
        }
        Ok(())
    }

    /// Goes on to the content once its size is known.
    fn begin_content(&mut self) {
        if let Expects::Size {
            left: 0,
            size,
            is_content,
        } = self.expects
        {
            self.expects = if is_content {
                let keep = size.min(self.keep);
                Expects::Content {
                    keep,
                    omit: size - keep,
                    escapes: (size > keep).then_some(0),
                }
            } else {
                Expects::Marker
            };
            self.end_content();
        }
    }

    fn end_content(&mut self) {
        if let Expects::Content {
            keep: 0,
            omit: 0,
            escapes,
        } = self.expects
        {
            if let Some(escapes) = escapes {
                self.body.extend_from_slice(&escapes.to_be_bytes());
            }
            self.expects = Expects::Marker;
        }
    }

    fn finish(self) -> Result<Message, Broken> {
        match self.expects {
            Expects::Marker => Ok(Message {
                body: self.body,
                keep: self.keep,
            }),
            _ => Err(Broken::Malformed),
        }
    }
}

fn after_marker(marker: u8) -> Option<Expects> {
    let size = |exponent: u8, is_content| Expects::Size {
        left: 1 << exponent,
        size: 0,
        is_content,
    };
    Some(match marker {
        0x00..=0x7F | 0x90..=0xAF | 0xC0 | 0xC2 | 0xC3 | 0xF0..=0xFF => Expects::Marker,
        0x80..=0x8F => Expects::Size {
            left: 0,
            size: usize::from(marker & 0x0F),
            is_content: true,
        },
        0xB0..=0xBF | 0xC8 => Expects::Plain(1),
        0xC9 => Expects::Plain(2),
        0xCA => Expects::Plain(4),
        0xC1 | 0xCB => Expects::Plain(8),
        0xCC..=0xCE => size(marker - 0xCC, true),
        0xD0..=0xD2 => size(marker - 0xD0, true),
        0xD4..=0xD6 => size(marker - 0xD4, false),
        0xD8..=0xDA => size(marker - 0xD8, false),
        _ => return None,
    })
}

/// How many characters more JSON takes for this byte of a text.
fn escape(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0x00..=0x1F => 5,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::packstream::{Pack, Token};
    use super::*;

    /// A message in chunks of `size` bytes.
    fn chunks(body: &[u8], size: usize) -> Vec<u8> {
        let mut wire = vec![0, 0];
        for chunk in body.chunks(size) {
            wire.extend_from_slice(&u16::try_from(chunk.len()).unwrap().to_be_bytes());
            wire.extend_from_slice(chunk);
        }
        wire.extend_from_slice(&[0, 0]);
        wire
    }

    #[tokio::test]
    async fn long_texts_are_cut_as_they_arrive_and_the_rest_is_whole() {
        let long = "\"é\n".repeat(10_000);
        let record = Pack::Structure(
            0x71,
            vec![Pack::List(vec![
                Pack::Integer(-300),
                Pack::Text(long.clone()),
                Pack::Text("short".to_owned()),
                Pack::map([("k", Pack::Bytes(vec![1; 70_000]))]),
                Pack::Float(1.5),
            ])],
        );
        let mut body = Vec::new();
        record.write(&mut body);
        for size in [1, 7, 4096, 65_535] {
            let wire = chunks(&body, size);
            let mut incoming = Incoming::default();
            let message = incoming.message(&mut wire.as_slice(), 10).await.unwrap();
            assert!(message.body.len() < 200);
            let mut reader = message.reader();
            assert_eq!(reader.token().unwrap(), Token::Structure(0x71, 1));
            assert_eq!(reader.token().unwrap(), Token::List(5));
            assert_eq!(reader.token().unwrap(), Token::Integer(-300));
            let Token::Text(content) = reader.token().unwrap() else {
                panic!("no text");
            };
            assert_eq!(content.bytes, &long.as_bytes()[..10]);
            assert_eq!(content.whole, 40_000);
            // Of the first ten bytes five are escaped.
            assert_eq!(content.escapes, 20_000 - 5);
            assert_eq!(reader.pack().unwrap(), Pack::Text("short".to_owned()));
            reader.skip().unwrap();
            assert_eq!(reader.pack().unwrap(), Pack::Float(1.5));
            assert!(reader.is_at_end());
        }
    }

    #[tokio::test]
    async fn what_is_too_long_or_cut_short_is_given_up() {
        let mut body = RECORD.to_vec();
        body.extend_from_slice(&[0xD6, 0x7F, 0xFF, 0xFF, 0xFF]);
        body.resize(LONGEST + 100, 1);
        let wire = chunks(&body, 60_000);
        let broken = Incoming::default().message(&mut wire.as_slice(), 10).await;
        assert!(matches!(broken, Err(Broken::TooLong)));
        let wire = chunks(&[0xB1, 0x71, 0xD2, 0, 0], 100);
        let broken = Incoming::default().message(&mut wire.as_slice(), 10).await;
        assert!(matches!(broken, Err(Broken::Malformed)));
        let broken = Incoming::default()
            .message(&mut &[0, 9, 0xB1][..], 10)
            .await;
        assert!(matches!(broken, Err(Broken::Lost(_))));
        let broken = Incoming::default().message(&mut &[0xA5; 3][..], 10).await;
        assert!(matches!(broken, Err(Broken::Malformed)));
    }
}
