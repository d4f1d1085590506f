//! The gate before the recorder: what is not to be recorded turns round in the hook's first instructions
//! and goes straight to the heap, at the price of a hook that only counts.
//!
//! ```text
//!   gate    pointer to the mode word that holds for this process, see `heapscribe_wire::mode`
//!   seen    per thread: the mode word that it follows, if it may turn round by itself
//!   gap     per thread: bytes until the next sample; for "off" more than any program asks for
//!
//!   malloc, calloc    gate = seen and gap >= size + 1:  gap -= size + 1, to the heap    else: the recorder
//!   free              gate = seen and the filter knows no such block:    to the heap    else: the recorder
//!   realloc           both
//! ```
//! In full mode, while the mode is new to a thread, and over a heap that calls its own functions through
//! the hooks, `seen` is not the gate. The mode word is shared memory that any process may write that may
//! write the session; before there is a session, and when nobody asked for one, it is a word of our own.
//! The page that it lies in is mapped a second time, to read, and unlike the session kept over a fork: a
//! child looks at its parent's mode until it has a session of its own.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use heapscribe_wire::defs::Definition;
use heapscribe_wire::head::{Drop, MODE_OFFSET, SharedHead};
use heapscribe_wire::ids::RateId;
use heapscribe_wire::limits::RATES_MAX;
use heapscribe_wire::mode::Mode;
use heapscribe_wire::sampler::Sampler;

use crate::program::Heap;
use crate::session::Session;
use crate::thread::Thread;
use crate::tls::Words;
use crate::{filter, program, session_path, sys};

/// No mode: everybody comes in.
static UNKNOWN: AtomicU64 = AtomicU64::new(u64::MAX);
/// The mode of a process that is not recorded. The word of a thread that has seen nothing yet is the same.
static NOT_RECORDED: AtomicU64 = AtomicU64::new(Mode::Off.to_word());

/// The pointer to the mode word.
pub static GATE: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNKNOWN).cast_mut());

/// The heap's functions, for those that turn round: set before anybody may.
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

/// Where they go.
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

/// More bytes than any program asks for.
const NEVER: u64 = u64::MAX;

/// The sampling rates of this process, and whether it was ever in full mode.
#[derive(Debug)]
pub(crate) struct Rates {
    mean_bytes: [AtomicU64; RATES_MAX],
    was_full: AtomicBool,
    /// Makes the samples the same again; 0: not.
    pub(crate) seed: u64,
}

impl Rates {
    /// None yet.
    pub(crate) const fn new(seed: u64) -> Rates {
        Rates { mean_bytes: [const { AtomicU64::new(0) }; RATES_MAX], was_full: AtomicBool::new(false), seed }
    }

    fn find(&self, mean_bytes: u64) -> Option<RateId> {
        let is_it = |rate: &AtomicU64| rate.load(Ordering::Acquire) == mean_bytes;
        self.mean_bytes.iter().position(is_it).map(|index| RateId(index as u8 + 1))
    }

    /// The rate of this mean, named when it is new. A process that has too many stays with the last.
    #[cold]
    fn find_or_name(&self, mean_bytes: u64, session: &Session) -> (RateId, u64) {
        if let Some(rate) = self.find(mean_bytes) {
            return (rate, mean_bytes);
        }
        let named = session.lock.hold().and_then(|held| {
            if let Some(rate) = self.find(mean_bytes) {
                return Some(rate);
            }
            let free = self.mean_bytes.iter().position(|rate| rate.load(Ordering::Relaxed) == 0)?;
            let id = RateId(free as u8 + 1);
            session.definer.append(&Definition::Rate { id, mean_bytes }, session.head, &held).ok()?;
            self.mean_bytes.get(free)?.store(mean_bytes, Ordering::Release);
            Some(id)
        });
        if let Some(id) = named {
            return (id, mean_bytes);
        }
        session.head.drop_one(Drop::RateTable);
        let last = self.mean_bytes.iter().rposition(|rate| rate.load(Ordering::Acquire) != 0);
        let known = last.map(|i| (RateId(i as u8 + 1), self.mean_bytes[i].load(Ordering::Acquire)));
        known.unwrap_or((RateId::FULL, 0))
    }
}

/// What a thread samples by.
pub(crate) struct Sampling {
    /// The mode word that it follows.
    followed: Cell<u64>,
    rate: Cell<RateId>,
    mean_bytes: Cell<u64>,
    sampler: Cell<Option<Sampler>>,
    /// The gap as it was just after the last sample.
    first_gap: Cell<u64>,
}

impl core::fmt::Debug for Sampling {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sampling").field("rate", &self.rate.get()).finish_non_exhaustive()
    }
}

impl Sampling {
    /// Of a thread that has seen nothing yet.
    pub(crate) const fn new() -> Sampling {
        Sampling {
            followed: Cell::new(u64::MAX),
            rate: Cell::new(RateId::FULL),
            mean_bytes: Cell::new(0),
            sampler: Cell::new(None),
            first_gap: Cell::new(0),
        }
    }

