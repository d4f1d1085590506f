//! The fields of a message, each with the place that it is at.

use heapscribe_wire::varint;

use crate::profile::ProfileError;

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    /// A number.
    Number(u64),
    /// Bytes: a text, a message or packed numbers.
    Bytes(Message<'a>),
    /// Something of fixed length, which no profile has.
    Other,
}

/// A message, or a part of it, with its offset in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: usize,
}

impl<'a> Message<'a> {
    /// Takes the next field: its number, and what it holds.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, ProfileError> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let at = self.offset;
        let key = self.number()?;
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => self.skipped(8)?,
            2 => {
                let length = self.number()?;
                Value::Bytes(self.taken(length)?)
            }
            5 => self.skipped(4)?,
            kind => return Err(ProfileError::at_byte(at, format!("a field of the unknown kind {kind}"))),
        };
        Ok(Some((key >> 3, value)))
    }

    /// Takes a number.
    pub(super) fn number(&mut self) -> Result<u64, ProfileError> {
        let found = varint::get(self.bytes);
        let (value, n) =
            found.ok_or_else(|| ProfileError::at_byte(self.offset, "a number that does not end"))?;
        self.advance(n);
        Ok(value)
    }

    fn taken(&mut self, length: u64) -> Result<Message<'a>, ProfileError> {
        let found = usize::try_from(length).ok().and_then(|n| self.bytes.get(..n));
        let Some(bytes) = found else {
            let left = self.bytes.len();
            let what = format!("a field of {length} bytes, where {left} are left,");
            return Err(ProfileError::at_byte(self.offset, what));
        };
        let taken = Message { bytes, offset: self.offset };
        self.advance(bytes.len());
        Ok(taken)
    }

    fn skipped(&mut self, length: u64) -> Result<Value<'a>, ProfileError> {
        self.taken(length).map(|_| Value::Other)
    }

    fn advance(&mut self, n: usize) {
        self.bytes = &self.bytes[n..];
        self.offset += n;
    }

    /// Its bytes as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}

/// The numbers of a field that may be repeated: one, or several packed ones.
pub(super) fn numbers(value: Value<'_>, into: &mut Vec<u64>) -> Result<(), ProfileError> {
    match value {
        Value::Number(number) => into.push(number),
        Value::Bytes(mut packed) => {
            while !packed.bytes.is_empty() {
                into.push(packed.number()?);
            }
        }
        Value::Other => {}
    }
    Ok(())
}

/// The numbers of a message's fields below 16; of a repeated one the last.
pub(super) fn all_numbers(mut message: Message<'_>) -> Result<[u64; 16], ProfileError> {
    let mut all = [0; 16];
    while let Some((field, value)) = message.next()? {
        if let (Value::Number(number), Some(at)) = (value, all.get_mut(field as usize & 31)) {
            // Beyond 31 is no field of a profile.
            *at = if field < 16 { number } else { *at };
        }
    }
    Ok(all)
}
