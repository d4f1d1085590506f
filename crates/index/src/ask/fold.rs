//! What events did to blocks, added up over all chunks of a time.

use std::ops::ControlFlow;

use heapscribe_analyze::events::BlockChange;
use heapscribe_analyze::input::History;
use heapscribe_wire::record::{Block, Event};
use rayon::prelude::*;

use super::edges::{Events, TimedChunk};
use crate::amount::Amount;
use crate::key::{Key, SizeClass};
use crate::question::Span;

/// What an event did to a block.
pub(super) enum Change {
    Born { key: Key, amount: Amount, size_bytes: u64, ns: u64 },
    Died { key: Key, amount: Amount, size_bytes: u64, born_ns: u64, ns: u64, age_ns: u64 },
}

impl TimedChunk {
    /// What blocks of this chunk are counted under that a thread allocated.
    #[inline(always)]
    pub(super) fn key(&self, block: &BlockChange, thread: u32) -> Key {
        let (process, size) = (self.facts.process as u32, SizeClass::of(block.size_bytes));
        Key { process, stack: block.stack, thread, size }
    }
}

/// What a block stands for.
#[inline(always)]
pub(super) fn amount(block: &BlockChange) -> Amount {
    Amount::new(block.weight.blocks, block.weight.bytes)
}

impl<H: History> Events<'_, H> {
    /// Goes over all chunks that reach into a stretch of time, several at a time: a sum for each run of them.
    pub(super) fn fold<T: Send>(
        &self,
        time: &Span,
        none: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, Change) + Sync,
    ) -> Vec<T> {
        self.runs(time, |run| {
            let (mut sum, mut scratch) = (none(), H::Scratch::default());
            for chunk in run {
                self.fold_chunk(chunk, &mut scratch, |change| add(&mut sum, change));
            }
            sum
        })
    }

    /// What each run of the chunks that reach into a stretch of time gives, several at a time.
    pub(super) fn runs<T: Send>(
        &self,
        time: &Span,
        of_run: impl Fn(&[&TimedChunk]) -> T + Sync + Send,
    ) -> Vec<T> {
        let reaches_in = |chunk: &&TimedChunk| chunk.begin_ns < time.to_ns && chunk.last_ns >= time.from_ns;
        let chunks: Vec<&TimedChunk> = self.chunks.iter().filter(reaches_in).collect();
        let per_run = chunks.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        chunks.par_chunks(per_run).map(of_run).collect()
    }

    fn fold_chunk(&self, chunk: &TimedChunk, scratch: &mut H::Scratch, mut add: impl FnMut(Change)) {
        let (own_thread, clock) = (chunk.facts.thread, &self.clocks[chunk.facts.process]);
        self.each_event(chunk, scratch, |ticks, event, scale| {
            let changes = scale.changes(event, ticks);
            if let (Some(freed), Event::Free { block, .. } | Event::Realloc { old: block, .. }) =
                (changes.freed, event)
            {
                let Block { age_ticks, birth_thread, .. } = block;
                let thread = birth_thread.map_or(own_thread, |thread| thread.0);
                let (born_ns, ns) = (clock.ns(ticks.wrapping_sub(*age_ticks)), clock.ns(ticks));
                let age_ns = clock.span_ns(*age_ticks);
                let (key, amount, size_bytes) = (chunk.key(&freed, thread), amount(&freed), freed.size_bytes);
                add(Change::Died { key, amount, size_bytes, born_ns, ns, age_ns });
            }
            if let Some(block) = changes.allocated {
                let (key, size_bytes) = (chunk.key(&block, own_thread), block.size_bytes);
                add(Change::Born { key, amount: amount(&block), size_bytes, ns: clock.ns(ticks) });
            }
            ControlFlow::Continue(())
        });
    }
}
