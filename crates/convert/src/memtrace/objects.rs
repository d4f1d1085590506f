//! Blocks of ours as objects of memtrace, written as their events come. Threads become domains, blocks
//! become objects outside OCaml's heaps; a free finds its object by the block's birth.
//!
//! A free may be read before its allocation, when it is in another thread's chunk. It waits for the
//! allocation, and is then written by the thread that allocated, as soon as that has reached the time of
//! the free: a domain's times must not go back.
//!
//! *Lost on the way*: sizes that are no multiple of 8 bytes; which function was called, alignment, calls
//! that were refused; how long calls took; blocks of pools, marks and sections; the innermost frames of
//! stacks that have no room, see
//! [`heapscribe_formats::memtrace`]; times finer than 1 us.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::io::{self, Write};

use heapscribe_formats::ProcessInfo;
use heapscribe_formats::memtrace::{
    Alloc, Heap, Info, LocationCode, Locations, ObjectId, Order, WriteOptions, Writer,
};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{Block, Event};

use super::left_out::LeftOut;
use super::sample_weights::{SampleWeights, WORD_BYTES};
use crate::block_identity::BlockIdentity;
use crate::stacks::Stacks;

/// Frees that wait for their allocation, as many as a few hundred open chunks of threads hold.
const EARLY_MAX: usize = 1 << 20;
/// Threads that have a domain of their own: each takes up to 0.4 MiB in whoever writes or reads the file.
/// Further threads share them.
const DOMAINS_MAX: u32 = 256;
/// Stands in place of an object's number for a block that was not drawn.
const NOT_DRAWN: ObjectId = ObjectId(-1);

/// The thread, time and sampling rate of an event.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Number of the thread in its process, from 1.
    pub thread: u32,
    /// Ticks of the process's clock.
    pub ticks: u64,
    /// Time as the file has it, us since 1970.
    pub time_us: i64,
    /// The sampling rate at which the thread recorded then.
    pub rate: RateId,
}

/// The domain of a thread.
pub fn domain(thread: u32) -> u16 {
    (thread.saturating_sub(1) % DOMAINS_MAX) as u16
}

/// The header of the file of a process, whose first event is of this domain.
pub fn info(process: &ProcessInfo, host: &str, sample_rate: f64, start_us: i64, first: u16) -> Info {
    let command = process.command.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>();
    Info {
        sample_rate,
        word_bits: 64,
        executable: process.exe.clone(),
        host: host.as_bytes().to_vec(),
        runtime_params: Vec::new(),
        pid: i64::from(process.pid),
        context: command.join(" ").into_bytes(),
        start_us,
        domain: first,
    }
}

/// A memtrace file being written from events of ours.
pub struct Objects<W> {
    writer: Writer<W>,
    drawing: SampleWeights,
    /// The stacks of the process; definitions go in here.
    stacks: Stacks,
    /// Names of its frames.
    pub locations: Locations,
    live: HashMap<BlockIdentity, ObjectId>,
    early: Early,
    /// Of each domain the ends of its objects that came before them: time and object.
    ends: BTreeMap<u16, BinaryHeap<Reverse<(i64, i64)>>>,
    /// The stack that was asked for last, and its codes.
    codes: (StackId, Vec<LocationCode>),
    /// Objects that were written.
    pub written: u64,
    lost: u64,
    /// Events of pools, whose blocks lie inside the heap's and have no place in the format.
    of_pools: u64,
    /// Calls with a duration.
    times: u64,
    left_out: LeftOut,
}

/// A finished file.
pub struct Finished<W> {
    /// Where it was written.
    pub sink: W,
    /// What is not whole, in words.
    pub problems: Vec<String>,
    /// Frees of blocks whose allocation did not come.
    pub unmatched_frees: u64,
    /// What the format has no place for, in words.
    pub left_out: Option<String>,
}

impl<W> Finished<W> {
    /// What is not whole of a process whose allocations were to come, all of them.
    pub fn problems_of_whole(&self) -> impl Iterator<Item = String> {
        let unmatched = Some(self.unmatched_frees).filter(|n| *n > 0);
        let unmatched = unmatched.map(|n| format!("frees without an allocation in the trace: {n}"));
        unmatched.into_iter().chain(self.problems.clone())
    }
}

impl<W: Write> Objects<W> {
    /// Begins a file. Stacks must be defined before events have them.
    pub fn create(sink: W, info: &Info, stacks: Stacks, order: Order) -> io::Result<Self> {
        let options = WriteOptions { order, ..WriteOptions::default() };
        Ok(Objects {
            writer: Writer::create(sink, info, options)?,
            drawing: SampleWeights::new(info.sample_rate),
            stacks,
            locations: Locations::default(),
            live: HashMap::new(),
            early: Early::default(),
            ends: BTreeMap::new(),
            codes: (StackId::UNKNOWN, Vec::new()),
            written: 0,
            lost: 0,
            of_pools: 0,
            times: 0,
            left_out: LeftOut::default(),
        })
    }

    /// Takes a definition.
    pub fn define(&mut self, id: StackId, definition: &Definition<'_>) {
        if let Definition::Rate { id, mean_bytes } = definition {
            self.drawing.rate(*id, *mean_bytes);
        }
        self.stacks.take(id, definition);
    }

