//! A flatbuffer written from its beginning to its end: the table first, then what its fields point to. What
//! goes over the end of the memory is only counted, so that the same code computes the size.
//!
//! Alignment counts from the length in front, as in AOS's files.

use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// Where a field is in its table.
#[derive(Clone, Copy, Default)]
pub(super) enum Placed {
    /// Not there.
    #[default]
    Nowhere,
    /// Takes four bytes, somewhere.
    Four,
    /// Takes eight bytes, somewhere.
    Eight,
    /// So many bytes behind the table's beginning.
    At(u16),
}

/// The memory, and how far it is written.
pub(super) struct Forward<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl<'a> Forward<'a> {
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, at: 0 }
    }

    /// Writes the length (0 so far), the offset of the table and its vtable; reserves the table, all zeros, and
    /// writes the offset of each field in it. Returns where the table is.
    pub(super) fn table(&mut self, fields: &mut [Placed]) -> usize {
        let vtable_bytes = 4 + 2 * fields.len();
        // The first field behind the table's four bytes has eight and has to be aligned.
        let table_at = (8 + vtable_bytes + 4).next_multiple_of(8) - 4;
        let mut next = 4u16;
        for (wide, bytes) in [(true, 8), (false, 4)] {
            for field in fields.iter_mut() {
                if matches!((&*field, wide), (Placed::Eight, true) | (Placed::Four, false)) {
                    *field = Placed::At(next);
                    next += bytes;
                }
            }
        }
        let vtable_at = table_at - vtable_bytes;
        self.pad(table_at + usize::from(next));
        self.set(4, &u32_of(table_at - 4));
        self.set(vtable_at, &(vtable_bytes as u16).to_le_bytes());
        self.set(vtable_at + 2, &next.to_le_bytes());
        for (i, field) in fields.iter().enumerate() {
            let entry = if let Placed::At(at) = field { *at } else { 0 };
            self.set(vtable_at + 4 + 2 * i, &entry.to_le_bytes());
        }
        self.set(table_at, &u32_of(vtable_bytes));
        table_at
    }

    /// Overwrites what is at `at`.
    pub(super) fn set(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.buffer.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.set(self.at, bytes);
        self.at += bytes.len();
    }

    /// Zeros up to `at`.
    fn pad(&mut self, at: usize) {
        let end = at.min(self.buffer.len());
        if let Some(between) = self.buffer.get_mut(self.at..end) {
            between.fill(0);
        }
        self.at = at;
    }

    /// Lets the field at `from` point to what is written next, which is aligned to `alignment` once `before` bytes
    /// have been written.
    fn point(&mut self, from: usize, alignment: usize, before: usize) {
        self.pad((self.at + before).next_multiple_of(alignment) - before);
        self.set(from, &u32_of(self.at - from));
    }

    pub(super) fn text(&mut self, from: usize, text: &str) {
        self.point(from, 4, 0);
        self.push(&u32_of(text.len()));
        self.push(text.as_bytes());
        self.push(&[0]);
    }

    /// As text; none is empty.
    pub(super) fn id(&mut self, from: usize, id: Option<Uuid>) {
        let mut text = [0; Hyphenated::LENGTH];
        self.text(from, id.map_or("", |id| id.hyphenated().encode_lower(&mut text)));
    }

    pub(super) fn ids(&mut self, from: usize, ids: &[Option<Uuid>]) {
        self.point(from, 4, 0);
        self.push(&u32_of(ids.len()));
        let first = self.at;
        self.pad(first + 4 * ids.len());
        for (i, id) in ids.iter().enumerate() {
            self.id(first + 4 * i, *id);
        }
    }

    pub(super) fn longs(&mut self, from: usize, values: impl Iterator<Item = i64>) {
        self.point(from, 8, 4);
        let length_at = self.at;
        self.push(&[0; 4]);
        let mut count = 0;
        for value in values {
            self.push(&value.to_le_bytes());
            count += 1;
        }
        self.set(length_at, &u32_of(count));
    }

    pub(super) fn bytes(&mut self, from: usize, bytes: &[u8]) {
        self.point(from, 4, 0);
        self.push(&u32_of(bytes.len()));
        self.push(bytes);
    }

    /// A table whose only field is its name.
    pub(super) fn named(&mut self, from: usize, name: &str) {
        self.pad(self.at.next_multiple_of(4));
        for half in [6u16, 8, 4, 0] {
            self.push(&half.to_le_bytes());
        }
        let table_at = self.at;
        self.set(from, &u32_of(table_at - from));
        self.push(&u32_of(8));
        self.push(&[0; 4]);
        self.text(table_at + 4, name);
    }

    /// A finished flatbuffer, as it is: all distances within it stay true.
    pub(super) fn embed(&mut self, from: usize, flatbuffer: &[u8]) {
        self.pad(self.at.next_multiple_of(8));
        let root = flatbuffer.first_chunk().map_or(0, |root| u32::from_le_bytes(*root) as usize);
        self.set(from, &u32_of(self.at + root - from));
        self.push(flatbuffer);
    }

    /// Writes the length, and returns the size of the whole.
    pub(super) fn finish(mut self) -> usize {
        self.pad(self.at.next_multiple_of(8));
        self.set(0, &u32_of(self.at - 4));
        self.at
    }
}

/// Headers have some KiB; what would not fit into 32 bits does not fit into memory that is given for one.
fn u32_of(bytes: usize) -> [u8; 4] {
    (bytes as u32).to_le_bytes()
}
