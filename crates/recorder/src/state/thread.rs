//! A thread's state: its chunk, its clock, its room for frames. Found through its thread-local words, and
//! taken over by a new thread some time after it has ended - there is no destructor, because threads allocate
//! and free until the very end, after all destructors.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32};

use heapscribe_wire::head::SharedHead;
use heapscribe_wire::ids::{RateId, ThreadId};
use heapscribe_wire::operation::ThreadRecord;

use super::backoff::Backoff;
use super::cached_stacks::CachedStacks;
use super::counts::Counts;
use super::named_modules::NamedModules;
use super::sampling::Sampling;
use super::sections::Sections;
use crate::interpreter::chain::InterpretedFrames;
use crate::interpreter::php::chain::PhpFrames;
use crate::interpreter::v8::frames::JsFrames;
use crate::live::LiveCache;
use crate::log::OpenChunk;
use crate::platform::session_clock::SessionClock;
use crate::unwind::StackRange;

/// Events of a thread that are not in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lost {
    /// How many.
    pub count: u64,
    /// Why the last of them is not.
    pub reason: u8,
}

/// What only the thread itself touches, or whoever takes it over after its end.
pub(crate) struct Thread {
    /// The kernel's number of the thread.
    pub tid: AtomicU32,
    /// What others can see of it.
    pub record: &'static ThreadRecord,
    /// The number of the thread in events.
    pub id: Cell<ThreadId>,
    /// Its open chunk.
    pub chunk: Cell<Option<OpenChunk>>,
    /// Bytes of events in the chunk.
    pub cursor: Cell<usize>,
    /// Bytes of the chunk that can be written before room must be made.
    pub limit: Cell<usize>,
    /// Number of its next chunk.
    pub sequence: Cell<u64>,
    /// Ticks of its last event: no two events of a thread have the same.
    pub last_ticks: Cell<u64>,
    /// Ticks of its last allocation.
    pub last_alloc_ticks: Cell<u64>,
    /// Events lost since the last one that was written.
    pub lost: Cell<Lost>,
    /// When it looks for a chunk again, after it has found none.
    pub backoff: Backoff,
    /// The stack it was born with.
    pub stack: Cell<Option<StackRange>>,
    /// What it keeps of the live table.
    pub live: LiveCache,
    /// The same, for blocks of pools.
    pub live_of_pools: LiveCache,
    /// The sections that it is in.
    pub sections: Sections,
    /// What its record counted when it took it.
    pub before: Cell<Counts>,
    /// The next thread of the list of all.
    pub(super) next: AtomicPtr<Thread>,
    /// What it samples by.
    pub sampling: Sampling,
    /// The sampling rate of the events last written into its chunk.
    pub chunk_rate: Cell<RateId>,
    /// Modules that it found named.
    pub named_modules: NamedModules,
    /// Its cached stacks.
    pub stacks: UnsafeCell<CachedStacks>,
    /// The frames of an interpreter that it runs.
    pub interpreted: UnsafeCell<InterpretedFrames>,
    /// The same of PHP.
    pub php: UnsafeCell<PhpFrames>,
    /// The same of V8.
    pub v8: UnsafeCell<JsFrames>,
    /// Captures of its stack, as far as they are counted for the cross-check.
    pub captures: Cell<u32>,
}

impl core::fmt::Debug for Thread {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Thread").field("id", &self.id.get()).finish_non_exhaustive()
    }
}

impl Thread {
    /// Makes zeroed memory a thread that has not begun.
    ///
    /// # Safety
    /// * `place` is zeroed memory for a thread, aligned for it, and stays for the life of the process.
    /// * Nobody else uses it yet.
    pub(super) unsafe fn write(
        place: NonNull<Thread>,
        record: &'static ThreadRecord,
        stacks: CachedStacks,
    ) -> &'static Thread {
        let thread = place.as_ptr();
        // SAFETY: the memory is for a thread and nobody else uses it; all fields but these are integers and raw
        // pointers, for which zero is valid: what a thread keeps of the live table is cleared when it begins.
        unsafe {
            (&raw mut (*thread).record).write(record);
            (&raw mut (*thread).chunk).write(Cell::new(None));
            (&raw mut (*thread).stack).write(Cell::new(None));
            (&raw mut (*thread).sampling).write(Sampling::new());
            (&raw mut (*thread).stacks).write(UnsafeCell::new(stacks));
            (&raw mut (*thread).interpreted).write(UnsafeCell::new(InterpretedFrames::default()));
            (&raw mut (*thread).php).write(UnsafeCell::new(PhpFrames::default()));
            (&raw mut (*thread).v8).write(UnsafeCell::new(JsFrames::default()));
            place.as_ref()
        }
    }

    /// What it keeps of the live table.
    #[inline(always)]
    pub(crate) fn live<const POOL: bool>(&self) -> &LiveCache {
        if POOL { &self.live_of_pools } else { &self.live }
    }

    /// The ticks of an event that happens now: later than any before it on this thread.
    #[inline(always)]
    pub(crate) fn event_ticks(&self, clock: &SessionClock, head: &SharedHead) -> u64 {
        let now = clock.event_ticks(self.last_ticks.get(), head);
        self.last_ticks.set(now);
        now
    }
}
