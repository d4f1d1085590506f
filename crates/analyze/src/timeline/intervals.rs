//! What the heap did between moments of another log of the same machine, such as messages.
//!
//! Both times are CLOCK_MONOTONIC. An event belongs to the last mark that is not after it, whichever thread
//! it is of: that it happened *while* a message was the last one does not prove that it happened *because*
//! of it. Of marks of one moment the last one has it. How well an event's time is known is a property of the
//! trace: some 16 ns within a thread, and less well between threads.

use crate::answer::Amount;
use crate::events::{BlockChange, Scale};
use crate::input::{ChunkFacts, Clock, EventsInOrder, History};
use crate::sampling::Rates;
use heapscribe_wire::record::Event;

/// What the heap did in an interval of time; of sampled blocks what they stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Blocks allocated.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Their bytes.
    pub freed_bytes: u64,
    /// Of the allocated blocks those that were freed, whenever that was.
    pub ended: u64,
    /// Their bytes.
    pub ended_bytes: u64,
}

impl Interval {
    /// Adds another.
    pub fn add(&mut self, other: &Interval) {
        self.allocations = self.allocations.saturating_add(other.allocations);
        self.allocated_bytes = self.allocated_bytes.saturating_add(other.allocated_bytes);
        self.frees = self.frees.saturating_add(other.frees);
        self.freed_bytes = self.freed_bytes.saturating_add(other.freed_bytes);
        self.ended = self.ended.saturating_add(other.ended);
        self.ended_bytes = self.ended_bytes.saturating_add(other.ended_bytes);
    }

    /// What was allocated in it and never freed.
    pub fn left(&self) -> Amount {
        let blocks = self.allocations.saturating_sub(self.ended);
        Amount { blocks, bytes: self.allocated_bytes.saturating_sub(self.ended_bytes) }
    }

    fn alloc(&mut self, change: &BlockChange) {
        self.allocations = self.allocations.saturating_add(change.weight.blocks);
        self.allocated_bytes = self.allocated_bytes.saturating_add(change.weight.bytes);
    }

    fn free(&mut self, change: &BlockChange) {
        self.frees = self.frees.saturating_add(change.weight.blocks);
        self.freed_bytes = self.freed_bytes.saturating_add(change.weight.bytes);
    }

    fn end(&mut self, change: &BlockChange) {
        self.ended = self.ended.saturating_add(change.weight.blocks);
        self.ended_bytes = self.ended_bytes.saturating_add(change.weight.bytes);
    }
}

/// The intervals that marks cut a recording into.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Intervals {
    /// Before the first mark.
    pub before: Interval,
    /// From each mark to the next one; the last one's goes to the end.
    pub intervals: Vec<Interval>,
    /// Chunks of events that could not be read, in words.
    pub problems: Vec<String>,
}

impl Intervals {
    /// The one after so many marks.
    fn at(&mut self, passed: usize) -> &mut Interval {
        match passed.checked_sub(1) {
            Some(mark) => &mut self.intervals[mark],
            None => &mut self.before,
        }
    }
}

/// Sums what was done between marks, which are in order, CLOCK_MONOTONIC ns.
pub fn cut<H: History>(history: &H, marks_ns: &[u64]) -> Intervals {
    let processes = history.processes();
    let rates = Rates::new(history, processes.len());
    let mut cut = Intervals { intervals: vec![Interval::default(); marks_ns.len()], ..Intervals::default() };
    let mut scratch = H::Scratch::default();
    for (number, chunk) in history.chunks().iter().enumerate() {
        let Some(process) = processes.get(chunk.process) else { continue };
        match history.events(number, &mut scratch) {
            Ok(events) => {
                let mean_of = |rate| rates.mean(chunk.process, rate);
                let mut cursor = Cursor::new(marks_ns, &process.clock);
                cursor.add_chunk(chunk, events, mean_of, &mut cut);
            }
            Err(why) => cut.problems.push(why),
        }
    }
    cut
}

/// Goes along the marks with the events of a chunk, whose times only grow.
struct Cursor<'a> {
    marks_ns: &'a [u64],
    clock: &'a Clock,
    /// Marks that are not after the last event.
    passed: usize,
    /// Ticks of the next mark.
    next_ticks: u64,
}

impl<'a> Cursor<'a> {
    fn new(marks_ns: &'a [u64], clock: &'a Clock) -> Cursor<'a> {
        let mut cursor = Cursor { marks_ns, clock, passed: 0, next_ticks: 0 };
        cursor.find_next();
        cursor
    }

    fn find_next(&mut self) {
        self.next_ticks = self.marks_ns.get(self.passed).map_or(u64::MAX, |ns| self.clock.first_tick_at(*ns));
    }

    /// Goes on to a moment; far leaps are not walked.
    fn go_to(&mut self, ticks: u64) {
        if ticks < self.next_ticks || self.passed == self.marks_ns.len() {
            return;
        }
        let ns = self.clock.ns(ticks);
        self.passed += self.marks_ns[self.passed..].partition_point(|mark_ns| *mark_ns <= ns);
        self.find_next();
    }

    fn add_chunk(
        &mut self,
        chunk: &ChunkFacts,
        events: impl EventsInOrder,
        mean_of: impl Fn(heapscribe_wire::ids::RateId) -> u64,
        to: &mut Intervals,
    ) {
        let (mut ticks, mut scale) = (chunk.begin_ticks, Scale::new(chunk.thread));
        for item in events {
            let (dt, event) = match item {
                Ok(found) => found,
                Err(bad) => return to.problems.push(bad.why.to_owned()),
            };
            ticks = ticks.wrapping_add(dt);
            if scale.follow(&event, &mean_of) {
                continue;
            }
            self.go_to(ticks);
            let changes = scale.changes(&event, ticks);
            if let (Some(change), Some(age_ticks)) = (&changes.freed, age_ticks(&event)) {
                let birth_ns = self.clock.ns(ticks.saturating_sub(age_ticks));
                to.at(self.marks_ns[..self.passed].partition_point(|mark_ns| *mark_ns <= birth_ns))
                    .end(change);
            }
            let interval = to.at(self.passed);
            changes.freed.iter().for_each(|change| interval.free(change));
            changes.allocated.iter().for_each(|change| interval.alloc(change));
        }
    }
}

/// How old the block is that an event ends.
fn age_ticks(event: &Event) -> Option<u64> {
    match event {
        Event::Free { block, .. } | Event::Realloc { old: block, .. } => Some(block.age_ticks),
        _ => None,
    }
}
