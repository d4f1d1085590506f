//! Holds back what the threads of a process do to their live table, for as long as it takes to copy it:
//! the reader's side of `heapscribe_wire::operation`.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use heapscribe_wire::operation::{HOLD_NS_MAX, Record};
use rustix::fs::{FlockOperation, flock};
use rustix::thread::{MembarrierCommand, membarrier};

use super::reader::SessionReader;

/// How long threads may take to come out of their operations, which they may spend waiting for a log that
/// is full; less than they let themselves be held.
const BUSY_MAX: Duration = Duration::from_millis(150);
/// How long to wait for another reader.
const OTHERS_MAX: Duration = Duration::from_nanos(2 * HOLD_NS_MAX);
/// Between two looks at another reader's hold.
const NAP: Duration = Duration::from_micros(200);

/// Why a copy is of no one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inexact {
    /// A thread did not come out of its operation in time, by its number in the kernel.
    Busy(u32),
    /// Threads went on, because the hold lasted too long, or another reader has come in between.
    LostHold,
    /// Threads that can not be seen.
    NoRecord(u32),
    /// There is no barrier that reaches the threads.
    NoBarrier,
    /// The word that threads are held by can not be written.
    NotWritable,
    /// Told by the process itself, by a number that is not known here.
    Other(u32),
}

impl std::fmt::Display for Inexact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Inexact::Busy(0) => f.write_str("a thread is stuck inside an allocation"),
            Inexact::Busy(tid) => write!(f, "thread {tid} is stuck inside an allocation"),
            Inexact::LostHold => f.write_str("threads were running while the table was copied"),
            Inexact::NoRecord(n) => write!(f, "threads that cannot be paused because memory is short: {n}"),
            Inexact::NoBarrier => f.write_str("the system does not support membarrier"),
            Inexact::NotWritable => f.write_str("the session is not writable"),
            Inexact::Other(n) => write!(f, "the process gives reason {n}"),
        }
    }
}

/// The turn of one reader among those of a session, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'s> {
    session: &'s SessionReader,
    is_alone: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = flock(self.session.head_file(), FlockOperation::Unlock);
    }
}

impl<'s> Turn<'s> {
    /// Waits for other readers, not for ever.
    pub(super) fn wait(session: &'s SessionReader) -> Turn<'s> {
        let since = Instant::now();
        loop {
            let is_alone = flock(session.head_file(), FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_alone || since.elapsed() > OTHERS_MAX {
                return Turn { session, is_alone };
            }
            std::thread::sleep(NAP);
        }
    }

    /// Whether no other reader can come in between.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }
}

/// Operations are held back until this is dropped.
#[derive(Debug)]
pub(super) struct Holding<'s> {
    session: &'s SessionReader,
    own: u32,
    since: Instant,
    is_expedited: bool,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        if self.is_own() {
            // What can not be written back the threads take away themselves.
            let _ = self.session.set_hold(0);
        }
    }
}

impl<'s> Holding<'s> {
    /// Holds all threads back, and waits until none is in an operation.
    pub(super) fn begin(turn: &Turn<'s>) -> Result<Holding<'s>, Inexact> {
        let session = turn.session;
        let head = session.head().map_err(|_| Inexact::NotWritable)?;
        let (without, is_expedited) = (head.get().threads_without_record, head.get().is_expedited);
        if without != 0 {
            return Err(Inexact::NoRecord(without));
        }
        wait_for_release(session);
        let own = own_word();
        session.set_hold(own).map_err(|_| Inexact::NotWritable)?;
        let holding = Holding { session, own, since: Instant::now(), is_expedited };
        holding.barrier()?;
        holding.wait_until_idle()?;
        holding.barrier()?;
        Ok(holding)
    }

    /// The end of a copy: how long it was held, if it was all the time.
    pub(super) fn end(self) -> Result<Duration, Inexact> {
        // Threads that have come since and could not be given a record went by unheld.
        let without = self.session.head().map_or(0, |head| head.get().threads_without_record);
        if !self.is_own() {
            return Err(Inexact::LostHold);
        }
        let held = self.since.elapsed();
        if without == 0 { Ok(held) } else { Err(Inexact::NoRecord(without)) }
    }

    fn is_own(&self) -> bool {
        self.session.hold() == self.own
    }

    fn barrier(&self) -> Result<(), Inexact> {
        barrier(self.is_expedited).map_err(|_| Inexact::NoBarrier)
    }

    fn wait_until_idle(&self) -> Result<(), Inexact> {
        loop {
            let records = self.session.head().map_or_else(|_| Vec::new(), |h| self.session.records(&h.get()));
            let Some(busy) = records.iter().find(|record| record.in_operation && self.exists(record)) else {
                return Ok(());
            };
            if self.since.elapsed() > BUSY_MAX {
                return Err(Inexact::Busy(busy.tid));
            }
            std::thread::yield_now();
        }
    }

    /// Whether the thread of a record is still there: one that ended in an operation will never end that.
    fn exists(&self, record: &Record) -> bool {
        match self.session.living_pid().filter(|_| self.session.is_in_our_namespace()) {
            Some(pid) => std::fs::exists(format!("/proc/{pid}/task/{}", record.tid)).unwrap_or(true),
            None => true,
        }
    }
}

/// Waits for a reader that has not had its turn, or did not wait for one. One that died with the word set is waited for
/// no longer than threads are.
fn wait_for_release(session: &SessionReader) {
    let since = Instant::now();
    while session.hold() != 0 && since.elapsed() < OTHERS_MAX {
        std::thread::sleep(NAP);
    }
}

/// A word that no other reader makes up at the same time.
fn own_word() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let word = std::process::id() ^ COUNT.fetch_add(1, Relaxed).rotate_right(8);
    word.max(1)
}

/// A barrier on all processors that run threads of a process: those that are registered get it within
/// microseconds, all others within milliseconds.
fn barrier(is_expedited: bool) -> io::Result<()> {
    if is_expedited && membarrier(MembarrierCommand::GlobalExpedited).is_ok() {
        return Ok(());
    }
    Ok(membarrier(MembarrierCommand::Global)?)
}
