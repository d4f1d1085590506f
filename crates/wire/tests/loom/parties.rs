//! The log in small and who works on it: a thread that writes as `record::emit` does, and the drainer of
//! `heapscribe::drain::session`, whose `pread` is a relaxed load of each word in any order.
//!
//! An event is one word that says whose it is, in which of its thread's chunks, and its number:
//! `thread << 16 | sequence << 8 | number`, so that a stale one can not be taken for another.

use std::sync::Arc;
use std::sync::atomic::AtomicU32 as Tally;

use loom::sync::atomic::fence;

use crate::chunk::{Opening, SharedHeader, State};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Events of a full chunk.
pub(crate) const EVENTS: usize = 2;
const THREADS: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) header: SharedHeader,
    pub(crate) payload: [AtomicU32; EVENTS],
}

#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) chunks: Vec<Chunk>,
    /// Events that each thread has committed. No part of the model: to look does not order anything.
    tally: [Tally; THREADS],
}

impl Log {
    pub(crate) fn new(chunks: usize) -> Arc<Log> {
        let chunks = (0..chunks).map(|_| Chunk::default()).collect();
        Arc::new(Log { chunks, tally: Default::default() })
    }

    /// Events that `thread` has committed so far.
    pub(crate) fn committed(&self, thread: u32) -> u32 {
        self.tally[thread as usize].load(Ordering::SeqCst)
    }
}

/// A thread of the target.
#[derive(Debug)]
pub(crate) struct Writer {
    log: Arc<Log>,
    thread: u32,
    sequence: u32,
    number: u32,
}

impl Writer {
    pub(crate) fn new(log: &Arc<Log>, thread: u32) -> Writer {
        Writer { log: Arc::clone(log), thread, sequence: 0, number: 0 }
    }

    /// Takes a free chunk, writes events and seals it. False when none is free.
    pub(crate) fn fill(&mut self, events: usize) -> bool {
        let Some(chunk) = self.log.chunks.iter().find(|c| c.header.try_open()) else { return false };
        let sequence = u64::from(self.sequence);
        chunk.header.begin(&Opening { thread: self.thread, sequence, ..Opening::default() });
        for i in 0..events {
            self.number += 1;
            let event = self.thread << 16 | self.sequence << 8 | self.number;
            chunk.payload[i].store(event, Ordering::Relaxed);
            chunk.header.commit(i as u32 + 1);
            self.log.tally[self.thread as usize].store(self.number, Ordering::SeqCst);
        }
        chunk.header.seal(1, 1);
        self.sequence += 1;
        true
    }
}

/// What a copy of a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Copied {
    pub(crate) state: u32,
    pub(crate) thread: u32,
    pub(crate) committed: u32,
    pub(crate) sequence: u64,
}

/// How a word is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    /// As `pread` does while the target runs: what it sees may be old.
    Running,
    /// When the target is dead: what was stored last.
    Dead,
}

impl Read {
    pub(crate) fn word(self, word: &AtomicU32) -> u32 {
        match self {
            Read::Running => word.load(Ordering::Relaxed),
            Read::Dead => word.fetch_add(0, Ordering::AcqRel),
        }
    }

    fn long(self, word: &AtomicU64) -> u64 {
        match self {
            Read::Running => word.load(Ordering::Relaxed),
            Read::Dead => word.fetch_add(0, Ordering::AcqRel),
        }
    }

    pub(crate) fn header(self, h: &SharedHeader) -> Copied {
        let (state, committed) = (self.word(&h.state), self.word(&h.committed));
        Copied { state, committed, thread: self.word(&h.thread), sequence: self.long(&h.sequence) }
    }
}

/// How the drainer goes about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// As the protocol wants it.
    Careful,
    /// Believes all of the header that it saw sealed, without a second look.
    OneLook,
    /// As `OneLook`; and frees only what its header still says.
    Compares,
    /// Stores `free` before it has zeroed `committed`.
    FreesFirst,
    /// Does not zero `committed`.
    ForgetsToZero,
    /// Careful, and takes a chunk by compare-and-swap to a state of its own before it reads.
    Claims,
}

/// The state of a chunk that the drainer has claimed.
const CLAIMED: u32 = 3;

/// The drainer, and the events it got.
#[derive(Debug)]
pub(crate) struct Drainer {
    log: Arc<Log>,
    manner: Manner,
    pub(crate) got: Vec<u32>,
}

impl Drainer {
    pub(crate) fn new(log: &Arc<Log>, manner: Manner) -> Drainer {
        Drainer { log: Arc::clone(log), manner, got: Vec::new() }
    }

    /// Takes what is sealed and frees it.
    pub(crate) fn drain(&mut self) {
        let log = Arc::clone(&self.log);
        let sealed = State::Sealed as u32;
        for chunk in &log.chunks {
            let first = Read::Running.header(&chunk.header);
            fence(Ordering::SeqCst);
            if first.state != sealed || !self.claim(chunk) {
                continue;
            }
            let second = Read::Running.header(&chunk.header);
            let one_look = matches!(self.manner, Manner::OneLook | Manner::Compares);
            let header = if one_look { first } else { second };
            self.take(chunk, header, Read::Running);
            if self.manner != Manner::Compares || Read::Running.header(&chunk.header) == header {
                self.free(chunk);
            }
        }
    }

    fn claim(&self, chunk: &Chunk) -> bool {
        let (sealed, acquire) = (State::Sealed as u32, Ordering::Acquire);
        self.manner != Manner::Claims
            || chunk.header.state.compare_exchange(sealed, CLAIMED, acquire, Ordering::Relaxed).is_ok()
    }

    fn take(&mut self, chunk: &Chunk, header: Copied, read: Read) {
        for word in &chunk.payload[..header.committed as usize] {
            let event = read.word(word);
            let of = (event >> 16, u64::from(event >> 8 & 0xff));
            assert_eq!(of, (header.thread, header.sequence), "event {event:#x} of another use of the chunk");
            self.got.push(event);
        }
    }

    fn free(&self, chunk: &Chunk) {
        if self.manner == Manner::FreesFirst {
            chunk.header.state.store(State::Free as u32, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
        if self.manner != Manner::ForgetsToZero {
            chunk.header.committed.store(0, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
        if self.manner != Manner::FreesFirst {
            chunk.header.state.store(State::Free as u32, Ordering::Relaxed);
        }
    }

    /// Takes all that is committed, of open chunks too; of all of them those that `wanted` picks.
    pub(crate) fn end(&mut self, read: Read, wanted: impl Fn(&Copied) -> bool) {
        let log = Arc::clone(&self.log);
        for chunk in &log.chunks {
            let first = read.header(&chunk.header);
            // What the length says was committed is to be read after it, and so is whose it is.
            fence(Ordering::SeqCst);
            let header = Copied { committed: first.committed, ..read.header(&chunk.header) };
            if first.state != State::Free as u32 && header.committed > 0 && wanted(&header) {
                self.take(chunk, header, read);
            }
        }
    }

    /// The numbers of the events of `thread` that were got, in order.
    pub(crate) fn numbers(&self, thread: u32) -> Vec<u32> {
        let of_thread = self.got.iter().filter(|&&event| event >> 16 == thread);
        let mut numbers: Vec<_> = of_thread.map(|event| event & 0xff).collect();
        numbers.sort_unstable();
        numbers
    }
}
