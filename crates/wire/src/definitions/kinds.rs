//! What there is to define: see [the bytes](super).

use crate::frames_read::FramesRead;
use crate::ids::{CodeAddress, FunctionId, NameId, RateId, StackId, ThreadId};
use crate::language::Language;
use crate::object_allocator::ObjectAllocator;

/// One definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definition<'a> {
    /// A frame and its caller's node.
    Node(Node),
    /// A node that stands for frames that could not be followed, or were left out.
    Cut {
        /// Why: the number of a [`crate::head::LossReason`].
        reason: u8,
        /// The frame that called them; unknown when they are the outermost.
        parent: StackId,
    },
    /// A thread.
    Thread {
        /// Its number in events.
        id: ThreadId,
        /// The kernel's number.
        tid: u32,
        /// When it was first seen.
        born_ticks: u64,
        /// Its name at that time.
        name: &'a [u8],
    },
    /// A file mapped for execution.
    Module(Module<'a>),
    /// Modules named before this may be gone.
    Unmapped,
    /// A rate at which blocks are sampled.
    Rate {
        /// Its number in events and slots.
        id: RateId,
        /// Bytes between two samples, on average.
        mean_bytes: u64,
    },
    /// A name of marks or sections.
    Name {
        /// Its number in events.
        id: NameId,
        /// What the program said.
        name: &'a [u8],
    },
    /// A function that an interpreter runs.
    Function(Function<'a>),
    /// A frame of such a function: a node, numbered with the others.
    Interpreted(InterpretedNode),
    /// Machine code that was made of such a function while the program ran.
    Code(Code),
    /// An interpreter that the process has.
    Interpreter(Interpreter),
}

/// A frame and its caller's node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// The caller; unknown for the outermost frame.
    pub parent: StackId,
    /// Return address; the address of the interrupted instruction when `exact`.
    pub pc: CodeAddress,
    /// Its caller was found by a frame pointer, for want of unwinding information: the caller and all
    /// frames beyond it may be wrong.
    pub guesses: bool,
    /// A signal interrupted this frame: its pc is to be looked up as it is, not as a return address.
    pub exact: bool,
}

/// A function that an interpreter runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function<'a> {
    /// Its number in nodes.
    pub id: FunctionId,
    /// What it is written in.
    pub language: Language,
    /// The line that it begins at; 0 when that is not known.
    pub first_line: u32,
    /// Its name, with those of what it is in.
    pub name: &'a [u8],
    /// The source file, as the interpreter names it.
    pub file: &'a [u8],
}

/// A frame of a function that an interpreter runs. Its caller is another one, or the frame of the interpreter's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterpretedNode {
    /// The caller; unknown for the outermost frame.
    pub parent: StackId,
    /// The function.
    pub function: FunctionId,
    /// The line that it is at; 0 when that is not known.
    pub line: u32,
}

/// Machine code that was made of a function while the program ran. It names nodes of its process whose calls lie in it
/// and in no module, whether they are defined before it or after it: from `first_node` on, up to the first node of other
/// code with the same start. A compiler puts new code where it has discarded old code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// The function.
    pub function: FunctionId,
    /// The line in it; 0 when that is not known.
    pub line: u32,
    /// The first node that it names; unknown for all of them.
    pub first_node: StackId,
}

/// An interpreter that a process has. The last one of a language counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interpreter {
    /// What it runs.
    pub language: Language,
    /// Its version, 256 times the major one and the minor one; 0 when that is not known.
    pub version: u32,
    /// Whether its frames are read.
    pub frames: FramesRead,
    /// Where it has its small objects.
    pub objects: ObjectAllocator,
}

/// A file mapped for execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Module<'a> {
    /// First mapped address.
    pub start: u64,
    /// First address after the last mapped one.
    pub end: u64,
    /// What to take from an address to have the one in the file.
    pub bias: u64,
    /// Its path, absolute where that could be found out.
    pub name: &'a [u8],
    /// GNU build id; empty when it has none.
    pub build_id: &'a [u8],
}

impl Definition<'_> {
    /// Whether it is numbered as a node of a stack.
    pub const fn is_node(&self) -> bool {
        matches!(self, Definition::Node(_) | Definition::Interpreted(_) | Definition::Cut { .. })
    }
}
