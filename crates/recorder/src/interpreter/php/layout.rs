//! Where PHP keeps what is read of it: facts of its headers, checked on each interpreter that they are used for.

/// Offsets of a minor version, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// In `executor_globals`: the innermost frame.
    pub current: usize,
    pub frame: FrameFields,
    pub function: FunctionFields,
}

/// Offsets in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameFields {
    /// The instruction.
    pub instruction: usize,
    /// The function.
    pub function: usize,
    /// The word that says in its lower half how it was called.
    pub call: usize,
    /// The frame further out.
    pub previous: usize,
}

/// Offsets in a function. The first byte says which kind it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FunctionFields {
    /// Its name; 0 of a file's own code.
    pub name: usize,
    /// Its class, or 0.
    pub class: usize,
    /// The word with the number of instructions in its lower half.
    pub count: usize,
    /// The instructions.
    pub instructions: usize,
    /// The name of its file.
    pub file: usize,
    /// The first line, and in the upper half the last.
    pub lines: usize,
}

/// Kinds of functions: written in C, in PHP, and what `eval` runs.
pub(super) const INTERNAL: usize = 1;
pub(super) const USER: usize = 2;
pub(super) const EVAL: usize = 4;
/// How a frame was called: by C code, so that it is the outermost of a call of the loop.
pub(super) const CALLED_BY_C: usize = 1 << 17;

/// An instruction's size, and in one: the word with the line in its lower half.
pub(super) const INSTRUCTION_BYTES: usize = 32;
pub(super) const LINE: usize = 24;
/// In a class: its name.
pub(super) const CLASS_NAME: usize = 8;
/// In a string: the hash, the length, the bytes.
pub(super) const STRING_HASH: usize = 8;
pub(super) const STRING_LENGTH: usize = 16;
pub(super) const STRING_BYTES: usize = 24;

/// In the table of modules: where its entries are, and how many. In an entry: the module and its kind, a pointer.
pub(super) const TABLE_ENTRIES: usize = 16;
pub(super) const TABLE_COUNT: usize = 24;
pub(super) const ENTRY_TYPE: usize = 8;
pub(super) const POINTER: u32 = 13;
/// In a module: its size, the number of the interface, whether it is a debug build, and one for threads.
pub(super) const MODULE_BYTES: usize = 168;
pub(super) const MODULE_INTERFACE: usize = 4;
pub(super) const MODULE_BUILD: usize = 8;

/// Numbers of interfaces, and the versions that have them.
const VERSIONS: [(u32, u32); 6] = [
    (2020_0930, 0x800),
    (2021_0902, 0x801),
    (2022_0829, 0x802),
    (2023_0831, 0x803),
    (2024_0924, 0x804),
    (2025_0925, 0x805),
];

/// The version that has an interface of this number; 0 of another.
pub(super) fn version_of(interface: u32) -> u32 {
    VERSIONS.iter().find(|(number, _)| *number == interface).map_or(0, |(_, version)| *version)
}

impl Layout {
    /// The offsets of a version, where they are known.
    pub(super) fn of(version: u32) -> Option<Layout> {
        (version == 0x802).then_some(V8_2)
    }
}

/// 8.2, read from 8.2.36 of Debian 12.
pub(super) const V8_2: Layout = Layout {
    current: 488,
    frame: FrameFields { instruction: 0, function: 24, call: 40, previous: 48 },
    function: FunctionFields { name: 8, class: 16, count: 80, instructions: 88, file: 152, lines: 160 },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_that_was_looked_at_has_offsets() {
        assert_eq!((version_of(20_220_829), version_of(1)), (0x802, 0));
        assert!(Layout::of(0x802).is_some() && Layout::of(0x803).is_none() && Layout::of(0).is_none());
    }
}
