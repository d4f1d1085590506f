//! Flatbuffers, as far as Arrow's headers need them: a tree of tables, written from the root on, so that all offsets point
//! forward.
//!
//! ```text
//!   buffer   offset of the root, table...
//!   vtable   its bytes (2), the table's (2), the place of each field in the table (2 each; 0: not there)
//!   table    back to its vtable (4), fields; texts, vectors and tables are offsets from where they stand (4)
//! ```

/// A field of a table.
pub(super) enum Field {
    /// One byte: a type of a union, yes or no.
    Byte(u8),
    /// Two bytes: an enumeration.
    Short(i16),
    /// Four bytes.
    Int(i32),
    /// Eight bytes.
    Long(i64),
    /// A text.
    Text(String),
    /// A table.
    Of(Table),
    /// Tables.
    Tables(Vec<Table>),
    /// Structs, each of whole 8 bytes: how many, and their bytes.
    Structs(usize, Vec<u8>),
}

/// A table: its fields by their numbers.
#[derive(Default)]
pub(super) struct Table(Vec<(u16, Field)>);

impl Table {
    /// With another field.
    pub(super) fn with(mut self, number: u16, field: Field) -> Table {
        self.0.push((number, field));
        self
    }

    /// As a buffer, of whole 8 bytes.
    pub(super) fn finish(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        let root = put_table(self, &mut out);
        out[..4].copy_from_slice(&(root as u32).to_le_bytes());
        align(&mut out, 8, 0);
        out
    }
}

/// Fills up until what comes `before` bytes later is at a whole number of `unit` bytes.
fn align(out: &mut Vec<u8>, unit: usize, before: usize) {
    while !(out.len() + before).is_multiple_of(unit) {
        out.push(0);
    }
}

/// Writes a table behind what there is; where it begins.
fn put_table(table: &Table, out: &mut Vec<u8>) -> usize {
    let fields = table.0.iter().map(|(number, _)| usize::from(*number) + 1).max().unwrap_or(0);
    let vtable_bytes = 4 + 2 * fields;
    align(out, 8, vtable_bytes);
    let vtable = out.len();
    out.resize(vtable + vtable_bytes, 0);
    let begin = out.len();
    out.extend_from_slice(&((begin - vtable) as i32).to_le_bytes());
    let mut pending = Vec::new();
    for (number, field) in &table.0 {
        align(out, size(field), 0);
        let at = out.len();
        let place = ((at - begin) as u16).to_le_bytes();
        out[vtable + 4 + 2 * usize::from(*number)..][..2].copy_from_slice(&place);
        match field {
            Field::Byte(n) => out.push(*n),
            Field::Short(n) => out.extend_from_slice(&n.to_le_bytes()),
            Field::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
            Field::Long(n) => out.extend_from_slice(&n.to_le_bytes()),
            Field::Text(_) | Field::Of(_) | Field::Tables(_) | Field::Structs(..) => {
                out.extend_from_slice(&[0; 4]);
                pending.push((at, field));
            }
        }
    }
    let table_bytes = out.len() - begin;
    out[vtable..vtable + 2].copy_from_slice(&(vtable_bytes as u16).to_le_bytes());
    out[vtable + 2..vtable + 4].copy_from_slice(&(table_bytes as u16).to_le_bytes());
    for (at, field) in pending {
        let target = put_child(field, out);
        point(out, at, target);
    }
    begin
}

fn size(field: &Field) -> usize {
    match field {
        Field::Byte(_) => 1,
        Field::Short(_) => 2,
        Field::Long(_) => 8,
        _ => 4,
    }
}

/// Has the offset at a place point to what is behind it.
fn point(out: &mut [u8], at: usize, target: usize) {
    out[at..at + 4].copy_from_slice(&((target - at) as u32).to_le_bytes());
}

fn put_child(field: &Field, out: &mut Vec<u8>) -> usize {
    let begin_vector = |out: &mut Vec<u8>, unit: usize, len: usize| {
        align(out, unit, 4);
        let begin = out.len();
        out.extend_from_slice(&(len as u32).to_le_bytes());
        begin
    };
    match field {
        Field::Of(table) => put_table(table, out),
        Field::Text(text) => {
            let begin = begin_vector(out, 4, text.len());
            out.extend_from_slice(text.as_bytes());
            out.push(0);
            begin
        }
        Field::Structs(count, bytes) => {
            let begin = begin_vector(out, 8, *count);
            out.extend_from_slice(bytes);
            begin
        }
        Field::Tables(tables) => {
            let begin = begin_vector(out, 4, tables.len());
            let first = out.len();
            out.resize(first + 4 * tables.len(), 0);
            for (n, table) in tables.iter().enumerate() {
                let target = put_table(table, out);
                point(out, first + 4 * n, target);
            }
            begin
        }
        Field::Byte(_) | Field::Short(_) | Field::Int(_) | Field::Long(_) => out.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// Where a field of a table is, as a reader finds it.
    fn field(bytes: &[u8], table: usize, number: usize) -> usize {
        let vtable = table - u32_at(bytes, table);
        let place = &bytes[vtable + 4 + 2 * number..][..2];
        table + usize::from(u16::from_le_bytes(place.try_into().unwrap()))
    }

    #[test]
    fn a_reader_finds_all_fields() {
        let inner = |n| Table::default().with(0, Field::Long(n));
        let table = Table::default()
            .with(0, Field::Byte(7))
            .with(2, Field::Text("abc".to_owned()))
            .with(3, Field::Tables(vec![inner(-5), inner(6)]))
            .with(4, Field::Structs(2, vec![1; 32]));
        let bytes = table.finish();
        assert_eq!(bytes.len() % 8, 0);
        let root = u32_at(&bytes, 0);
        assert_eq!(bytes[field(&bytes, root, 0)], 7);
        assert_eq!(field(&bytes, root, 1), root, "not there");
        let follow = |at: usize| at + u32_at(&bytes, at);
        let text = follow(field(&bytes, root, 2));
        assert_eq!((u32_at(&bytes, text), &bytes[text + 4..text + 8]), (3, &b"abc\0"[..]));
        let tables = follow(field(&bytes, root, 3));
        let second = field(&bytes, follow(tables + 8), 0);
        assert_eq!((second % 8, i64::from_le_bytes(bytes[second..second + 8].try_into().unwrap())), (0, 6));
        let structs = follow(field(&bytes, root, 4));
        assert_eq!((u32_at(&bytes, structs), (structs + 4) % 8), (2, 0));
    }
}
