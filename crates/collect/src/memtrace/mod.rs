//! A recording that goes into files of memtrace while the programs run, one for each process.
//!
//! The drainer hands what it takes out of sessions to a worker thread, which looks names up and writes
//! packets: a program does not wait for names, unless the worker falls behind by [`QUEUE`] chunks. What is
//! in a file is readable at any moment up to the last packet; open packets are written each second.
//!
//! Chunks that are still open are looked into as well, each second, and more often at first: a thread that
//! is sampled may take hours to fill one.
//!
//! Chunks of different threads come in no order of time, and need none: each thread is a domain, whose
//! events are in order by themselves. See [`heapscribe_convert::memtrace::objects`] for frees that come too early.

mod clock;
mod image;
mod names;
mod packets;
mod worker;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heapscribe_formats::model::{ChunkInfo, ProcessIndex, ProcessInfo};
use heapscribe_formats::{ChunkSums, DefinitionsTaken};
use heapscribe_wire::defs::{Definitions, Position};

use self::worker::Worker;
use heapscribe_session::monotonic_ns;

/// Messages that may wait for the worker, of up to 64 KiB each, definitions aside.
const QUEUE: usize = 256;

/// What the files are to be.
#[derive(Clone, Debug)]
pub struct FilesPlan {
    /// Where the file of the program goes that was started; those of others lie beside it.
    pub output: PathBuf,
    /// Name of the machine.
    pub host: String,
    /// The chance of each word to be drawn.
    pub sample_rate: f64,
    /// Where separate debug files lie.
    pub debug_dir: PathBuf,
}

/// A file that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Where it lies.
    pub path: PathBuf,
    /// The process.
    pub pid: u32,
    /// Objects in it.
    pub objects: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What is not whole, in words.
    pub problems: Vec<String>,
    /// Whether its end could not be written.
    pub is_cut: bool,
}

/// What the worker is told.
enum Message {
    Watch(u32),
    Process(ProcessIndex, ProcessInfo),
    Definitions(ProcessIndex, Position, Vec<u8>),
    Events(ProcessIndex, Piece),
    Ended(ProcessIndex),
}

/// Events of a chunk: all of it, or what came since it was looked into.
struct Piece {
    info: ChunkInfo,
    /// Bytes of the chunk that were handed on before.
    from: usize,
    payload: Vec<u8>,
    /// When it was taken out, CLOCK_MONOTONIC ns: its events are older.
    taken_mono_ns: u64,
}

/// Between two looks into open chunks, at first; then twice as long each time, up to the longest.
const FIRST_LOOK: Duration = Duration::from_millis(16);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// The drainer's end.
pub(super) struct Memtrace {
    to: SyncSender<Message>,
    worker: JoinHandle<Vec<Written>>,
    processes: u32,
    /// Of each process and thread the chunk that was looked into, and how many bytes were handed on.
    looked_into: HashMap<(u32, u32), (u64, usize)>,
    last_look: Instant,
    between: Duration,
}

impl Memtrace {
    /// Starts the worker.
    pub(super) fn start(plan: FilesPlan) -> Result<Memtrace> {
        let (to, from) = sync_channel(QUEUE);
        let worker = std::thread::Builder::new().name("memtrace".to_owned());
        let worker = worker.spawn(move || Worker::new(plan).run(&from)).context("cannot start a thread")?;
        Ok(Memtrace {
            to,
            worker,
            processes: 0,
            looked_into: HashMap::new(),
            last_look: Instant::now(),
            between: FIRST_LOOK,
        })
    }

    /// A worker that is gone has panicked, which [`Self::finish`] passes on.
    fn tell(&self, message: Message) {
        let _ = self.to.send(message);
    }

    /// Says which process was started: the one whose file has the name that was asked for.
    pub(super) fn watch(&self, pid: u32) {
        self.tell(Message::Watch(pid));
    }

    pub(super) fn process(&mut self, info: &ProcessInfo) -> ProcessIndex {
        let index = ProcessIndex(self.processes);
        self.processes += 1;
        self.tell(Message::Process(index, info.clone()));
        index
    }

    pub(super) fn definitions(
        &self,
        process: ProcessIndex,
        position: Position,
        bytes: &[u8],
    ) -> DefinitionsTaken {
        let mut reader = Definitions::new(bytes, position);
        let bad = loop {
            match reader.next() {
                Some(Ok(_)) => {}
                Some(Err(bad)) => break Some(bad),
                None => break None,
            }
        };
        let taken = DefinitionsTaken { position: reader.position(), bytes: reader.offset(), bad };
        self.tell(Message::Definitions(process, position, bytes[..taken.bytes].to_vec()));
        taken
    }

    pub(super) fn events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) -> ChunkSums {
        let sums = ChunkSums::of(info, payload);
        let whole = payload.len().saturating_sub(sums.cut_bytes as usize);
        self.hand_on(process, info, &payload[..whole]);
        self.looked_into.remove(&(process.0, info.thread));
        sums
    }

    /// Whether open chunks are to be looked into.
    pub(super) fn wants_open(&mut self) -> bool {
        let is_due = self.last_look.elapsed() >= self.between;
        if is_due {
            self.last_look = Instant::now();
            self.between = (self.between * 2).min(LONGEST_LOOK);
        }
        is_due
    }

    pub(super) fn open_events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) {
        self.hand_on(process, info, payload);
        self.looked_into.insert((process.0, info.thread), (info.sequence, payload.len()));
    }

    fn hand_on(&self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) {
        let before = self.looked_into.get(&(process.0, info.thread));
        let from = before.filter(|(sequence, _)| *sequence == info.sequence).map_or(0, |(_, bytes)| *bytes);
        let payload = payload.get(from..).unwrap_or_default().to_vec();
        if !payload.is_empty() {
            let piece = Piece { info: *info, from, payload, taken_mono_ns: monotonic_ns() };
            self.tell(Message::Events(process, piece));
        }
    }

    pub(super) fn process_end(&mut self, process: ProcessIndex) {
        self.looked_into.retain(|(of, _), _| *of != process.0);
        self.tell(Message::Ended(process));
    }

    /// Waits until all is written. What was, the file that was asked for first.
    pub(super) fn finish(self) -> Vec<Written> {
        drop(self.to);
        self.worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
