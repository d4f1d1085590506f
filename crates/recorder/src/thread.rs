//! A thread's state: its chunk, its clock, its room for frames. Made at its first event, found through
//! its thread-local words, and taken over by a new thread some time after it has ended - there is no
//! destructor, because threads allocate and free until the very end, after all destructors.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use heapscribe_wire::defs::Definition;
use heapscribe_wire::head::Drop;
use heapscribe_wire::ids::{RateId, ThreadId};
use heapscribe_wire::limits::THREADS_MAX;
use heapscribe_wire::operation::{RECORD_BYTES, RECORDS_MAX, ThreadRecord};

use crate::capture::StackRange;
use crate::counts::Counts;
use crate::gate::Sampling;
use crate::lock::Held;
use crate::log::Taken;
use crate::regions::RegionCache;
use crate::sections::Sections;
use crate::session::Session;
use crate::shared::SharedFile;
use crate::walks::Walks;
use crate::{memory, sys};

/// What only the thread itself touches, or whoever takes it over after its end.
pub(crate) struct Thread {
    /// The kernel's number of the thread.
    pub tid: AtomicU32,
    /// What others can see of it.
    pub record: &'static ThreadRecord,
    /// The number of the thread in events.
    pub id: Cell<ThreadId>,
    /// Its open chunk.
    pub chunk: Cell<Option<Taken>>,
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
    /// Events lost since the last one that was written, and why.
    pub lost: Cell<(u64, u8)>,
    /// The stack it was born with.
    pub stack: Cell<Option<StackRange>>,
    /// Regions of the live table that it found last.
    pub regions: RegionCache,
    /// The same, for blocks of pools.
    pub pool_regions: RegionCache,
    /// The sections that it is in.
    pub sections: Sections,
    /// What its record counted when it took it.
    pub before: Cell<Counts>,
    /// The next thread of the list of all.
    next: AtomicPtr<Thread>,
    /// What it samples by.
    pub sampling: Sampling,
    /// The sampling rate of the events last written into its chunk.
    pub chunk_rate: Cell<RateId>,
    /// Its walks.
    pub walks: UnsafeCell<Walks>,
    /// Captures of its stack, as far as they are counted for the cross-check.
    pub captures: Cell<u32>,
}

impl core::fmt::Debug for Thread {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Thread").field("id", &self.id.get()).finish_non_exhaustive()
    }
}

/// All threads of the process, a list that only grows.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Their records.
    file: SharedFile,
    first: AtomicPtr<Thread>,
    /// Where the search for ended threads goes on.
    cursor: AtomicPtr<Thread>,
}

/// How many threads are asked for signs of life when a new one comes.
const LOOKS: usize = 4;

/// The record of threads that have none of their own: held back like others, seen by nobody.
static NO_RECORD: ThreadRecord = ThreadRecord::new();

impl Threads {
    /// No thread yet.
    pub(crate) const fn new(file: SharedFile) -> Threads {
        let (first, cursor) = (AtomicPtr::new(core::ptr::null_mut()), AtomicPtr::new(core::ptr::null_mut()));
        Threads { file, first, cursor }
    }

    /// The file of their records.
    pub(crate) fn file(&self) -> &SharedFile {
        &self.file
    }

    /// What all threads counted together.
    pub(crate) fn counted(&self, session: &Session) -> Counts {
        self.records(session).map(Counts::of).fold(Counts::of(&NO_RECORD), Counts::plus)
    }

    /// Whether any thread that has a record is at the table.
    pub(crate) fn is_any_in_operation(&self, session: &Session) -> bool {
        self.records(session).any(ThreadRecord::is_in_operation)
    }

