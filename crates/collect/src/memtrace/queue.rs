//! The drainer's end of the queue to the worker.

use std::collections::HashMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heapscribe_formats::model::{ChunkInfo, ProcessIndex, ProcessInfo};
use heapscribe_formats::{ChunkSums, DefinitionsTaken};
use heapscribe_wire::definitions::{Definition, Definitions, Position};

use super::message::{Message, Piece};
use super::plan::{FilesPlan, Written};
use super::worker::Worker;
use heapscribe_session::monotonic_ns;

/// Messages that may wait for the worker, of up to 64 KiB each, definitions aside.
const QUEUE: usize = 256;
/// Between two looks into open chunks, at first; then twice as long each time, up to the longest.
const FIRST_LOOK: Duration = Duration::from_millis(16);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// The drainer's end.
pub(crate) struct Memtrace {
    to: SyncSender<Message>,
    worker: JoinHandle<Vec<Written>>,
    processes: u32,
    /// Of each process and thread the chunk that was looked into, and how many bytes were sent.
    looked_into: HashMap<(u32, u32), (u64, usize)>,
    last_look: Instant,
    between: Duration,
}

impl Memtrace {
    /// Starts the worker.
    pub(crate) fn start(plan: FilesPlan) -> Result<Memtrace> {
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

    /// A worker that has ended early has panicked, which [`Self::finish`] passes on.
    fn send(&self, message: Message) {
        let _ = self.to.send(message);
    }

    /// Says which process was started: the one whose file has the name that was asked for.
    pub(crate) fn watch(&self, pid: u32) {
        self.send(Message::Watch(pid));
    }

    pub(crate) fn process(&mut self, info: &ProcessInfo) -> ProcessIndex {
        let index = ProcessIndex(self.processes);
        self.processes += 1;
        self.send(Message::Process(index, info.clone()));
        index
    }

    pub(crate) fn definitions(
        &self,
        process: ProcessIndex,
        position: Position,
        bytes: &[u8],
        see: &mut dyn FnMut(&Definition<'_>),
    ) -> DefinitionsTaken {
        let mut reader = Definitions::new(bytes, position);
        let bad = loop {
            match reader.next() {
                Some(Ok((_, definition))) => see(&definition),
                Some(Err(bad)) => break Some(bad),
                None => break None,
            }
        };
        let accepted = DefinitionsTaken { position: reader.position(), bytes: reader.offset(), bad };
        self.send(Message::Definitions(process, position, bytes[..accepted.bytes].to_vec()));
        accepted
    }

    pub(crate) fn events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) -> ChunkSums {
        let sums = ChunkSums::of(info, payload);
        let whole = payload.len().saturating_sub(sums.cut_bytes as usize);
        self.send_new(process, info, &payload[..whole]);
        self.looked_into.remove(&(process.0, info.thread));
        sums
    }

    /// Whether open chunks are to be looked into.
    pub(crate) fn wants_open(&mut self) -> bool {
        let is_due = self.last_look.elapsed() >= self.between;
        if is_due {
            self.last_look = Instant::now();
            self.between = (self.between * 2).min(LONGEST_LOOK);
        }
        is_due
    }

    pub(crate) fn open_events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) {
        self.send_new(process, info, payload);
        self.looked_into.insert((process.0, info.thread), (info.sequence, payload.len()));
    }

    fn send_new(&self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) {
        let before = self.looked_into.get(&(process.0, info.thread));
        let from = before.filter(|(sequence, _)| *sequence == info.sequence).map_or(0, |(_, bytes)| *bytes);
        let payload = payload.get(from..).unwrap_or_default().to_vec();
        if !payload.is_empty() {
            let piece = Piece { info: *info, from, payload, copied_mono_ns: monotonic_ns() };
            self.send(Message::Events(process, piece));
        }
    }

    pub(crate) fn process_end(&mut self, process: ProcessIndex) {
        self.looked_into.retain(|(of, _), _| *of != process.0);
        self.send(Message::Ended(process));
    }

    /// Waits until all is written. What was, the file that was asked for first.
    pub(crate) fn finish(self) -> Vec<Written> {
        drop(self.to);
        self.worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
