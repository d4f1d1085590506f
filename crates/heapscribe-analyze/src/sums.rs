//! The first pass: what each stack, thread and process did. A chunk is summed alone - a free event says
//! what it frees - so chunks go through in any order on any core and only the sums meet.

use std::collections::BTreeMap;

use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Block, Call, Event};

use crate::histogram::Histogram;
use crate::input::{ChunkFacts, Clock, EventsInOrder};
use crate::segment::{Cutter, Grid, Segment};
use crate::table::Table;

/// What the calls from one stack did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) frees: u64,
    pub(crate) freed_bytes: u64,
    pub(crate) temporary: u64,
    pub(crate) temporary_bytes: u64,
    pub(crate) by_others: u64,
    pub(crate) failed: u64,
    pub(crate) age_sum: u128,
    pub(crate) age_min: u64,
    pub(crate) age_max: u64,
    pub(crate) size_min: u64,
    pub(crate) size_max: u64,
}

impl Default for Row {
    fn default() -> Self {
        Row {
            allocations: 0,
            allocated_bytes: 0,
            frees: 0,
            freed_bytes: 0,
            temporary: 0,
            temporary_bytes: 0,
            by_others: 0,
            failed: 0,
            age_sum: 0,
            age_min: u64::MAX,
            age_max: 0,
            size_min: u64::MAX,
            size_max: 0,
        }
    }
}

impl Row {
    /// Adds another, whose ages are in the same unit.
    pub(crate) fn merge(&mut self, other: &Row) {
        self.allocations += other.allocations;
        self.allocated_bytes = self.allocated_bytes.wrapping_add(other.allocated_bytes);
        self.frees += other.frees;
        self.freed_bytes = self.freed_bytes.wrapping_add(other.freed_bytes);
        self.temporary += other.temporary;
        self.temporary_bytes = self.temporary_bytes.wrapping_add(other.temporary_bytes);
        self.by_others += other.by_others;
        self.failed += other.failed;
        self.age_sum = self.age_sum.wrapping_add(other.age_sum);
        self.age_min = self.age_min.min(other.age_min);
        self.age_max = self.age_max.max(other.age_max);
        self.size_min = self.size_min.min(other.size_min);
        self.size_max = self.size_max.max(other.size_max);
    }

    #[inline(always)]
    fn came(&mut self, bytes: u64) {
        self.allocations += 1;
        self.allocated_bytes = self.allocated_bytes.wrapping_add(bytes);
        self.size_min = self.size_min.min(bytes);
        self.size_max = self.size_max.max(bytes);
    }

    #[inline(always)]
    fn went(&mut self, block: &Block, temporary: bool) {
        self.frees += 1;
        self.freed_bytes = self.freed_bytes.wrapping_add(block.size_bytes);
        self.by_others += u64::from(block.birth_thread.is_some());
        self.temporary += u64::from(temporary);
        self.temporary_bytes =
            self.temporary_bytes.wrapping_add(if temporary { block.size_bytes } else { 0 });
        self.age_sum = self.age_sum.wrapping_add(u128::from(block.age_ticks));
        self.age_min = self.age_min.min(block.age_ticks);
        self.age_max = self.age_max.max(block.age_ticks);
    }
}

/// What one thread did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadSums {
    pub(crate) calls: [u64; Call::ALL.len()],
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) frees: u64,
    pub(crate) freed_bytes: u64,
    pub(crate) failed: u64,
    pub(crate) grown: u64,
    pub(crate) shrunk: u64,
    pub(crate) same: u64,
    pub(crate) unknown: u64,
    pub(crate) others_freed: u64,
    pub(crate) lost: u64,
    pub(crate) temporary: u64,
    pub(crate) temporary_bytes: u64,
}

impl ThreadSums {
    /// Adds another.
    pub(crate) fn merge(&mut self, other: &ThreadSums) {
        for (mine, theirs) in self.calls.iter_mut().zip(&other.calls) {
            *mine += theirs;
        }
        self.allocations += other.allocations;
        self.allocated_bytes = self.allocated_bytes.wrapping_add(other.allocated_bytes);
        self.frees += other.frees;
        self.freed_bytes = self.freed_bytes.wrapping_add(other.freed_bytes);
        self.failed += other.failed;
        self.grown += other.grown;
        self.shrunk += other.shrunk;
        self.same += other.same;
        self.unknown += other.unknown;
        self.others_freed += other.others_freed;
        self.lost = self.lost.saturating_add(other.lost);
        self.temporary += other.temporary;
        self.temporary_bytes = self.temporary_bytes.wrapping_add(other.temporary_bytes);
    }

    fn count_resize(&mut self, old_bytes: u64, new_bytes: u64) {
        match new_bytes.cmp(&old_bytes) {
            std::cmp::Ordering::Greater => self.grown += 1,
            std::cmp::Ordering::Less => self.shrunk += 1,
            std::cmp::Ordering::Equal => self.same += 1,
        }
    }
}

/// What chunks of one process add up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) stacks: Table<Row>,
    pub(crate) threads: BTreeMap<u32, ThreadSums>,
    pub(crate) sizes: Histogram,
    pub(crate) lifetimes: Histogram,
    pub(crate) segments: Vec<Segment>,
    pub(crate) lost: [u64; DROP_COUNTERS],
    pub(crate) problems: Vec<String>,
}

