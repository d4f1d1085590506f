//! What CPython says of itself from 3.13 on: a table of offsets at the beginning of `_PyRuntime`, for debuggers. It is
//! right in builds with other options and patches, too.
//!
//! ```text
//!   0  cookie, "xdebugpy"    8  version, as `Py_Version` has it    16  whether threads run it at the same time
//!   40 the newest of the interpreters; the main one is in the word after it
//! ```
//! The table itself is another one in each minor version. No word of it is believed before it was found to be small; all
//! of them together are checked as those of other versions are.

use super::layout::{
    Chain, CodeFields, FrameFields, Layout, Lines, RuntimeFields, Shape, ThreadFields, WHOLE,
};

const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
const VERSION: usize = 8;
const IS_FREE_THREADED: usize = 16;
const NEWEST_INTERPRETER: usize = 40;
/// What is at most believed to be an offset.
const OFFSET_MAX: usize = 1 << 20;

/// Where the table of a minor version has what.
struct Table {
    lock: usize,
    current_frame: usize,
    thread: usize,
    /// The previous frame, then the executable, then the instruction; the owner is the fifth.
    frame: usize,
    /// The file; the qualified name is the third, then come the lines, the first line; instructions are the ninth.
    code: usize,
    /// The size of an ASCII string without its characters.
    string: usize,
}

impl Table {
    fn of(minor: u8) -> Option<Table> {
        match minor {
            13 => {
                Some(Table { lock: 112, current_frame: 184, thread: 192, frame: 232, code: 280, string: 560 })
            }
            14 => {
                Some(Table { lock: 120, current_frame: 208, thread: 216, frame: 256, code: 320, string: 640 })
            }
            _ => None,
        }
    }
}

/// Why there are no offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Without {
    /// The version says none, or in another way.
    Unknown,
    /// Threads run it at the same time.
    FreeThreaded,
}

/// The offsets that an interpreter of this version (as `Py_Version` has it) says; `word` gives those of its `_PyRuntime`.
pub(super) fn read(version: u32, word: impl Fn(usize) -> u64) -> Result<Layout, Without> {
    let table = (version >> 24 == 3).then(|| Table::of((version >> 16) as u8)).flatten();
    let table = table.ok_or(Without::Unknown)?;
    if word(0) != COOKIE || word(VERSION) != u64::from(version) {
        return Err(Without::Unknown);
    }
    if word(IS_FREE_THREADED) != 0 {
        return Err(Without::FreeThreaded);
    }
    let field = |at: usize| usize::try_from(word(at)).ok().filter(|offset| *offset < OFFSET_MAX);
    layout(&table, field).ok_or(Without::Unknown)
}

fn layout(table: &Table, field: impl Fn(usize) -> Option<usize>) -> Option<Layout> {
    let of_frame = |index: usize| field(table.frame + 8 * index);
    let of_code = |index: usize| field(table.code + 8 * index);
    let string = field(table.string)?;
    Some(Layout {
        runtime: RuntimeFields {
            key: 0,
            holder: 0,
            main: field(NEWEST_INTERPRETER)? + 8,
            lock: field(table.lock)?,
            thread: field(table.thread)?,
        },
        shape: Shape {
            thread: ThreadFields {
                frame: field(table.current_frame)?,
                record: 0,
                record_frame: 0,
                record_previous: 0,
            },
            frame: FrameFields {
                code: of_frame(1)?,
                previous: of_frame(0)?,
                instruction: of_frame(2)?,
                instruction_bits: WHOLE,
                mark: of_frame(4)?,
            },
            chain: Chain::Shims,
        },
        code: CodeFields {
            first_line: of_code(4)?,
            name: of_code(2)?,
            file: of_code(0)?,
            lines: of_code(3)?,
            instructions: of_code(8)?,
        },
        lines: Lines::Locations,
        // What is behind the characters of an ASCII string has two words more in another one.
        text: [string, string + 16],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter::layout::SHAPES;

    /// The words from the second on of CPython 3.14.10 (Debian, 2026-10-26), as far as they are read.
    const V3_14: [u64; 80] = [
        0x30e_0af0, 0, 316_616, 784, 808, 225_864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680, 16, 7784,
        0, 7800, 7792, 7992, 0, 832, 0, 8, 16, 72, 152, 160, 232, 32, 88, 8, 0, 56, 80, 74, 64, 0, 216, 112,
        120, 128, 136, 68, 52, 96, 104, 208, 0, 16, 8, 416, 24, 88, 168, 40, 32, 16, 40, 24, 16, 200, 24, 40,
        32, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40,
    ];

    fn check(version: u32, change: (usize, u64), expected: Result<(), Without>) {
        let word = |at: usize| match at {
            _ if at == change.0 => change.1,
            0 => COOKIE,
            _ => V3_14[at / 8 - 1],
        };
        assert_eq!(read(version, word).map(drop), expected, "{change:?}");
    }

    #[test]
    fn offsets_are_those_of_its_headers() {
        let word = |at: usize| if at == 0 { COOKIE } else { V3_14[at / 8 - 1] };
        let layout = read(0x30e_0af0, word).unwrap();
        let Layout { runtime, shape, code, .. } = layout;
        assert_eq!((runtime.main, runtime.lock, runtime.thread), (816, 16, 152));
        assert_eq!(shape, SHAPES[3]);
        assert_eq!((code.first_line, code.name, code.file, code.lines), (68, 128, 112, 136));
        assert_eq!((code.instructions, layout.text), (208, [40, 56]));
    }

    #[test]
    fn what_is_not_such_a_table_is_refused() {
        check(0x30e_0af0, (8, 0x30e_0af0), Ok(()));
        check(0x30e_0af0, (0, 7), Err(Without::Unknown));
        check(0x30e_0af0, (8, 0x30e_00f0), Err(Without::Unknown));
        check(0x30e_0af0, (16, 1), Err(Without::FreeThreaded));
        check(0x30e_0af0, (272, 1 << 40), Err(Without::Unknown));
        check(0x310_00f0, (8, 0x310_00f0), Err(Without::Unknown));
    }
}