    fn records(&self, session: &Session) -> impl Iterator<Item = &'static ThreadRecord> {
        let number = session.head.records.load(Ordering::Acquire) as usize;
        let within = number.min(RECORDS_MAX).min(self.file.file_bytes() / RECORD_BYTES);
        // SAFETY: a record's page was provided when `records` went past it, and stays.
        (0..within).map(|n| unsafe { &*self.file.at(n * RECORD_BYTES).cast::<ThreadRecord>() })
    }

    /// A record for one more thread.
    fn add_record(&self, session: &Session, _held: &Held<'_>) -> &'static ThreadRecord {
        let number = session.head.records.load(Ordering::Relaxed) as usize;
        let offset = number * RECORD_BYTES;
        let fits = number < RECORDS_MAX && offset + RECORD_BYTES <= self.file.file_bytes();
        if !fits || self.file.provide(offset, RECORD_BYTES).is_err() {
            session.head.threads_without_record.fetch_add(1, Ordering::Relaxed);
            return &NO_RECORD;
        }
        session.head.records.store(number as u32 + 1, Ordering::Release);
        // SAFETY: the record's page was just provided and stays; zeroes are a valid record.
        unsafe { &*self.file.at(offset).cast::<ThreadRecord>() }
    }

    /// State for the calling thread: an ended thread's, else new. `None` when there is no memory.
    pub(crate) fn attach(&self, session: &Session) -> Option<&'static Thread> {
        let tid = sys::tid();
        if sys::pid() != session.pid {
            return None; // a child of vfork, in its parent's memory: its number is not this thread's
        }
        let thread = {
            let held = session.lock.hold()?;
            let thread = match self.find_ended(session.pid, tid) {
                Some(thread) => thread,
                None => self.add(session, &held)?,
            };
            // Claimed under the lock, or another new thread would find the same one ended.
            thread.tid.store(tid, Ordering::Relaxed);
            thread
        };
        if let Some(chunk) = thread.chunk.take() {
            crate::emit::seal(thread, &chunk, session);
        }
        thread.begin(tid, session);
        Some(thread)
    }

    fn iter_from<'a>(&'a self, start: *mut Thread) -> impl Iterator<Item = &'static Thread> + 'a {
        // SAFETY: threads are never freed; the list only grows at its front.
        core::iter::successors(unsafe { start.as_ref::<'static>() }, |t| unsafe {
            t.next.load(Ordering::Acquire).as_ref::<'static>()
        })
    }

    /// A thread that has ended: the kernel says so, or has given its number to the caller.
    fn find_ended(&self, pid: u32, own_tid: u32) -> Option<&'static Thread> {
        let first = self.first.load(Ordering::Acquire);
        if let Some(same) = self.iter_from(first).find(|t| t.tid.load(Ordering::Relaxed) == own_tid) {
            return Some(same);
        }
        let cursor = self.cursor.load(Ordering::Relaxed);
        let start = if cursor.is_null() { first } else { cursor };
        self.iter_from(start).take(LOOKS).find(|thread| {
            self.cursor.store(thread.next.load(Ordering::Relaxed), Ordering::Relaxed);
            !sys::thread_exists(pid, thread.tid.load(Ordering::Relaxed))
        })
    }

    fn add(&self, session: &Session, held: &Held<'_>) -> Option<&'static Thread> {
        // SAFETY: the lock is held.
        let (place, walks) = unsafe { (memory::alloc(size_of::<Thread>())?.cast::<Thread>(), Walks::new()?) };
        let record = self.add_record(session, held);
        // SAFETY: zeroed memory of the right size and alignment is a valid thread, once its record, options,
        // regions and walks have been written.
        let thread = unsafe {
            (&raw mut (*place.as_ptr()).record).write(record);
            (&raw mut (*place.as_ptr()).chunk).write(Cell::new(None));
            (&raw mut (*place.as_ptr()).stack).write(Cell::new(None));
            (&raw mut (*place.as_ptr()).regions).write(RegionCache::default());
            (&raw mut (*place.as_ptr()).pool_regions).write(RegionCache::default());
            (&raw mut (*place.as_ptr()).sampling).write(Sampling::new());
            (&raw mut (*place.as_ptr()).walks).write(UnsafeCell::new(walks));
            place.as_ref()
        };
        thread.next.store(self.first.load(Ordering::Relaxed), Ordering::Relaxed);
        self.first.store(place.as_ptr(), Ordering::Release);
        Some(thread)
    }
}

impl Thread {
    fn begin(&self, tid: u32, session: &Session) {
        let number = session.head.threads.fetch_add(1, Ordering::Relaxed) + 1;
        let id = ThreadId(number.min(THREADS_MAX));
        if number >= THREADS_MAX {
            session.head.drop_one(Drop::ThreadTable);
        }
        self.id.set(id);
        self.record.end(); // a thread may have ended in an operation
        self.record.thread.store(id.0, Ordering::Relaxed);
        self.record.tid.store(tid, Ordering::Relaxed);
        self.cursor.set(0);
        self.limit.set(0);
        self.sequence.set(0);
        self.last_ticks.set(0);
        self.last_alloc_ticks.set(0);
        self.lost.set((0, 0));
        self.stack.set(None);
        self.sampling.forget();
        // SAFETY: the thread's own; no hook is in it yet.
        unsafe { (*self.walks.get()).forget() };
        self.regions.clear();
        self.pool_regions.clear();
        self.sections.forget();
        self.before.set(Counts::of(self.record));
        self.define(id, tid, session);
    }

    fn define(&self, id: ThreadId, tid: u32, session: &Session) {
        let name = sys::thread_name();
        let len = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        let born_ticks = session.ticks();
        let definition = Definition::Thread { id, tid, born_ticks, name: &name[..len] };
        let defined =
            session.lock.hold().map(|held| session.definer.append(&definition, session.head, &held));
        if !matches!(defined, Some(Ok(_))) {
            session.head.drop_one(Drop::ThreadTable);
        }
    }

    /// Regions of the live table that it found last.
    #[inline(always)]
    pub(crate) fn regions<const POOL: bool>(&self) -> &RegionCache {
        if POOL { &self.pool_regions } else { &self.regions }
    }

    /// What it counted itself. Threads without a record share one, and know nothing of themselves.
    pub(crate) fn counted(&self) -> Counts {
        if ptr::eq(self.record, &raw const NO_RECORD) {
            return Counts::default();
        }
        Counts::of(self.record).less(self.before.get())
    }

    /// The time of an event that happens now: later than any before it on this thread.
    #[inline(always)]
    pub(crate) fn now(&self, session: &Session) -> u64 {
        let now = session.ticks().max(self.last_ticks.get() + 1);
        self.last_ticks.set(now);
        now
    }
}
