//! A code object: its names, and the lines of its instructions.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;

use heapscribe_wire::language::Language;
use heapscribe_wire::limits::{FUNCTION_NAME_BYTES_MAX, LINE_BITS, SOURCE_FILE_BYTES_MAX};

use super::byte_reader::ByteReader;
use super::layout::{BYTES, Chain, Layout, OBJECT_LENGTH};
use super::lines::line_at;
use super::read::Read;
use super::text;
use crate::platform::lock::Held;

/// Room for names; used under the lock only.
struct Room(UnsafeCell<[u8; FUNCTION_NAME_BYTES_MAX + SOURCE_FILE_BYTES_MAX]>);
// SAFETY: used only while the session's lock is held.
unsafe impl Sync for Room {}
static ROOM: Room = Room(UnsafeCell::new([0; FUNCTION_NAME_BYTES_MAX + SOURCE_FILE_BYTES_MAX]));

/// The names of a function, in room that is the holder's of the lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The source file.
    pub file: &'a [u8],
    /// The line that it begins at.
    pub first_line: u32,
    /// What it is written in.
    pub language: Language,
}

impl<'a> Names<'a> {
    /// Names that `fill` writes: the name and the file, and of how many bytes each is.
    pub(super) fn written(
        language: Language,
        first_line: u32,
        _held: &'a Held<'_>,
        fill: impl FnOnce(&mut [u8], &mut [u8]) -> Option<(usize, usize)>,
    ) -> Option<Names<'a>> {
        // SAFETY: the lock is held, as long as what is given is used.
        let room = unsafe { &mut *ROOM.0.get() };
        let (name, file) = room.split_at_mut(FUNCTION_NAME_BYTES_MAX);
        let (name_bytes, file_bytes) = fill(name, file)?;
        Some(Names { name: name.get(..name_bytes)?, file: file.get(..file_bytes)?, first_line, language })
    }

    /// Reads the names of a code object. `None` for one that is being freed, or is none.
    pub(super) fn read<R: Read>(
        read: R,
        layout: &Layout,
        code: usize,
        held: &'a Held<'_>,
    ) -> Option<Names<'a>> {
        if read.word(code)? == 0 {
            return None; // nobody refers to it any more
        }
        let string = |field: usize, to: &mut [u8]| {
            text::read(read, read.word(code.wrapping_add(field))?, layout.text, to)
        };
        let first_line = read.half(code.wrapping_add(layout.code.first_line))?;
        Names::written(Language::PYTHON, first_line, held, |name, file| {
            Some((string(layout.code.name, name)?, string(layout.code.file, file)?))
        })
    }

    /// A hash that is never 0.
    pub(super) fn hash(&self) -> u64 {
        let line = self.first_line.to_le_bytes();
        let bytes = self.name.iter().chain(&[0]).chain(self.file).chain(&line);
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        (hash ^ hash >> 32).max(1)
    }
}

/// A code object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    /// Where it is.
    pub address: usize,
    /// The line that it begins at.
    pub first_line: u32,
}

impl Code {
    /// Words of a code object that another one at its address has otherwise, hashed; never 0.
    #[inline(always)]
    pub(super) fn witness<R: Read>(read: R, layout: &Layout, code: usize) -> Option<u32> {
        let fields = [layout.code.first_line & !7, layout.code.name, layout.code.lines];
        let mut hash = 0u64;
        for field in fields {
            let word = read.word(code.wrapping_add(field))? as u64;
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        Some((hash >> 32) as u32 | 1)
    }

    /// The line of an instruction; 0 when it has none.
    pub(super) fn line<R: Read>(self, read: R, layout: &Layout, instruction: usize) -> u32 {
        let offset = match layout.shape.chain {
            Chain::Unrecorded => i64::from(instruction as u32 as i32),
            Chain::Objects => i64::from(instruction as u32 as i32) * 2,
            _ => instruction.wrapping_sub(self.address.wrapping_add(layout.code.instructions)) as i64,
        };
        let mut table = bytes_of(read, self.address.wrapping_add(layout.code.lines));
        let line = line_at(layout.lines, self.first_line, offset, || table.next());
        if line >> LINE_BITS == 0 { line } else { 0 }
    }
}

/// The bytes of the bytes object that the word at `field` leads to; none when it cannot be read.
fn bytes_of<R: Read>(read: R, field: usize) -> ByteReader<R> {
    let object = read.word(field).unwrap_or(0);
    let length = read.word(object.wrapping_add(OBJECT_LENGTH)).filter(|length| *length < 1 << 30);
    ByteReader::new(read, object.wrapping_add(BYTES), length.unwrap_or(0))
}
