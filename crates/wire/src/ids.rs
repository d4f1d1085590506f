//! The kinds of numbers: an integer that names a thing has the type of that thing, so that a stack can
//! not be passed for a thread nor ticks for nanoseconds.

/// An interned call stack: the number of its leaf node in `defs`. 0 is the unknown stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StackId(pub u32);

impl StackId {
    /// No stack is known: none was asked for, or a table was full (and that was counted).
    pub const UNKNOWN: StackId = StackId(0);
}

/// A thread of one process, numbered from 1 in the order of their first events. 0 is "not known".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadId(pub u32);

/// A name that the program gives - to a mark, to a section -, numbered from 1. 0 is "not known".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NameId(pub u32);

/// A function that an interpreter runs, numbered from 1. 0 is "not known".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FunctionId(pub u32);

/// A sampling rate of one process: 0 is "every block", 1 to 3 are the rates that `defs` names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RateId(pub u8);

impl RateId {
    /// Every block is recorded: weight 1.
    pub const FULL: RateId = RateId(0);
}

/// An address of code in the target, as its program counter held it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CodeAddress(pub u64);

/// An address of heap memory in the target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HeapAddress(pub u64);

/// Time on the session's own clock: the raw counter shifted right (see `crate::head::Clock`).
///
/// Within one thread the ticks of events are strictly increasing, so that (thread, birth ticks) names a
/// block for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ticks(pub u64);
