//! Flatbuffers from strangers: every offset, vtable, length and alignment is checked before it is followed,
//! and nothing is followed twice, so that no bytes make it panic or loop.
//!
//! ```text
//!   +0      u32 bytes that follow            the length of a record
//!   +4      u32 distance to the table        from here
//!   table   i32 distance back to the vtable, then the fields
//!   vtable  u16 its bytes, u16 the table's bytes, then a u16 for each field: where in the table, 0 for none
//!   vector  u32 elements, then the elements  a string has a zero behind them
//! ```
//! Places count from the length on: flatbuffers are aligned to it. A field is also held against the bytes
//! that its vtable says the table has, which flatbuffers' own check leaves out.

/// What is wrong, and where in the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flaw {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

type Checked<T> = Result<T, Flaw>;

/// Bytes of the length of a record.
pub(crate) const PREFIX_BYTES: usize = 4;

/// A table whose vtable has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of the table.
    len: usize,
    /// The entries of the vtable.
    fields: &'a [u8],
}

fn flaw<T>(what: &'static str, at: usize) -> Checked<T> {
    Err(Flaw { what, at })
}

/// Bytes `at..at + N`, aligned to `align`.
fn array<const N: usize>(bytes: &[u8], at: usize, align: usize) -> Checked<[u8; N]> {
    let inside = at.checked_add(N).and_then(|end| bytes.get(at..end));
    match inside.and_then(|found| found.try_into().ok()) {
        None => flaw("a field lies outside of its record", at),
        Some(_) if !at.is_multiple_of(align) => flaw("a field is not aligned", at),
        Some(found) => Ok(found),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Checked<u16> {
    Ok(u16::from_le_bytes(array(bytes, at, 2)?))
}

fn u32_at(bytes: &[u8], at: usize) -> Checked<u32> {
    Ok(u32::from_le_bytes(array(bytes, at, 4)?))
}

/// The place that the distance at `at` leads to; always behind it.
fn follow(bytes: &[u8], at: usize) -> Checked<usize> {
    match u32_at(bytes, at)? as usize {
        0 => flaw("an offset leads nowhere", at),
        distance if distance < bytes.len() - at => Ok(at + distance),
        _ => flaw("an offset leads out of its record", at),
    }
}

impl<'a> Table<'a> {
    /// The root table of a record, which begins with its length.
    pub(crate) fn root(record: &'a [u8]) -> Checked<Table<'a>> {
        Table::at(record, follow(record, PREFIX_BYTES)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Checked<Table<'a>> {
        let back = i32::from_le_bytes(array(bytes, at, 4)?);
        let vtable = i64::try_from(at).unwrap_or(i64::MAX) - i64::from(back);
        let Some(vtable) = usize::try_from(vtable).ok().filter(|place| *place < bytes.len()) else {
            return flaw("the vtable lies outside of its record", at);
        };
        let (size, len) = (usize::from(u16_at(bytes, vtable)?), usize::from(u16_at(bytes, vtable + 2)?));
        let Some(entries) = bytes.get(vtable..vtable + size).filter(|_| size >= 4 && size % 2 == 0) else {
            return flaw("a vtable of an impossible size", vtable);
        };
        if len < 4 || len > bytes.len() - at {
            return flaw("a table of an impossible size", vtable + 2);
        }
        Ok(Table { bytes, at, len, fields: &entries[4..] })
    }

    /// Entries of the vtable: fields that its writer knew of, at least.
    pub(crate) fn known_fields(&self) -> usize {
        self.fields.len() / 2
    }

    /// Whether there is a field of this number.
    pub(crate) fn has(&self, field: usize) -> bool {
        self.entry(field) != 0
    }

    /// Whether there are fields, and all of them are in the table. Bytes that are no flatbuffer hardly ever say
    /// so.
    pub(crate) fn has_only_inner_fields(&self) -> bool {
        let mut entries =
            (0..self.known_fields()).map(|field| self.entry(field)).filter(|entry| *entry != 0).peekable();
        entries.peek().is_some() && entries.all(|entry| entry >= 4 && entry < self.len)
    }

    fn entry(&self, field: usize) -> usize {
        let entry = self.fields.get(2 * field..2 * field + 2);
        entry.map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])))
    }

    /// Where a field of so many bytes lies.
    fn place(&self, field: usize, bytes: usize) -> Checked<Option<usize>> {
        match self.entry(field) {
            0 => Ok(None),
            entry if entry >= 4 && entry + bytes <= self.len => Ok(Some(self.at + entry)),
            entry => flaw("a field lies outside of its table", self.at + entry),
        }
    }

    pub(crate) fn u32(&self, field: usize) -> Checked<Option<u32>> {
        self.place(field, 4)?.map(|at| u32_at(self.bytes, at)).transpose()
    }

    pub(crate) fn i32(&self, field: usize) -> Checked<Option<i32>> {
        Ok(self.u32(field)?.map(u32::cast_signed))
    }

    pub(crate) fn i64(&self, field: usize) -> Checked<Option<i64>> {
        let Some(at) = self.place(field, 8)? else { return Ok(None) };
        Ok(Some(i64::from_le_bytes(array(self.bytes, at, 8)?)))
    }

    fn target(&self, field: usize) -> Checked<Option<usize>> {
        self.place(field, 4)?.map(|at| follow(self.bytes, at)).transpose()
    }

    /// A vector of elements of `width` bytes.
    fn vector(&self, field: usize, width: usize) -> Checked<Option<(usize, &'a [u8])>> {
        self.target(field)?.map(|at| elements(self.bytes, at, width).map(|found| (at + 4, found))).transpose()
    }

    pub(crate) fn bytes(&self, field: usize) -> Checked<Option<&'a [u8]>> {
        Ok(self.vector(field, 1)?.map(|(_, found)| found))
    }

    pub(crate) fn i64s(&self, field: usize) -> Checked<Option<Vec<i64>>> {
        let Some((at, found)) = self.vector(field, 8)? else { return Ok(None) };
        if !at.is_multiple_of(8) && !found.is_empty() {
            return flaw("a vector is not aligned", at);
        }
        let (numbers, _) = found.as_chunks();
        Ok(Some(numbers.iter().map(|number| i64::from_le_bytes(*number)).collect()))
    }

    pub(crate) fn string(&self, field: usize) -> Checked<Option<String>> {
        self.target(field)?.map(|at| text(self.bytes, at)).transpose()
    }

    /// Strings, together not longer than the record: many that share their bytes would take more memory than
    /// the record.
    pub(crate) fn strings(&self, field: usize) -> Checked<Option<Vec<String>>> {
        let Some((at, found)) = self.vector(field, 4)? else { return Ok(None) };
        let (mut strings, mut left) = (Vec::new(), self.bytes.len());
        for place in (at..at + found.len()).step_by(4) {
            let string = text(self.bytes, follow(self.bytes, place)?)?;
            let Some(rest) = left.checked_sub(string.len()) else {
                return flaw("strings that are longer than their record", place);
            };
            left = rest;
            strings.push(string);
        }
        Ok(Some(strings))
    }

    /// Bytes of the record that the table is in.
    pub(crate) fn record_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Tables, one by one: many entries may lead to the same one.
    pub(crate) fn tables(&self, field: usize) -> Checked<impl Iterator<Item = Checked<Table<'a>>> + use<'a>> {
        let (bytes, (at, found)) = (self.bytes, self.vector(field, 4)?.unwrap_or_default());
        let places = (at..at + found.len()).step_by(4);
        Ok(places.map(move |place| Table::at(bytes, follow(bytes, place)?)))
    }

    pub(crate) fn table(&self, field: usize) -> Checked<Option<Table<'a>>> {
        self.target(field)?.map(|at| Table::at(self.bytes, at)).transpose()
    }
}