    /// Names frames that are new.
    pub fn name_new(
        &mut self,
        look_up: impl FnOnce(&[(heapscribe_symbols::Module, Vec<u64>)]) -> Vec<heapscribe_symbols::Names>,
    ) {
        self.stacks.name_new(&mut self.locations, look_up);
    }

    /// Takes an event.
    pub fn event(&mut self, at: At, event: &Event) -> io::Result<()> {
        if event.is_pool() {
            self.of_pools += 1;
            return Ok(());
        }
        self.left_out.event(event);
        match *event {
            Event::Alloc { size_bytes, stack, .. } | Event::UnknownRealloc { size_bytes, stack, .. } => {
                self.allocated(at, size_bytes, stack)
            }
            Event::Free { block, .. } => self.freed(at, &block),
            Event::Realloc { old, size_bytes, stack, .. } => {
                self.freed(at, &old)?;
                self.allocated(at, size_bytes, stack)
            }
            Event::Lost { count, .. } => {
                self.lost = self.lost.saturating_add(count);
                Ok(())
            }
            Event::Took { .. } => {
                self.times += 1;
                Ok(())
            }
            Event::Failed { .. }
            | Event::UnknownFree { .. }
            | Event::Rate { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => Ok(()),
        }
    }

    fn allocated(&mut self, at: At, size_bytes: u64, stack: StackId) -> io::Result<()> {
        let birth = BlockIdentity { thread: at.thread, ticks: at.ticks };
        let samples = self.drawing.samples(size_bytes, at.rate, birth);
        let id = if samples == 0 { NOT_DRAWN } else { self.write(at, size_bytes, samples, stack)? };
        match self.early.remove(birth) {
            Some(_) if id == NOT_DRAWN => {}
            Some(end_us) => {
                let ends = self.ends.entry(domain(at.thread)).or_default();
                ends.push(Reverse((end_us.max(at.time_us), id.0)));
            }
            None => {
                self.live.insert(birth, id);
            }
        }
        Ok(())
    }

    fn write(&mut self, at: At, size_bytes: u64, samples: i64, stack: StackId) -> io::Result<ObjectId> {
        if self.codes.0 != stack || stack == StackId::UNKNOWN {
            self.stacks.codes(stack, &mut self.codes.1);
            self.codes.0 = stack;
        }
        self.reached(at.thread, at.time_us)?;
        let alloc = Alloc {
            id: ObjectId(0),
            length_words: size_bytes.div_ceil(WORD_BYTES) as i64,
            samples,
            heap: Heap::External,
            common: 0,
            reused_frames: 0,
            stack: &self.codes.1,
        };
        self.written += 1;
        self.writer.alloc(domain(at.thread), at.time_us, &alloc, &self.locations)
    }

    fn freed(&mut self, at: At, block: &Block) -> io::Result<()> {
        let birth = BlockIdentity::of(block, at.thread, at.ticks);
        match self.live.remove(&birth) {
            Some(NOT_DRAWN) => Ok(()),
            Some(id) => {
                self.reached(at.thread, at.time_us)?;
                self.writer.collect(domain(at.thread), at.time_us, id, &self.locations)
            }
            None => {
                self.early.insert(birth, at.time_us);
                Ok(())
            }
        }
    }

    /// A thread has reached this time: writes the ends that lie before it.
    pub fn reached(&mut self, thread: u32, time_us: i64) -> io::Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let domain = domain(thread);
        let Some(ends) = self.ends.get_mut(&domain) else { return Ok(()) };
        while let Some(Reverse((end_us, id))) =
            ends.peek().copied().filter(|Reverse((end, _))| *end <= time_us)
        {
            ends.pop();
            self.writer.collect(domain, end_us, ObjectId(id), &self.locations)?;
        }
        if ends.is_empty() {
            self.ends.remove(&domain);
        }
        Ok(())
    }

    /// Writes out the packets that are open.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush_all(&self.locations)
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<Finished<W>> {
        let domains: Vec<u16> = self.ends.keys().copied().collect();
        for domain in domains {
            self.reached(u32::from(domain) + 1, i64::MAX)?;
        }
        let mut problems = Vec::new();
        if self.of_pools != 0 {
            let n = self.of_pools;
            problems
                .push(format!("events of the program's own pools, which a memtrace file cannot store: {n}"));
        }
        if self.times != 0 {
            let n = self.times;
            problems.push(format!("latencies, which a memtrace file cannot store: {n}"));
        }
        if self.lost != 0 {
            problems.push(format!("events missing: {}", self.lost));
        }
        let (left_out, unmatched_frees) = (self.left_out.in_words(), self.early.unmatched());
        Ok(Finished { sink: self.writer.finish(&self.locations)?, problems, unmatched_frees, left_out })
    }
}

/// Frees that were read before their allocation, the newest of them.
#[derive(Default)]
struct Early {
    times_us: HashMap<BlockIdentity, i64>,
    order: VecDeque<BlockIdentity>,
    forgotten: u64,
}

impl Early {
    fn insert(&mut self, birth: BlockIdentity, time_us: i64) {
        self.times_us.insert(birth, time_us);
        self.order.push_back(birth);
        if self.order.len() > EARLY_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.forgotten += u64::from(self.times_us.remove(&oldest).is_some());
        }
    }

    fn remove(&mut self, birth: BlockIdentity) -> Option<i64> {
        self.times_us.remove(&birth)
    }

    /// Those without an allocation.
    fn unmatched(&self) -> u64 {
        self.forgotten + self.times_us.len() as u64
    }
}
