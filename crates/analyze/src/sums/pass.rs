//! The first pass over a chunk: every event is added to all sums that do not depend on where the peak is.

use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{BadEvent, Block, Call, Event};

use super::process::ProcessSums;
use crate::annotations::{AnnotationPass, PoolSums};
use crate::answer::Amount;
use crate::counters::{
    Histogram, LargeSums, Life, LifeStep, StackRow, ThreadSums, is_small_step, over_alignment,
};
use crate::events::{HeapCall, Scale};
use crate::findings::limits::LATE_FREE_BLOCK_BYTES;
use crate::input::{Clock, EventsInOrder, NumberedChunk};
use crate::latency::{LastCall, Latency, TimedCall};
use crate::mappings::MappingEvents;
use crate::sampling::{SampledLives, Samples, Weight};
use crate::stacks::StackTable;
use crate::timeline::{Cutter, Grid};

/// Sums a chunk, up to bytes that are no event; whether there are such. `mean_of` says the mean bytes of a rate.
pub(crate) fn add_chunk(
    sums: &mut ProcessSums,
    chunk: &NumberedChunk,
    (clock, life): (&Clock, &Life),
    grid: &Grid,
    mean_of: &dyn Fn(RateId) -> u64,
    events: impl EventsInOrder,
) -> bool {
    let facts = &chunk.facts;
    let pass = ChunkPass {
        stacks: &mut sums.stacks,
        large: &mut sums.large,
        sampled: &mut sums.sampled,
        rates: &mut sums.rates,
        sizes: &mut sums.sizes,
        lifetimes: &mut sums.lifetimes,
        lost: &mut sums.lost,
        pool_cutter: Cutter::new(chunk, clock, grid, &mut sums.annotations.pools.segments),
        pools: &mut sums.annotations.pools.sums,
        annotations: AnnotationPass::new(&mut sums.annotations.marks, &mut sums.annotations.sections),
        cutter: Cutter::new(chunk, clock, grid, &mut sums.segments),
        clock,
        life,
        life_step: LifeStep::default(),
        latency: &mut sums.latency,
        mappings: &mut sums.mappings,
        last: None,
        thread: ThreadSums::default(),
        scale: Scale::new(facts.thread),
        ticks: facts.begin_ticks,
        last_alloc: facts.last_alloc_ticks,
    };
    let (mut thread, bad) = pass.run(events, mean_of);
    thread.calls = if facts.is_made_up { Default::default() } else { thread.calls };
    sums.threads.entry(facts.thread).or_default().merge(&thread);
    bad.is_some()
}

/// A chunk on its way through the sums.
struct ChunkPass<'a> {
    stacks: &'a mut StackTable<StackRow>,
    large: &'a mut StackTable<LargeSums>,
    sampled: &'a mut Samples<SampledLives>,
    rates: &'a mut u8,
    sizes: &'a mut Histogram,
    lifetimes: &'a mut Histogram,
    lost: &'a mut [u64; DROP_COUNTERS],
    cutter: Cutter<'a>,
    pools: &'a mut PoolSums,
    pool_cutter: Cutter<'a>,
    annotations: AnnotationPass<'a>,
    clock: &'a Clock,
    life: &'a Life,
    life_step: LifeStep,
    latency: &'a mut Latency,
    mappings: &'a mut MappingEvents,
    /// The call before, of which the next event may say how long it took.
    last: Option<LastCall>,
    thread: ThreadSums,
    scale: Scale,
    ticks: u64,
    last_alloc: u64,
}

