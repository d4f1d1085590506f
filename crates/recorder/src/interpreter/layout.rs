//! Where CPython keeps what is read of it, by its minor version: facts of its headers, checked on each interpreter that
//! they are used for. From 3.13 on the interpreter says it itself ([`offsets`](super::offsets)).

/// How frames hang together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chain {
    /// 3.8 and 3.9: an object for each frame, each run by a call of its own, which nothing but the order tells.
    Unrecorded,
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
    /// 3.8 and 3.9: pairs of how many bytes until it is how many lines further.
    Steps,
    /// 3.10: pairs of how many bytes and how many lines further.
    Ranges,
    /// 3.11 and later: entries of a byte and varints.
    Locations,
}

/// Offsets in the state of a thread, and in the record of a call of the interpreter's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadFields {
    /// The innermost frame; of 3.11 and 3.12 in `record` instead.
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
    /// The instruction: an address, of frame objects a number in the lower half of the word.
    pub instruction: usize,
    /// The bits of the word that it is in.
    pub instruction_bits: usize,
    /// The byte that marks the outermost frame of a call, or tells the owner; of frame objects any that stays as it is.
    pub mark: usize,
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
    /// The number of the key that a thread's state is kept under; 0: not known.
    pub key: usize,
    /// Up to 3.11: the thread that has the lock.
    pub holder: usize,
    /// The main interpreter; up to 3.11 the newest one is in the word before it.
    pub main: usize,
    /// In an interpreter: its lock; 0 up to 3.11.
    pub lock: usize,
    /// In the state of a thread: the thread, as `pthread_self` gives it.
    pub thread: usize,
}

/// What it takes to walk from frame to frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub thread: ThreadFields,
    pub frame: FrameFields,
    pub chain: Chain,
}

/// A shape, known when the walk is compiled or not: with offsets in registers it takes twice the instructions.
pub(crate) trait Shaped: Copy {
    fn shape(self) -> Shape;
}

impl Shaped for &Shape {
    #[inline(always)]
    fn shape(self) -> Shape {
        *self
    }
}

/// The shape of this number in [`SHAPES`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<const NUMBER: usize>;

impl<const NUMBER: usize> Shaped for Known<NUMBER> {
    #[inline(always)]
    fn shape(self) -> Shape {
        const { SHAPES[NUMBER] }
    }
}

/// The offsets of a minor version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub runtime: RuntimeFields,
    pub shape: Shape,
    pub code: CodeFields,
    pub lines: Lines,
    /// Bytes before the characters of an ASCII string, and of another.
    pub text: [usize; 2],
}

/// In the lock: the thread that has it or had it last, and whether it is taken.
pub(crate) const LOCK_HOLDER: usize = 8;
pub(crate) const LOCK_IS_TAKEN: usize = 16;
/// In the lock: the condition variable that is signalled when a thread lets go of it.
pub(crate) const LOCK_CONDITION: usize = 32;
/// Up to 3.11: where the lock is, before the word that names the thread which has it.
pub(crate) const LOCK_BEFORE_HOLDER: usize = 216;
/// In the state of a thread: its interpreter.
pub(crate) const THREAD_INTERPRETER: usize = 16;
/// In the type of an object: what frees one.
pub(crate) const TYPE_FREE: usize = 48;
/// In an object: its type, and of those with a length that.
pub(crate) const OBJECT_TYPE: usize = 8;
pub(crate) const OBJECT_LENGTH: usize = 16;
/// In an object of bytes: the bytes.
pub(crate) const BYTES: usize = 32;
/// The owners of a frame without code, from 3.12 on: this and greater ones.
pub(crate) const OWNED_BY_C: u8 = 3;
/// Of a reference to a code object, the bits that say what kind of reference it is: from 3.14 on.
pub(crate) const REFERENCE_BITS: usize = 7;

impl Layout {
    /// Of no interpreter.
    pub(crate) const NONE: Layout = V3_11;

    /// The offsets of 3.MINOR, of those that do not say them themselves.
    pub(crate) fn of(minor: u8) -> Option<Layout> {
        match minor {
            8 => Some(V3_8),
            9 => Some(V3_9),
            10 => Some(V3_10),
            11 => Some(V3_11),
            12 => Some(V3_12),
            _ => None,
        }
    }
}

/// A number in the lower half of a word, and a whole word.
const LOWER: usize = 0xffff_ffff;
pub(super) const WHOLE: usize = usize::MAX;

/// The shapes of 3.11, 3.12, 3.13 and 3.14.
pub(crate) const SHAPES: [Shape; 4] = [
    Shape {
        thread: ThreadFields { frame: 0, record: 56, record_frame: 8, record_previous: 16 },
        frame: FrameFields { code: 32, previous: 48, instruction: 56, instruction_bits: WHOLE, mark: 68 },
        chain: Chain::Marked,
    },
    Shape {
        thread: ThreadFields { frame: 0, record: 56, record_frame: 0, record_previous: 8 },
        frame: FrameFields { code: 0, previous: 8, instruction: 56, instruction_bits: WHOLE, mark: 70 },
        chain: Chain::Shims,
    },
    Shape {
        thread: ThreadFields { frame: 72, record: 0, record_frame: 0, record_previous: 0 },
        frame: FrameFields { code: 0, previous: 8, instruction: 56, instruction_bits: WHOLE, mark: 70 },
        chain: Chain::Shims,
    },
    Shape {
        thread: ThreadFields { frame: 72, record: 0, record_frame: 0, record_previous: 0 },
        frame: FrameFields { code: 0, previous: 8, instruction: 56, instruction_bits: WHOLE, mark: 74 },
        chain: Chain::Shims,
    },
];

const V3_8: Layout = Layout { runtime: RuntimeFields { key: 1396, holder: 1368, ..V3_10.runtime }, ..V3_9 };

const V3_9: Layout = Layout {
    shape: Shape {
        thread: ThreadFields { frame: 24, record: 0, record_frame: 0, record_previous: 0 },
        frame: FrameFields { instruction: 104, ..V3_10.shape.frame },
        chain: Chain::Unrecorded,
    },
    lines: Lines::Steps,
    ..V3_10
};

const V3_10: Layout = Layout {
    runtime: RuntimeFields { key: 588, holder: 568, main: 40, lock: 0, thread: 176 },
    shape: Shape {
        thread: ThreadFields { frame: 24, record: 48, record_frame: 0, record_previous: 8 },
        frame: FrameFields { code: 32, previous: 24, instruction: 96, instruction_bits: LOWER, mark: 32 },
        chain: Chain::Objects,
    },
    code: CodeFields { first_line: 40, name: 112, file: 104, lines: 120, instructions: 0 },
    lines: Lines::Ranges,
    text: [48, 72],
};

const V3_11: Layout = Layout {
    runtime: RuntimeFields { key: 596, holder: 576, main: 48, lock: 0, thread: 152 },
    shape: SHAPES[0],
    code: CodeFields { first_line: 72, name: 128, file: 112, lines: 136, instructions: 184 },
    lines: Lines::Locations,
    text: [48, 72],
};

const V3_12: Layout = Layout {
    runtime: RuntimeFields { key: 1548, holder: 0, main: 48, lock: 384, thread: 136 },
    shape: SHAPES[1],
    code: CodeFields { first_line: 68, name: 128, file: 112, lines: 136, instructions: 192 },
    lines: Lines::Locations,
    text: [40, 56],
};
