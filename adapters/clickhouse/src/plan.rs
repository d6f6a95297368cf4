//! How the rows of one answer are read: its header, its values, and what was cut of them.

use store::{Cell, Code, Column, Error, Value};

use crate::decode::{Form, value};
use crate::json::{Malformed, Reader, texts};
use crate::scalar::{Undecodable, beginning};
use crate::types::{Type, Width};
use crate::verdicts::Verdict;
use crate::wrap::Wrapped;

/// How the rows of an answer are read.
pub(crate) struct Plan {
    pub(crate) text: String,
    pub(crate) wrapped: Wrapped,
    pub(crate) verdict: Verdict,
    pub(crate) form: Form,
    pub(crate) cell_bytes: usize,
}

impl Plan {
    /// The most bytes of one row: everything that may be long is cut, and JSON writes a byte as six.
    pub(crate) fn longest_row(&self) -> usize {
        let cell = self.cell_bytes.saturating_mul(12).saturating_add(4096);
        self.verdict
            .len()
            .saturating_mul(cell)
            .saturating_add(1 << 16)
    }

    /// Checks the header of the answer, which has to be that of the verdict.
    pub(crate) fn check_header(&self, names: &[u8], types: &[u8]) -> Result<(), Error> {
        let (names, types) = (texts(names).map_err(unread)?, texts(types).map_err(unread)?);
        let own = if self.wrapped.measured.is_empty() {
            0
        } else {
            2
        };
        let has_names = self.wrapped.sql.contains(" AS rhizodat_q(");
        let fits = names.len() == self.verdict.len() + own
            && types.len() == names.len()
            && self.verdict.iter().enumerate().all(|(index, described)| {
                let name = names
                    .get(index)
                    .is_some_and(|name| has_names || *name == described.name);
                let same = types
                    .get(index)
                    .is_some_and(|found| Type::parse(found) == described.declared);
                name && (same || self.wrapped.rewritten.contains(&index))
            });
        if !fits {
            return Err(Error::new(
                Code::QueryFailed,
                "the columns of the query changed while it was read",
            )
            .with_hint("call again"));
        }
        Ok(())
    }

    pub(crate) fn decode(&self, line: &[u8], columns: &[Column]) -> Result<Vec<Cell>, Error> {
        let mut reader = Reader::new(line);
        reader.expect(b'[').map_err(unread)?;
        let mut cells = Vec::with_capacity(columns.len());
        for (index, (described, column)) in self.verdict.iter().zip(columns).enumerate() {
            if index > 0 {
                reader.expect(b',').map_err(unread)?;
            }
            let decoded = value(&mut reader, &described.declared, &self.form, true);
            cells.push(Cell::whole(
                decoded.map_err(|why| undecodable(column, why))?,
            ));
        }
        if !self.wrapped.measured.is_empty() {
            self.cut(&mut reader, &mut cells, columns)?;
        }
        reader.expect(b']').map_err(unread)?;
        if !reader.is_at_end() {
            return Err(unread(Malformed));
        }
        // What has no length in the server can still be longer than a small limit.
        for cell in &mut cells {
            if let Value::Text(text) = &cell.value
                && text.len() > self.cell_bytes
                && cell.cut_from.is_none()
            {
                let length = text.len() as u64;
                *cell = Cell::cut(
                    beginning(text.clone().into_bytes(), self.cell_bytes),
                    length,
                );
            }
        }
        Ok(cells)
    }

    /// Takes the lengths and beginnings from the end of a row, and puts in what was cut.
    fn cut(
        &self,
        reader: &mut Reader<'_>,
        cells: &mut [Cell],
        columns: &[Column],
    ) -> Result<(), Error> {
        let mut lengths: Vec<u64> = Vec::new();
        let mut beginnings: Vec<Vec<u8>> = Vec::new();
        reader.expect(b',').map_err(unread)?;
        reader.expect(b'[').map_err(unread)?;
        reader
            .items(b']', |reader| {
                let is_quoted = reader.peek() == Some(b'"');
                let digits = if is_quoted {
                    String::from_utf8(reader.string()?).map_err(|_| Malformed)?
                } else {
                    reader.number()?.to_owned()
                };
                lengths.push(digits.parse().map_err(|_| Malformed)?);
                Ok(())
            })
            .map_err(unread)?;
        reader.expect(b',').map_err(unread)?;
        reader.expect(b'[').map_err(unread)?;
        reader
            .items(b']', |reader| {
                beginnings.push(reader.string()?);
                Ok(())
            })
            .map_err(unread)?;
        if lengths.len() != self.wrapped.measured.len() || beginnings.len() != lengths.len() {
            return Err(unread(Malformed));
        }
        let measured = self.wrapped.measured.iter().zip(lengths).zip(beginnings);
        for ((&index, length), text) in measured {
            if length <= self.cell_bytes as u64 {
                continue;
            }
            let (Some(cell), Some(described)) = (cells.get_mut(index), self.verdict.get(index))
            else {
                continue;
            };
            *cell = match (described.declared.width(), &cell.value) {
                (Width::Json, _) => Cell::cut(beginning(text, self.cell_bytes), length),
                (_, Value::Text(text)) => Cell::cut(
                    beginning(text.clone().into_bytes(), self.cell_bytes),
                    length,
                ),
                (_, Value::Bytes(bytes)) => {
                    Cell::cut(beginning(bytes.clone(), self.cell_bytes), length)
                }
                _ => {
                    let why = Undecodable("it came without its beginning");
                    return Err(columns
                        .get(index)
                        .map_or_else(|| unread(Malformed), |column| undecodable(column, why)));
                }
            };
        }
        Ok(())
    }
}

fn undecodable(column: &Column, why: Undecodable) -> Error {
    Error::new(
        Code::UndecodableValue,
        format!("column `{}` ({}): {}", column.name, column.type_name, why.0),
    )
    .with_hint("leave the column out, or select its text with `toString` or its bytes with `hex`")
}

pub(crate) fn unread(_: Malformed) -> Error {
    Error::new(Code::Internal, "the server answered in an unknown form").with_hint(
        "report it with the server's version; leave out the columns one by one to find which it is",
    )
}
