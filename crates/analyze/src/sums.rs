//! The first pass: what each stack, thread and process did. A chunk is summed alone - a free event says
//! what it frees - so chunks go through in any order on any core and only the sums meet. Every sum is over
//! what blocks stand for: themselves where every block was recorded, more where they were sampled (`weight`).

use std::collections::BTreeMap;

use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{BadEvent, Block, Call, Event};

use crate::calls::OneCall;
use crate::change::Scale;
use crate::counters::{Row, ThreadSums};
use crate::histogram::Histogram;
use crate::input::{ChunkFacts, Clock, EventsInOrder};
use crate::latency::Latency;
use crate::segment::{Cutter, Grid, Segment};
use crate::table::Table;
use crate::told::{Inside, PoolSums, Told};
use crate::weight::{Lives, Samples, Share};

/// What chunks of one process add up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) stacks: Table<Row>,
    pub(crate) sampled: Samples<Lives>,
    /// Which rates occur, a bit for each.
    pub(crate) rates: u8,
    pub(crate) threads: BTreeMap<u32, ThreadSums>,
    pub(crate) sizes: Histogram,
    pub(crate) lifetimes: Histogram,
    pub(crate) segments: Vec<Segment>,
    pub(crate) lost: [u64; DROP_COUNTERS],
    pub(crate) problems: Vec<String>,
    /// What the program said of itself.
    pub(crate) told: Told,
    /// How long its calls took.
    pub(crate) latency: Latency,
}

impl Sums {
    /// Adds others of the same process.
    pub(crate) fn merge(mut self, mut other: Sums) -> Sums {
        if other.stacks.rows().len() > self.stacks.rows().len() {
            std::mem::swap(&mut self, &mut other);
        }
        self.stacks.merge(other.stacks, Row::merge);
        self.sampled.merge(other.sampled, Lives::merge);
        self.rates |= other.rates;
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
        self.told.merge(other.told);
        self.latency.merge(other.latency);
        self
    }

    /// Sums a chunk; `mean_of` says the mean bytes of a rate.
    pub(crate) fn add_chunk(
        &mut self,
        (number, chunk): (usize, &ChunkFacts),
        clock: &Clock,
        grid: &Grid,
        mean_of: &dyn Fn(RateId) -> u64,
        events: impl EventsInOrder,
    ) {
        let pass = Pass {
            stacks: &mut self.stacks,
            sampled: &mut self.sampled,
            rates: &mut self.rates,
            sizes: &mut self.sizes,
            lifetimes: &mut self.lifetimes,
            lost: &mut self.lost,
            pool_cutter: Cutter::new((number, chunk), clock, grid, &mut self.told.pools.segments),
            pools: &mut self.told.pools.sums,
            inside: Inside::new(&mut self.told.marks, &mut self.told.sections),
            cutter: Cutter::new((number, chunk), clock, grid, &mut self.segments),
            clock,
            latency: &mut self.latency,
            last: None,
            thread: ThreadSums::default(),
            scale: Scale::new(chunk.thread),
            ticks: chunk.begin_ticks,
            last_alloc: chunk.last_alloc_ticks,
        };
        let (mut thread, bad) = pass.run(events, mean_of);
        thread.calls = if chunk.is_made_up { Default::default() } else { thread.calls };
        let problem = bad.map(|bad| format!("chunk {number}: {bad}; the rest of it is left out"));
        self.problems.extend(problem);
        self.threads.entry(chunk.thread).or_default().merge(&thread);
    }
}

/// A chunk on its way through the sums.
struct Pass<'a> {
    stacks: &'a mut Table<Row>,
    sampled: &'a mut Samples<Lives>,
    rates: &'a mut u8,
    sizes: &'a mut Histogram,
    lifetimes: &'a mut Histogram,
    lost: &'a mut [u64; DROP_COUNTERS],
    cutter: Cutter<'a>,
    pools: &'a mut PoolSums,
    pool_cutter: Cutter<'a>,
    inside: Inside<'a>,
    clock: &'a Clock,
    latency: &'a mut Latency,
    /// The event before, of which it may be told next how long it took.
    last: Option<Event>,
    thread: ThreadSums,
    scale: Scale,
    ticks: u64,
    last_alloc: u64,
}

