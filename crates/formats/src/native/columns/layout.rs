//! The columns of an events block, and the codes in them.

/// Kinds of events: the low bits of a tag.
pub(super) mod kind {
    pub(in super::super) const ALLOC: u8 = 1;
    pub(in super::super) const FREE: u8 = 2;
    pub(in super::super) const REALLOC: u8 = 3;
    pub(in super::super) const FAILED: u8 = 4;
    pub(in super::super) const NOTE: u8 = 5;
    /// As a whole tag: a mapping.
    pub(in super::super) const MAPPING: u8 = NOTE | 5 << 3;
    pub(in super::super) const UNKNOWN: u8 = 6;
    pub(in super::super) const RATE: u8 = 7;
    /// In a tag: the block was allocated by another thread, or the unknown one was resized.
    pub(in super::super) const FLAG: u8 = 0x80;
    /// As a whole tag: the duration of the call before.
    pub(in super::super) const TOOK: u8 = FLAG;
}

/// The columns, in their order.
#[derive(Clone, Copy)]
pub(super) enum Column {
    Tags,
    AllocDt,
    OtherDt,
    Stacks,
    ForeignStacks,
    New,
    Sizes,
    OldSizes,
    Freed,
    ForeignBirths,
    Threads,
    Rest,
}

/// How many there are.
pub(super) const COLUMNS: usize = 12;

/// Up to here a number in `freed` counts the live blocks, beyond it all that were allocated.
pub(super) const NEAR_MAX: u64 = 4;

/// In `sizes`: the last one of the stack.
pub(super) const SAME: u64 = 0;
/// In `sizes`: the size follows as it is.
pub(super) const VERBATIM: u64 = 1;
/// In `sizes`: what is added to all others.
pub(super) const SIZE_BASE: u64 = 2;
