//! What events did to blocks, added up over all chunks of a time.

use std::ops::ControlFlow;

use heapscribe_analyze::events::BlockChange;
use heapscribe_analyze::input::History;
use rayon::prelude::*;

use super::edges::{Changed, Died, Events, TimedChunk, amount};
use crate::amount::Amount;
use crate::key::Key;
use crate::question::Span;
use crate::slots::LocalKey;

/// What an event did to a block.
pub(super) enum Change {
    Born { key: Key, amount: Amount, size_bytes: u64, ns: u64 },
    Died { key: Key, amount: Amount, size_bytes: u64, born_ns: u64, ns: u64, age_ns: u64 },
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
        let chunks: Vec<&TimedChunk> = self.chunks.iter().filter(|chunk| chunk.reaches_into(time)).collect();
        let per_run = chunks.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        chunks.par_chunks(per_run).map(of_run).collect()
    }

    fn fold_chunk(&self, chunk: &TimedChunk, scratch: &mut H::Scratch, mut add: impl FnMut(Change)) {
        let (process, clock) = (chunk.facts.process, &self.clocks[chunk.facts.process]);
        let key = |block: &BlockChange, thread| LocalKey::of(block, thread).in_process(process);
        self.each_change(chunk, scratch, |ticks, Changed { born, died }| {
            let ns = clock.ns(ticks);
            if let Some(Died { block, thread, age_ticks }) = died {
                add(Change::Died {
                    key: key(&block, thread),
                    amount: amount(&block),
                    size_bytes: block.size_bytes,
                    born_ns: clock.ns(ticks.wrapping_sub(age_ticks)),
                    ns,
                    age_ns: clock.span_ns(age_ticks),
                });
            }
            if let Some(block) = born {
                let key = key(&block, chunk.facts.thread);
                add(Change::Born { key, amount: amount(&block), size_bytes: block.size_bytes, ns });
            }
            ControlFlow::Continue(())
        });
    }
}
