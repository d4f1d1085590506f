//! Whether stacks may have frames of an interpreter: one word, which every capture looks at.

use core::sync::atomic::{AtomicU32, Ordering};

/// CPython's.
pub(super) const PYTHON: u32 = 1;
/// PHP's.
pub(super) const PHP: u32 = 2;
/// V8's.
pub(super) const V8: u32 = 4;

static POSSIBLE: AtomicU32 = AtomicU32::new(0);

/// Whether there is an interpreter whose frames are read, or it is not known yet.
#[inline(always)]
pub(crate) fn is_any() -> bool {
    POSSIBLE.load(Ordering::Acquire) != 0
}

/// The same of PHP.
#[inline(always)]
pub(crate) fn is_php() -> bool {
    POSSIBLE.load(Ordering::Acquire) & PHP != 0
}

/// The same of V8.
#[inline(always)]
pub(crate) fn is_v8() -> bool {
    POSSIBLE.load(Ordering::Acquire) & V8 != 0
}

/// The same of CPython.
#[inline(always)]
pub(crate) fn is_python() -> bool {
    POSSIBLE.load(Ordering::Acquire) & PYTHON != 0
}

/// Says of one of them whether it is possible.
pub(super) fn set(which: u32, is_possible: bool) {
    if is_possible {
        POSSIBLE.fetch_or(which, Ordering::AcqRel);
    } else {
        POSSIBLE.fetch_and(!which, Ordering::AcqRel);
    }
}
