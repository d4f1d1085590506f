//! Where CPython keeps what is read of it, by its minor version: facts of its headers, checked on each interpreter that
//! they are used for. From 3.13 on the interpreter says most of it itself.

/// How frames hang together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chain {
    /// 3.10: an object for each frame, each run by a call of its own, which has a record on its stack.
    Objects,
    /// 3.11: frames of one call follow each other; the outermost is marked, and the call has a record on its stack.
    Marked,
    /// 3.12 and later: the same, and before the outermost stands a frame without code on the stack of the call.
    Shims,
}

/// How a code object says which line an instruction is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lines {
    /// 3.10: pairs of how many bytes and how many lines further.
    Ranges,
    /// 3.11 and later: entries of a byte and varints.
    Locations,
}

/// Offsets in the state of a thread, and in the record of a call of the interpreter's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadFields {
    /// The thread, as `pthread_self` gives it.
    pub id: usize,
    /// The innermost frame; of 3.10 to 3.12 in `record` instead, but for the first.
    pub frame: usize,
    /// The innermost call's record; 0 where there is none.
    pub record: usize,
    /// In a record: its innermost frame.
    pub record_frame: usize,
    /// In a record: that of the call before.
    pub record_previous: usize,
}

/// Offsets in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameFields {
    /// The code object.
    pub code: usize,
    /// The frame further out.
    pub previous: usize,
    /// The instruction: an address, of frame objects a number.
    pub instruction: usize,
    /// The word that the owner is in.
    pub flags: usize,
    /// The owner's bits in it.
    pub owner_shift: u32,
    /// The bits that mark the outermost frame of a call.
    pub entry_shift: u32,
}

/// Offsets in a code object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CodeFields {
    /// The first line.
    pub first_line: usize,
    /// The name, qualified where there is one.
    pub name: usize,
    /// The file.
    pub file: usize,
    /// The table of lines.
    pub lines: usize,
    /// The instructions; 0: they are in an object of their own.
    pub instructions: usize,
}

/// Offsets in the interpreter's own state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RuntimeFields {
    /// The number of the key that a thread's state is kept under.
    pub key: usize,
    /// Up to 3.11: the thread that has the lock.
    pub holder: usize,
    /// The main interpreter.
    pub main: usize,
    /// In an interpreter: its lock; 0 up to 3.11.
    pub lock: usize,
}

/// The offsets of a minor version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub runtime: RuntimeFields,
    pub thread: ThreadFields,
    pub frame: FrameFields,
    pub code: CodeFields,
    pub chain: Chain,
    pub lines: Lines,
    /// Bytes before the characters of an ASCII string, and of another.
    pub text: [usize; 2],
}

/// In the lock: the thread that has it or had it last, and whether it is taken.
pub(crate) const LOCK_HOLDER: usize = 8;
pub(crate) const LOCK_IS_TAKEN: usize = 16;
/// In the type of an object: what frees one.
pub(crate) const TYPE_FREE: usize = 48;
/// In an object: its type, and of those with a length that.
pub(crate) const OBJECT_TYPE: usize = 8;
pub(crate) const OBJECT_LENGTH: usize = 16;
/// In an object of bytes: the bytes.
pub(crate) const BYTES: usize = 32;
/// The owner of a frame without code, in 3.12 and 3.13.
pub(crate) const OWNED_BY_C: usize = 3;

impl Layout {
    /// Of no interpreter.
    pub(crate) const NONE: Layout = V3_11;

    /// The offsets of 3.MINOR, where they are known.
    pub(crate) fn of(minor: u8) -> Option<Layout> {
        match minor {
            10 => Some(V3_10),
            11 => Some(V3_11),
            12 => Some(V3_12),
            13 => Some(V3_13),
            _ => None,
        }
    }
}

const V3_10: Layout = Layout {
    runtime: RuntimeFields { key: 588, holder: 568, main: 40, lock: 0 },
    thread: ThreadFields { id: 176, frame: 24, record: 48, record_frame: 0, record_previous: 8 },
    frame: FrameFields { code: 32, previous: 24, instruction: 96, flags: 0, owner_shift: 0, entry_shift: 0 },
    code: CodeFields { first_line: 40, name: 112, file: 104, lines: 120, instructions: 0 },
    chain: Chain::Objects,
    lines: Lines::Ranges,
    text: [48, 72],
};

const V3_11: Layout = Layout {
    runtime: RuntimeFields { key: 596, holder: 576, main: 48, lock: 0 },
    thread: ThreadFields { id: 152, frame: 0, record: 56, record_frame: 8, record_previous: 16 },
    frame: FrameFields {
        code: 32,
        previous: 48,
        instruction: 56,
        flags: 64,
        owner_shift: 40,
        entry_shift: 32,
    },
    code: CodeFields { first_line: 72, name: 128, file: 112, lines: 136, instructions: 184 },
    chain: Chain::Marked,
    lines: Lines::Locations,
    text: [48, 72],
};

const V3_12: Layout = Layout {
    runtime: RuntimeFields { key: 1548, holder: 0, main: 48, lock: 384 },
    thread: ThreadFields { id: 136, frame: 0, record: 56, record_frame: 0, record_previous: 8 },
    frame: FrameFields { code: 0, previous: 8, instruction: 56, flags: 64, owner_shift: 48, entry_shift: 0 },
    code: CodeFields { first_line: 68, name: 128, file: 112, lines: 136, instructions: 192 },
    chain: Chain::Shims,
    lines: Lines::Locations,
    text: [40, 56],
};

const V3_13: Layout = Layout {
    runtime: RuntimeFields { key: 2164, holder: 0, main: 640, lock: 16 },
    thread: ThreadFields { id: 152, frame: 72, record: 0, record_frame: 0, record_previous: 0 },
    frame: FrameFields { code: 0, previous: 8, instruction: 56, flags: 64, owner_shift: 48, entry_shift: 0 },
    code: CodeFields { first_line: 68, name: 128, file: 112, lines: 136, instructions: 200 },
    chain: Chain::Shims,
    lines: Lines::Locations,
    text: [40, 56],
};
