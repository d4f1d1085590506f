//! The gate before the recorder: a call that is not to be recorded leaves in the hook's first instructions
//! and goes straight to the heap, at the price of a hook that only counts.
//!
//! ```text
//!   gate    pointer to the mode word that holds for this process, see `heapscribe_wire::mode`
//!   seen    per thread: the mode word that it follows, if its calls may leave by themselves
//!   gap     per thread: bytes until the next sample; for "off" more than any program asks for
//!
//!   malloc, calloc    gate = seen and gap >= size + 1:  gap -= size + 1, to the heap    else: the recorder
//!   free              gate = seen and the filter knows no such block:    to the heap    else: the recorder
//!   realloc           both
//! ```
//! In full mode, while the mode is new to a thread, and over a heap that calls its own functions through
//! the hooks, `seen` is not the gate. The mode word is shared memory that any process may write that may
//! write the session; before there is a session, and when nobody asked for one, it is a word of our own.
//! The head that it lies in is mapped a second time and, unlike the session, kept over a fork: a child looks at
//! its parent's mode until it has a session of its own.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use heapscribe_wire::head::MODE_OFFSET;
use heapscribe_wire::mode::Mode;

use crate::platform::inherited_head;
use crate::program::{self, Heap};
use crate::state::words::Words;

/// The gap of a thread that takes no sample: more bytes than any program asks for.
pub(super) const NEVER: u64 = u64::MAX;

/// No mode: every call enters.
static UNKNOWN: AtomicU64 = AtomicU64::new(u64::MAX);
/// The mode of a process that is not recorded. The word of a thread that has seen nothing yet is the same.
static NOT_RECORDED: AtomicU64 = AtomicU64::new(Mode::Off.to_word());

/// The pointer to the mode word.
pub static GATE: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNKNOWN).cast_mut());

/// The heap's functions, for calls that leave early: set before any may.
#[repr(C)]
#[derive(Debug)]
pub struct Next {
    /// `malloc`.
    pub malloc: AtomicUsize,
    /// `calloc`.
    pub calloc: AtomicUsize,
    /// `realloc`.
    pub realloc: AtomicUsize,
    /// `free`.
    pub free: AtomicUsize,
}

/// Where those calls go.
pub static NEXT: Next = Next {
    malloc: AtomicUsize::new(0),
    calloc: AtomicUsize::new(0),
    realloc: AtomicUsize::new(0),
    free: AtomicUsize::new(0),
};

impl Next {
    fn set(&self, heap: &Heap) {
        self.malloc.store(heap.system.malloc as usize, Ordering::Relaxed);
        self.calloc.store(heap.system.calloc as usize, Ordering::Relaxed);
        self.realloc.store(heap.system.realloc as usize, Ordering::Relaxed);
        self.free.store(heap.system.free as usize, Ordering::Relaxed);
    }
}

/// Opens the gate of a process that has a session: from now on its mode is the head's.
pub(crate) fn open() {
    let word = match inherited_head::map() {
        Some(head) => head.wrapping_add(MODE_OFFSET).cast::<AtomicU64>(),
        None => (&raw const UNKNOWN).cast_mut(), // every call enters and looks at the session's head
    };
    if let Some(heap) = program::heap() {
        NEXT.set(heap);
    }
    GATE.store(word, Ordering::Release);
}

/// Lets all calls of a thread of a process that is not recorded leave early.
pub(crate) fn close(words: &Words) {
    let Some(heap) = program::heap().filter(|heap| !heap.may_nest) else { return };
    NEXT.set(heap);
    words.gap.set(NEVER);
    words.seen.set(Mode::Off.to_word());
    GATE.store((&raw const NOT_RECORDED).cast_mut(), Ordering::Release);
}

/// The mode of the process that forked this one, which has no session yet.
pub(crate) fn inherited() -> Option<u64> {
    // SAFETY: the gate always leads to a word that stays for the life of the process.
    let mode = unsafe { GATE.load(Ordering::Acquire).as_ref() }?.load(Ordering::Relaxed);
    (mode != UNKNOWN.load(Ordering::Relaxed)).then_some(mode)
}

/// In a forked child: its next call enters, to make it a session.
pub(crate) fn reopen(words: &Words) {
    words.seen.set(!Mode::Off.to_word());
}
