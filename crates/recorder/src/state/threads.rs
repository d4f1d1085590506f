//! All threads of the process, and what others can see of them.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use heapscribe_nolibc::sys;
use heapscribe_wire::head::{LossReason, SharedHead};
use heapscribe_wire::operation::{RECORD_BYTES, RECORDS_MAX, ThreadRecord};

use super::cached_stacks::CachedStacks;
use super::counts::Counts;
use super::thread::Thread;
use crate::platform::lock::Held;
use crate::platform::mapped_file::SharedFile;
use crate::platform::memory;

/// A list that only grows.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Their records.
    file: SharedFile,
    first: AtomicPtr<Thread>,
    /// Where the search for ended threads goes on.
    cursor: AtomicPtr<Thread>,
}

/// How many threads are checked for their end when a new one begins.
const LOOKS: usize = 4;

/// The record of threads that have none of their own: held back like others, seen by nobody.
static NO_RECORD: ThreadRecord = ThreadRecord::new();

/// Whether it is that of threads that have none of their own.
#[inline(always)]
fn is_shared(record: &ThreadRecord) -> bool {
    ptr::eq(record, &raw const NO_RECORD)
}

/// Counts a cut stack of the thread that has this record: there, where no other thread writes, so that it takes no
/// locked instruction; in the head when it has none of its own.
#[inline(always)]
pub(crate) fn count_cut_stack(record: &ThreadRecord, reason: LossReason, head: &SharedHead) {
    if is_shared(record) || !record.count_cut_stack(reason) {
        head.count_loss(reason);
    }
}

impl Threads {
    /// No thread yet.
    pub(crate) const fn new(file: SharedFile) -> Threads {
        let (first, cursor) = (AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));
        Threads { file, first, cursor }
    }

    /// The file of their records.
    pub(crate) fn file(&self) -> &SharedFile {
        &self.file
    }

    /// What all threads counted together.
    pub(crate) fn counted(&self, head: &SharedHead) -> Counts {
        self.records(head).map(Counts::of).fold(Counts::of(&NO_RECORD), Counts::plus)
    }

    /// What a thread counted itself. Threads without a record share one, and know nothing of themselves.
    pub(crate) fn counted_by(thread: &Thread) -> Counts {
        if is_shared(thread.record) {
            return Counts::default();
        }
        Counts::of(thread.record).less(thread.before.get())
    }

    /// Whether any thread that has a record is at the table.
    pub(crate) fn is_any_in_operation(&self, head: &SharedHead) -> bool {
        self.records(head).any(ThreadRecord::is_in_operation)
    }

    fn records(&self, head: &SharedHead) -> impl Iterator<Item = &'static ThreadRecord> {
        let number = head.records.load(Ordering::Acquire) as usize;
        let within = number.min(RECORDS_MAX).min(self.file.file_bytes() / RECORD_BYTES);
        // SAFETY: a record's page was provided when `records` went past it, and stays.
        (0..within).map(|n| unsafe { &*self.file.at(n * RECORD_BYTES).cast::<ThreadRecord>() })
    }

    /// A record for one more thread.
    fn add_record(&self, head: &SharedHead, _held: &Held<'_>) -> &'static ThreadRecord {
        let number = head.records.load(Ordering::Relaxed) as usize;
        let offset = number * RECORD_BYTES;
        let fits = number < RECORDS_MAX && offset + RECORD_BYTES <= self.file.file_bytes();
        if !fits || self.file.provide(offset, RECORD_BYTES).is_err() {
            head.threads_without_record.fetch_add(1, Ordering::Relaxed);
            return &NO_RECORD;
        }
        head.records.store(number as u32 + 1, Ordering::Release);
        // SAFETY: the record's page was just provided and stays; zeroes are a valid record.
        unsafe { &*self.file.at(offset).cast::<ThreadRecord>() }
    }

    /// State for thread `tid` of process `pid`: an ended thread's, else new. `None` when there is no memory.
    pub(crate) fn claim(
        &self,
        pid: u32,
        tid: u32,
        head: &SharedHead,
        held: &Held<'_>,
    ) -> Option<&'static Thread> {
        let thread = match self.find_ended(pid, tid) {
            Some(thread) => thread,
            None => self.add(head, held)?,
        };
        // Claimed under the lock, or another new thread would find the same one ended.
        thread.tid.store(tid, Ordering::Relaxed);
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

    fn add(&self, head: &SharedHead, held: &Held<'_>) -> Option<&'static Thread> {
        let place = memory::alloc(size_of::<Thread>(), held)?.cast::<Thread>();
        let stacks = CachedStacks::new(held)?;
        let record = self.add_record(head, held);
        // SAFETY: the memory is new and zeroed, of the right size, aligned to 64, and stays.
        let thread = unsafe { Thread::write(place, record, stacks) };
        thread.next.store(self.first.load(Ordering::Relaxed), Ordering::Relaxed);
        self.first.store(place.as_ptr(), Ordering::Release);
        Some(thread)
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::head::DROP_COUNTERS;
    use heapscribe_wire::operation::Record;

    use super::*;
    use crate::platform::lock::Lock;
    use crate::tests::{file, head};

    const FILE_BYTES: usize = 4096;

    /// What a reader adds up.
    fn cut_stacks(threads: &Threads, head: &SharedHead) -> [u64; 4] {
        let mut drops: [u64; DROP_COUNTERS] =
            core::array::from_fn(|reason| head.drops[reason].load(Ordering::Relaxed));
        for record in threads.records(head) {
            let cut_stacks = core::array::from_fn(|i| record.cut_stacks[i].load(Ordering::Relaxed));
            Record { cut_stacks, ..Record::default() }.add_cut_stacks(&mut drops);
        }
        LossReason::CUT_STACKS.map(|reason| drops[reason as usize])
    }

    #[test]
    fn cut_stacks_are_counted_with_and_without_records() {
        const RECORDS: usize = FILE_BYTES / RECORD_BYTES;
        const WITHOUT: usize = 3;
        let (threads, head, lock) = (Threads::new(file(FILE_BYTES)), head(), Lock::default());
        let held = lock.hold().unwrap();
        let records: Vec<_> = (0..RECORDS + WITHOUT).map(|_| threads.add_record(head, &held)).collect();
        assert_eq!(records.iter().filter(|record| is_shared(record)).count(), WITHOUT);
        // A record that is taken over is counted on in.
        for record in records.iter().chain(&records) {
            for (reason, times) in LossReason::CUT_STACKS.into_iter().zip(1..) {
                (0..times).for_each(|_| count_cut_stack(record, reason, head));
            }
        }
        let all = 2 * (RECORDS + WITHOUT) as u64;
        assert_eq!(cut_stacks(&threads, head), [all, 2 * all, 3 * all, 4 * all]);
        let in_head = |reason: LossReason| head.drops[reason as usize].load(Ordering::Relaxed);
        assert_eq!(in_head(LossReason::StackBounds), 2 * 4 * WITHOUT as u64);
        count_cut_stack(records[0], LossReason::Held, head);
        assert_eq!(in_head(LossReason::Held), 1);
    }
}