impl ChunkPass<'_> {
    /// Takes all events, up to the first that is none or, without `RATES`, with the first rate: what
    /// follows is returned.
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
                    self.last_alloc = 0; // another may be among what is missing
                    let lost = &mut self.lost[usize::from(reason).min(DROP_COUNTERS - 1)];
                    *lost = lost.saturating_add(count);
                }
                (dt, Event::Note { note, name }) => {
                    self.ticks = self.ticks.wrapping_add(dt);
                    self.annotations.note(note, name, self.ticks);
                }
                (dt, Event::Mapping(mapping)) => {
                    self.ticks = self.ticks.wrapping_add(dt);
                    self.mappings.add(self.ticks, mapping);
                }
                (_, Event::Took { units }) => self.took(units),
                (dt, event) => self.take::<RATES>(dt, event),
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

    /// A rate that is repeated while it is in force says that the thread was given blocks that were not
    /// sampled: the last one recorded is no longer its last.
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
        if self.annotations.is_in_section() {
            self.annotations.took(ns);
        }
        if let Some(call) = self.last.take() {
            let (step, thread) = (self.cutter.step(), self.scale.thread());
            self.latency.add(&call, &TimedCall { ns, step, thread, ticks: self.ticks });
        }
    }

    /// An event is next that is none of a pool's.
    #[inline(always)]
    fn begin(&mut self, event: Event) {
        self.cutter.at(self.ticks);
        self.life_step.at(self.life, self.ticks);
        if self.annotations.is_in_section() {
            self.in_section(event);
        }
    }

    /// Nothing of an event is passed by reference to what is not inlined, and nothing is asked of it before it is known
    /// which it is: it would have to be put together in memory then, which takes longer than all that is done with it.
    #[inline(always)]
    fn take<const RATES: bool>(&mut self, dt: u64, event: Event) {
        self.ticks = self.ticks.wrapping_add(dt);
        match event {
            Event::Alloc { call, size_bytes, stack, align_log2 } => {
                if call.is_pool() {
                    return self.pool::<RATES>(event);
                }
                self.begin(event);
                self.last = Some(LastCall { call, size_bytes, stack });
                let weight = self.of_new::<RATES>(size_bytes);
                if align_log2 > 4 {
                    self.aligned(stack, size_bytes, align_log2, weight);
                }
                self.thread.calls[call as usize] += weight.blocks;
                self.alloc(stack, size_bytes, weight, self.is_sampled::<RATES>());
            }
            Event::Free { call, block } => {
                if call.is_pool() {
                    return self.pool::<RATES>(event);
                }
                self.begin(event);
                self.last = Some(LastCall { call, size_bytes: block.size_bytes, stack: block.stack });
                let weight = self.of_old::<RATES>(&block);
                // Half of a realloc whose other block was not sampled: such calls are counted by the
                // blocks that were allocated.
                let half = self.is_sampled::<RATES>() && matches!(call, Call::Realloc | Call::Reallocarray);
                self.thread.calls[call as usize] += if half { 0 } else { weight.blocks };
                self.freed_perhaps_large(block, weight, false);
                self.free(&block, weight, self.is_sampled::<RATES>());
            }
            Event::Realloc { call, old, size_bytes, stack } => {
                if call.is_pool() {
                    return self.pool::<RATES>(event);
                }
                self.begin(event);
                self.last = Some(LastCall { call, size_bytes, stack });
                let (weight, new) = (self.of_old::<RATES>(&old), self.of_new::<RATES>(size_bytes));
                self.thread.calls[call as usize] += new.blocks;
                // Both blocks were sampled, each by itself.
                let calls = weight.blocks.saturating_mul(new.blocks);
                self.thread.count_resize(old.size_bytes, size_bytes, calls);
                if is_small_step(old.size_bytes, size_bytes) && !self.is_sampled::<RATES>() {
                    let step = Amount { blocks: 1, bytes: old.size_bytes };
                    self.stacks.row(stack).patterns.small_steps.add(&step);
                }
                self.freed_perhaps_large(old, weight, true);
                self.free(&old, weight, self.is_sampled::<RATES>());
                self.alloc(stack, size_bytes, new, self.is_sampled::<RATES>());
            }
            other => self.take_other::<RATES>(other),
        }
    }

    /// What is seldom.
    #[cold]
    fn take_other<const RATES: bool>(&mut self, event: Event) {
        if event.is_pool() {
            return self.pool::<RATES>(event);
        }
        self.begin(event);
        match event {
            Event::Failed { call, size_bytes, stack } => {
                self.last = Some(LastCall { call, size_bytes, stack });
                self.thread.calls[call as usize] += 1;
                self.thread.failed += 1;
                self.stacks.row(stack).failed += 1;
            }
            Event::UnknownFree { call } => {
                self.last = Some(LastCall { call, size_bytes: 0, stack: StackId::UNKNOWN });
                self.thread.calls[call as usize] += 1;
                self.thread.unknown += 1;
            }
            Event::UnknownRealloc { call, size_bytes, stack } => {
                self.last = Some(LastCall { call, size_bytes, stack });
                self.thread.calls[call as usize] += 1;
                self.thread.unknown += 1;
                self.alloc(stack, size_bytes, Weight::one(size_bytes), false);
            }
            _ => {}
        }
    }

    /// A block that asked for an alignment.
    #[cold]
    fn aligned(&mut self, stack: StackId, size_bytes: u64, align_log2: u8, weight: Weight) {
        if let Some(over) = over_alignment(size_bytes, align_log2) {
            let amount = Amount { blocks: weight.blocks, bytes: over.saturating_mul(weight.blocks) };
            self.stacks.row(stack).patterns.over_aligned.add(&amount);
        }
    }

    /// A large block is allocated.
    #[cold]
    fn allocated_large(&mut self, stack: StackId, weight: Weight) {
        let amount = Amount { blocks: weight.blocks, bytes: weight.bytes };
        self.large.row(stack).alloc(self.life, self.ticks, &amount);
    }

    #[inline(always)]
    fn freed_perhaps_large(&mut self, block: Block, weight: Weight, is_realloc: bool) {
        if block.size_bytes >= LATE_FREE_BLOCK_BYTES {
            self.freed_large(block, weight, is_realloc);
        }
    }

    /// A large block is freed.
    #[cold]
    fn freed_large(&mut self, block: Block, weight: Weight, is_realloc: bool) {
        let amount = Amount { blocks: weight.blocks, bytes: weight.bytes };
        self.large.row(block.stack).free(self.life, block.age_ticks, self.ticks, &amount, is_realloc);
    }

    /// A call in a section of the program.
    #[cold]
    fn in_section(&mut self, event: Event) {
        self.annotations.called(HeapCall::of(&event, &self.scale, self.ticks).as_ref(), self.ticks);
    }

    /// A pool's blocks lie in blocks of the heap, which are counted already.
    #[cold]
    fn pool<const RATES: bool>(&mut self, event: Event) {
        self.pool_cutter.at(self.ticks);
        self.last = LastCall::of(&event);
        match event {
            Event::Alloc { size_bytes, stack, .. } => {
                let weight = self.of_new::<RATES>(size_bytes);
                self.pools.alloc(stack, size_bytes, weight, self.is_sampled::<RATES>());
                self.pool_cutter.alloc(weight);
            }
            Event::Free { block, .. } => {
                let weight = self.of_old::<RATES>(&block);
                self.pools.free(&block, weight, self.is_sampled::<RATES>());
                self.pool_cutter.free(weight);
            }
            _ => self.pools.unknown += 1,
        }
    }

    #[inline(always)]
    fn is_sampled<const RATES: bool>(&self) -> bool {
        RATES && self.scale.mean_bytes != 0
    }

    #[inline(always)]
    fn of_new<const RATES: bool>(&self, size_bytes: u64) -> Weight {
        if RATES { self.scale.of_new(size_bytes, self.ticks) } else { Weight::one(size_bytes) }
    }

    #[inline(always)]
    fn of_old<const RATES: bool>(&self, block: &Block) -> Weight {
        if RATES { self.scale.of_old(block, self.ticks) } else { Weight::one(block.size_bytes) }
    }

    #[inline(always)]
    fn alloc(&mut self, stack: StackId, size_bytes: u64, weight: Weight, sampled: bool) {
        self.last_alloc = self.ticks;
        self.thread.allocations += weight.blocks;
        self.thread.allocated_bytes = self.thread.allocated_bytes.wrapping_add(weight.bytes);
        self.stacks.row(stack).alloc(size_bytes, weight, self.life_step.number);
        self.sizes.add(size_bytes, weight);
        self.cutter.alloc(weight);
        if size_bytes >= LATE_FREE_BLOCK_BYTES {
            self.allocated_large(stack, weight);
        }
        if sampled {
            self.sampled.note(stack, size_bytes, weight, |lives, block| lives.allocated.add(block));
        }
    }

    /// A block is named by its thread and its ticks of birth, so these tell whether it is the last one
    /// that this thread was given.
    #[inline(always)]
    fn free(&mut self, block: &Block, weight: Weight, sampled: bool) {
        let born = self.ticks.wrapping_sub(block.age_ticks);
        let temporary = block.birth_thread.is_none() && self.last_alloc != 0 && born == self.last_alloc;
        self.thread.frees += weight.blocks;
        self.thread.freed_bytes = self.thread.freed_bytes.wrapping_add(weight.bytes);
        self.thread.others_freed += if block.birth_thread.is_some() { weight.blocks } else { 0 };
        if temporary {
            self.thread.temporary += weight.blocks;
            self.thread.temporary_bytes = self.thread.temporary_bytes.wrapping_add(weight.bytes);
        }
        self.stacks.row(block.stack).free(block, weight, temporary, self.life_step.number);
        self.lifetimes.add(self.clock.span_ns(block.age_ticks), weight);
        self.cutter.free(weight);
        if sampled {
            self.free_sampled(*block, weight, temporary);
        }
    }

    #[cold]
    fn free_sampled(&mut self, block: Block, weight: Weight, temporary: bool) {
        let (stack, size_bytes) = (block.stack, block.size_bytes);
        self.sampled.note(stack, size_bytes, weight, |lives, block| lives.freed.add(block));
        if temporary {
            self.sampled.note(stack, size_bytes, weight, |lives, block| lives.temporary.add(block));
        }
    }
}