fn elements(bytes: &[u8], at: usize, width: usize) -> Checked<&[u8]> {
    let len = (u32_at(bytes, at)? as usize).checked_mul(width);
    let end = len.and_then(|len| (at + 4).checked_add(len));
    match end.and_then(|end| bytes.get(at + 4..end)) {
        Some(found) => Ok(found),
        None => flaw("a vector is longer than its record", at),
    }
}

/// A string; bytes that are no UTF-8 are shown as such.
fn text(bytes: &[u8], at: usize) -> Checked<String> {
    let found = elements(bytes, at, 1)?;
    if bytes.get(at + 4 + found.len()) != Some(&0) {
        return flaw("a string without its end", at);
    }
    Ok(String::from_utf8_lossy(found).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of an i64 and a string, as any builder would lay it out.
    fn sample() -> Vec<u8> {
        let mut record = vec![44, 0, 0, 0, 12, 0, 0, 0];
        record.extend_from_slice(&[8, 0, 20, 0, 8, 0, 4, 0]); // vtable at 8
        record.extend_from_slice(&8i32.to_le_bytes()); // table at 16
        record.extend_from_slice(&20u32.to_le_bytes()); // the string, from 20
        record.extend_from_slice(&(-7i64).to_le_bytes());
        record.extend_from_slice(&[0; 8]);
        record.extend_from_slice(&[3, 0, 0, 0, b'a', b'b', b'c', 0]); // at 40
        record
    }

    #[test]
    fn fields_are_found_by_the_vtable() {
        let record = sample();
        let table = Table::root(&record).unwrap();
        assert_eq!(table.i64(0), Ok(Some(-7)));
        assert_eq!(table.string(1).unwrap().as_deref(), Some("abc"));
        assert_eq!((table.known_fields(), table.i64(2), table.has(7)), (2, Ok(None), false));
    }

    /// The flaw that is found when the byte at `at` is `value`.
    fn check(at: usize, value: u8, what: &str) {
        let mut record = sample();
        record[at] = value;
        let read = Table::root(&record).and_then(|table| Ok((table.i64(0)?, table.string(1)?)));
        let flaw = read.expect_err(what);
        assert!(flaw.what == what && flaw.at <= record.len(), "byte {at}: {flaw:?}, should be {what}");
    }

    #[test]
    fn every_way_out_is_closed() {
        check(4, 0, "an offset leads nowhere");
        check(4, 44, "an offset leads out of its record");
        check(4, 13, "a field is not aligned");
        check(16, 17, "the vtable lies outside of its record");
        check(19, 0x80, "the vtable lies outside of its record");
        check(8, 7, "a vtable of an impossible size");
        check(8, 200, "a vtable of an impossible size");
        check(10, 33, "a table of an impossible size");
        check(10, 15, "a field lies outside of its table");
        check(12, 2, "a field lies outside of its table");
        check(12, 12, "a field is not aligned");
        check(20, 28, "an offset leads out of its record");
        check(40, 5, "a vector is longer than its record");
        check(40, 2, "a string without its end");
        check(40, 4, "a string without its end");
        check(43, 0xff, "a vector is longer than its record");
    }

    #[test]
    fn strings_that_share_their_bytes_are_no_way_to_more_memory() {
        let mut record = vec![0, 0, 0, 0, 8, 0, 0, 0, 6, 0, 8, 0];
        record.splice(8..12, [6, 0, 8, 0, 4, 0, 0, 0]); // vtable at 8, then 2 bytes of padding
        record[4] = 12; // table at 16
        record.extend_from_slice(&8i32.to_le_bytes());
        record.extend_from_slice(&4u32.to_le_bytes()); // vector at 24
        record.extend_from_slice(&8u32.to_le_bytes());
        for n in (1..=8u32).rev() {
            record.extend_from_slice(&(4 * n).to_le_bytes()); // all to the string behind them
        }
        record.extend_from_slice(&20u32.to_le_bytes());
        record.extend_from_slice(&[b'x'; 24]);
        record[64 + 20] = 0;
        let flaw = Table::root(&record).unwrap().strings(0).unwrap_err();
        assert_eq!(flaw.what, "strings that are longer than their record");
    }
}