impl Pass<'_> {
    /// Takes all events, up to the first that is none or, without `RATES`, with the first rate: what
    /// follows is given back.
    #[inline(always)]
    fn all<const RATES: bool, E: EventsInOrder>(
        &mut self,
        mut events: E,
        mean_of: &dyn Fn(RateId) -> u64,
    ) -> Result<Option<E>, BadEvent> {
        while let Some(item) = events.next() {
            match item? {
                (_, Event::Rate { rate }) => {
                    self.rate(rate, mean_of(rate));
                    if !RATES {
                        return Ok(Some(events));
                    }
                }
                (dt, Event::Lost { count, reason }) => {
                    self.ticks = self.ticks.wrapping_add(dt);
                    self.thread.lost = self.thread.lost.saturating_add(count);
                    let lost = &mut self.lost[usize::from(reason).min(DROP_COUNTERS - 1)];
                    *lost = lost.saturating_add(count);
                }
                (dt, Event::Note { note, name }) => {
                    self.ticks = self.ticks.wrapping_add(dt);
                    self.inside.note(note, name, self.ticks);
                }
                (_, Event::Took { units }) => self.took(units),
                (dt, event) => {
                    self.take::<RATES>(dt, &event);
                    self.last = Some(event);
                }
            }
        }
        Ok(None)
    }

    /// A chunk with rates is rare, and its loop must not lie in the way of the others'.
    #[cold]
    #[inline(never)]
    fn all_rated(
        mut self,
        events: impl EventsInOrder,
        mean_of: &dyn Fn(RateId) -> u64,
    ) -> (ThreadSums, Option<BadEvent>) {
        let outcome = self.all::<true, _>(events, mean_of);
        self.close();
        (self.thread, outcome.err())
    }

    fn close(&mut self) {
        self.cutter.close();
        self.pool_cutter.close();
    }

    #[inline(always)]
    fn run(
        mut self,
        events: impl EventsInOrder,
        mean_of: &dyn Fn(RateId) -> u64,
    ) -> (ThreadSums, Option<BadEvent>) {
        match self.all::<false, _>(events, mean_of) {
            Ok(Some(rest)) => self.all_rated(rest, mean_of),
            outcome => {
                self.close();
                (self.thread, outcome.err())
            }
        }
    }

    /// A rate that is told again while it is in force says that the thread was given blocks that were not
    /// sampled: the one that was told last is no longer its last.
    #[inline(always)]
    fn rate(&mut self, rate: RateId, mean_bytes: u64) {
        if rate == self.scale.rate && rate != RateId::FULL {
            self.last_alloc = 0;
        }
        *self.rates |= 1 << rate.0;
        (self.scale.rate, self.scale.mean_bytes) = (rate, mean_bytes);
    }

    #[inline(never)]
    fn took(&mut self, units: u64) {
        let ns = self.clock.units_ns(units);
        if self.inside.is_any() {
            self.inside.took(ns);
        }
        if let Some(event) = self.last.take() {
            self.latency.took(&event, (ns, self.cutter.step()), (self.scale.thread(), self.ticks));
        }
    }

    #[inline(always)]
    fn take<const RATES: bool>(&mut self, dt: u64, event: &Event) {
        self.ticks = self.ticks.wrapping_add(dt);
        if event.is_pool() {
            return self.pool::<RATES>(event);
        }
        self.cutter.at(self.ticks);
        if self.inside.is_any() {
            self.inside(event);
        }
        match *event {
            Event::Alloc { call, size_bytes, stack, .. } => {
                let share = self.of_new::<RATES>(size_bytes);
                self.thread.calls[call as usize] += share.blocks;
                self.came(stack, size_bytes, share, self.is_sampled::<RATES>());
            }
            Event::Free { call, block } => {
                let share = self.of_old::<RATES>(&block);
                // Half of a realloc whose other block was not sampled: such calls are counted by the
                // blocks that came.
                let half = self.is_sampled::<RATES>() && matches!(call, Call::Realloc | Call::Reallocarray);
                self.thread.calls[call as usize] += if half { 0 } else { share.blocks };
                self.went(&block, share, self.is_sampled::<RATES>());
            }
            Event::Realloc { call, old, size_bytes, stack } => {
                let (share, new) = (self.of_old::<RATES>(&old), self.of_new::<RATES>(size_bytes));
                self.thread.calls[call as usize] += new.blocks;
                // Both blocks were sampled, each by itself.
                let calls = share.blocks.saturating_mul(new.blocks);
                self.thread.count_resize(old.size_bytes, size_bytes, calls);
                self.went(&old, share, self.is_sampled::<RATES>());
                self.came(stack, size_bytes, new, self.is_sampled::<RATES>());
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
                self.came(stack, size_bytes, Share::one(size_bytes), false);
            }
            Event::Rate { .. } | Event::Took { .. } | Event::Lost { .. } | Event::Note { .. } => {}
        }
    }

    /// A call in a section of the program.
    #[cold]
    fn inside(&mut self, event: &Event) {
        self.inside.called(OneCall::of(event, &self.scale, self.ticks).as_ref(), self.ticks);
    }

    /// A pool's blocks lie in blocks of the heap, which are counted already.
    #[cold]
    fn pool<const RATES: bool>(&mut self, event: &Event) {
        self.pool_cutter.at(self.ticks);
        match *event {
            Event::Alloc { size_bytes, stack, .. } => {
                let share = self.of_new::<RATES>(size_bytes);
                self.pools.came(stack, size_bytes, share);
                self.pool_cutter.came(share);
            }
            Event::Free { block, .. } => {
                let share = self.of_old::<RATES>(&block);
                self.pools.went(&block, share);
                self.pool_cutter.went(share);
            }
            _ => self.pools.unknown += 1,
        }
    }

    #[inline(always)]
    fn is_sampled<const RATES: bool>(&self) -> bool {
        RATES && self.scale.mean_bytes != 0
    }

    #[inline(always)]
    fn of_new<const RATES: bool>(&self, size_bytes: u64) -> Share {
        if RATES { self.scale.of_new(size_bytes, self.ticks) } else { Share::one(size_bytes) }
    }

    #[inline(always)]
    fn of_old<const RATES: bool>(&self, block: &Block) -> Share {
        if RATES { self.scale.of_old(block, self.ticks) } else { Share::one(block.size_bytes) }
    }

    #[inline(always)]
    fn came(&mut self, stack: StackId, size_bytes: u64, share: Share, sampled: bool) {
        self.last_alloc = self.ticks;
        self.thread.allocations += share.blocks;
        self.thread.allocated_bytes = self.thread.allocated_bytes.wrapping_add(share.bytes);
        self.stacks.row(stack).came(size_bytes, share);
        self.sizes.add(size_bytes, share);
        self.cutter.came(share);
        if sampled {
            self.sampled.note(stack, size_bytes, share, |lives, block| lives.came.add(block));
        }
    }

    /// A block is named by its thread and its ticks of birth, so these tell whether it is the last one
    /// that this thread was given.
    #[inline(always)]
    fn went(&mut self, block: &Block, share: Share, sampled: bool) {
        let born = self.ticks.wrapping_sub(block.age_ticks);
        let temporary = block.birth_thread.is_none() && self.last_alloc != 0 && born == self.last_alloc;
        self.thread.frees += share.blocks;
        self.thread.freed_bytes = self.thread.freed_bytes.wrapping_add(share.bytes);
        self.thread.others_freed += if block.birth_thread.is_some() { share.blocks } else { 0 };
        if temporary {
            self.thread.temporary += share.blocks;
            self.thread.temporary_bytes = self.thread.temporary_bytes.wrapping_add(share.bytes);
        }
        self.stacks.row(block.stack).went(block, share, temporary);
        self.lifetimes.add(self.clock.span_ns(block.age_ticks), share);
        self.cutter.went(share);
        if sampled {
            self.went_sampled(block, share, temporary);
        }
    }

    #[cold]
    fn went_sampled(&mut self, block: &Block, share: Share, temporary: bool) {
        let (stack, size_bytes) = (block.stack, block.size_bytes);
        self.sampled.note(stack, size_bytes, share, |lives, block| lives.went.add(block));
        if temporary {
            self.sampled.note(stack, size_bytes, share, |lives, block| lives.temporary.add(block));
        }
    }
}