impl Sums {
    /// Adds others of the same process.
    pub(crate) fn merge(mut self, mut other: Sums) -> Sums {
        if other.stacks.rows().len() > self.stacks.rows().len() {
            std::mem::swap(&mut self, &mut other);
        }
        self.stacks.merge(other.stacks, Row::merge);
        for (thread, sums) in &other.threads {
            self.threads.entry(*thread).or_default().merge(sums);
        }
        self.sizes.merge(&other.sizes);
        self.lifetimes.merge(&other.lifetimes);
        self.segments.append(&mut other.segments);
        for (mine, theirs) in self.lost.iter_mut().zip(&other.lost) {
            *mine = mine.saturating_add(*theirs);
        }
        self.problems.append(&mut other.problems);
        self
    }

    /// Sums a chunk.
    pub(crate) fn add_chunk(
        &mut self,
        (number, chunk): (usize, &ChunkFacts),
        clock: &Clock,
        grid: &Grid,
        events: impl EventsInOrder,
    ) {
        let mut pass = Pass {
            stacks: &mut self.stacks,
            sizes: &mut self.sizes,
            lifetimes: &mut self.lifetimes,
            cutter: Cutter::new((number, chunk), clock, grid, &mut self.segments),
            clock,
            thread: ThreadSums::default(),
            ticks: chunk.begin_ticks,
            last_alloc: chunk.last_alloc_ticks,
        };
        for item in events {
            match item {
                Ok((dt, Event::Lost { count, reason })) => {
                    pass.ticks = pass.ticks.wrapping_add(dt);
                    pass.thread.lost = pass.thread.lost.saturating_add(count);
                    let at = usize::from(reason).min(DROP_COUNTERS - 1);
                    self.lost[at] = self.lost[at].saturating_add(count);
                }
                Ok((dt, event)) => pass.take(dt, &event),
                Err(bad) => self.problems.push(format!("chunk {number}: {bad}; the rest of it is left out")),
            }
        }
        pass.cutter.close();
        let thread = pass.thread;
        self.threads.entry(chunk.thread).or_default().merge(&thread);
    }
}

/// A chunk on its way through the sums.
struct Pass<'a> {
    stacks: &'a mut Table<Row>,
    sizes: &'a mut Histogram,
    lifetimes: &'a mut Histogram,
    cutter: Cutter<'a>,
    clock: &'a Clock,
    thread: ThreadSums,
    ticks: u64,
    last_alloc: u64,
}

impl Pass<'_> {
    #[inline(always)]
    fn take(&mut self, dt: u64, event: &Event) {
        self.ticks = self.ticks.wrapping_add(dt);
        self.cutter.at(self.ticks);
        match *event {
            Event::Alloc { call, size_bytes, stack, .. } => {
                self.thread.calls[call as usize] += 1;
                self.came(stack, size_bytes);
            }
            Event::Free { call, block } => {
                self.thread.calls[call as usize] += 1;
                self.went(&block);
            }
            Event::Realloc { call, old, size_bytes, stack } => {
                self.thread.calls[call as usize] += 1;
                self.thread.count_resize(old.size_bytes, size_bytes);
                self.went(&old);
                self.came(stack, size_bytes);
            }
            Event::Failed { call, stack, .. } => {
                self.thread.calls[call as usize] += 1;
                self.thread.failed += 1;
                self.stacks.row(stack).failed += 1;
            }
            Event::UnknownFree { call } => {
                self.thread.calls[call as usize] += 1;
                self.thread.unknown += 1;
            }
            Event::UnknownRealloc { call, size_bytes, stack } => {
                self.thread.calls[call as usize] += 1;
                self.thread.unknown += 1;
                self.came(stack, size_bytes);
            }
            Event::Rate { .. } | Event::Lost { .. } => {}
        }
    }

    #[inline(always)]
    fn came(&mut self, stack: StackId, bytes: u64) {
        self.last_alloc = self.ticks;
        self.thread.allocations += 1;
        self.thread.allocated_bytes = self.thread.allocated_bytes.wrapping_add(bytes);
        self.stacks.row(stack).came(bytes);
        self.sizes.add(bytes, bytes);
        self.cutter.came(bytes);
    }

    /// A block is named by its thread and its ticks of birth, so these tell whether it is the last one
    /// that this thread was given.
    #[inline(always)]
    fn went(&mut self, block: &Block) {
        let born = self.ticks.wrapping_sub(block.age_ticks);
        let temporary = block.birth_thread.is_none() && self.last_alloc != 0 && born == self.last_alloc;
        self.thread.frees += 1;
        self.thread.freed_bytes = self.thread.freed_bytes.wrapping_add(block.size_bytes);
        self.thread.others_freed += u64::from(block.birth_thread.is_some());
        if temporary {
            self.thread.temporary += 1;
            self.thread.temporary_bytes = self.thread.temporary_bytes.wrapping_add(block.size_bytes);
        }
        self.stacks.row(block.stack).went(block, temporary);
        self.lifetimes.add(self.clock.span_ns(block.age_ticks), block.size_bytes);
        self.cutter.went(block.size_bytes);
    }
}