    /// Forgets all: for a thread that begins.
    pub(crate) fn forget(&self) {
        self.followed.set(u64::MAX);
        self.sampler.set(None);
    }

    /// Whether the thread was given blocks since its last sample.
    pub(crate) fn has_given_others(&self, words: &Words) -> bool {
        words.gap.get() != self.first_gap.get()
    }

    fn next_gap(&self, thread: &Thread, session: &Session) -> u64 {
        let new = || {
            let seed = session.rates.seed;
            let stream = u64::from(thread.id.get().0);
            let start = if seed == 0 { session.ticks() ^ u64::from(session.pid) << 32 } else { seed };
            Sampler::new(start, stream)
        };
        let mut sampler = self.sampler.take().unwrap_or_else(new);
        let gap = sampler.next_gap(self.mean_bytes.get());
        self.sampler.set(Some(sampler));
        gap
    }
}

/// Whether everything is recorded.
#[inline(always)]
pub(crate) fn is_full(head: &SharedHead) -> bool {
    head.mode.load(Ordering::Relaxed) == Mode::Full.to_word()
}

/// Whether a block of this size is to be recorded, and at which rate. Counts its bytes.
#[inline(always)]
pub(crate) fn admits(size: usize, thread: &Thread, words: &Words, session: &Session) -> Option<RateId> {
    let mode = session.head.mode.load(Ordering::Relaxed);
    if mode == Mode::Full.to_word() && thread.sampling.followed.get() == mode {
        return Some(RateId::FULL);
    }
    admits_sample(size, mode, thread, words, session)
}

#[inline(never)]
fn admits_sample(
    size: usize,
    mode: u64,
    thread: &Thread,
    words: &Words,
    session: &Session,
) -> Option<RateId> {
    let sampling = &thread.sampling;
    if sampling.followed.get() != mode {
        follow(mode, thread, words, session);
    }
    if mode == Mode::Full.to_word() {
        return Some(RateId::FULL);
    }
    let (gap, count) = (words.gap.get(), (size as u64).saturating_add(1));
    if gap >= count {
        words.gap.set(gap - count);
        return None;
    }
    if sampling.mean_bytes.get() == 0 {
        words.gap.set(NEVER);
        return None;
    }
    let gap = sampling.next_gap(thread, session);
    words.gap.set(gap);
    sampling.first_gap.set(gap);
    Some(sampling.rate.get())
}

/// Takes up a mode that is new to the thread.
#[cold]
fn follow(mode: u64, thread: &Thread, words: &Words, session: &Session) {
    let sampling = &thread.sampling;
    let may_turn_round = program::heap().is_some_and(|heap| !heap.may_nest);
    match Mode::from_word(mode) {
        Mode::Full => {
            session.rates.was_full.store(true, Ordering::Release);
            words.seen.set(!mode);
        }
        sampled_or_off => {
            if session.rates.was_full.load(Ordering::Acquire) {
                filter::let_all_pass(); // blocks of then are not in it
            }
            let (rate, mean_bytes) = match sampled_or_off {
                Mode::Sampled { mean_bytes } => session.rates.find_or_name(mean_bytes, session),
                _ => (RateId::FULL, 0),
            };
            sampling.rate.set(rate);
            sampling.mean_bytes.set(mean_bytes);
            words.gap.set(if mean_bytes == 0 { NEVER } else { sampling.next_gap(thread, session) });
            words.seen.set(if may_turn_round { mode } else { !mode });
        }
    }
    sampling.followed.set(mode);
}

/// Opens the gate of a process that has a session: from now on its mode is the head's.
pub(crate) fn open() {
    const PAGE_BYTES: usize = 4096;
    // Opened again: a mapping made from the session's would not be kept over a fork, as that is not, and a
    // child whose gate led nowhere died at its first call. Valgrind knows no such mappings at all.
    let again = session_path::open(c"head").and_then(|file| file.map_shared_closed(PAGE_BYTES));
    // SAFETY: the mapping was just made and is ours; it stays for ever.
    let again = again.and_then(|base| unsafe { sys::protect_read_write(base, PAGE_BYTES) }.map(|()| base));
    let word = match again {
        Ok(base) => base.wrapping_add(MODE_OFFSET).cast::<AtomicU64>(),
        Err(_) => (&raw const UNKNOWN).cast_mut(), // everybody comes in and looks at the session's head
    };
    if let Some(heap) = program::heap() {
        NEXT.set(heap);
    }
    GATE.store(word, Ordering::Release);
}

/// Lets all calls of a thread of a process that is not recorded turn round.
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

/// In a forked child: its next call comes in, to make it a session.
pub(crate) fn come_in(words: &Words) {
    words.seen.set(!Mode::Off.to_word());
}
