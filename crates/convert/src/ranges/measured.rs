//! What is known of a range beside blocks and bytes by key: what a heap gives for them, and the heap of each thread over
//! time.

use std::collections::BTreeMap;

use heapscribe_analyze::input::History;
use heapscribe_index::{
    Amount, Columns, Density, GivenBytes, Index, Key, KeyFilter, Question, SizeClass, Span,
};

use super::asked::{EVENTS_AT_ONCE, Ranges};
use crate::file_source::FileSource;

/// Stretches of time of a recording whose events are all read.
const STEPS: u64 = 500;
/// Stretches of one of which only the index is: each takes a pass over its sums.
const INDEXED_STEPS: usize = 200;

/// What the blocks of each thread take over time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadCurves {
    /// When each stretch begins, ns from the start; the last one ends with the recording.
    pub from_ns: Vec<u64>,
    /// By process and thread, what of its blocks is live at the end of each stretch, bytes.
    pub threads: BTreeMap<(u32, u32), Vec<u64>>,
}

impl<H: History> Ranges<'_, H> {
    /// What a heap gives for the blocks of a question, by class of sizes; none where so many events would have to be
    /// read that nobody would wait for them.
    pub fn given(
        &self,
        question: &Question,
        given: impl Fn(u64) -> u64 + Sync,
        is_wanted: &(impl Fn(&Key) -> bool + Sync),
    ) -> Option<BTreeMap<SizeClass, GivenBytes>> {
        let is_little = self.events().count_of(question) <= EVENTS_AT_ONCE;
        is_little.then(|| self.events().given(question, given, is_wanted))
    }

    /// What was allocated or freed in each of many stretches of time, and within one; none where so many events would have
    /// to be read that nobody would wait for them.
    pub fn density(
        &self,
        columns: &Columns,
        within: &Span,
        of: Density,
        filter: Option<KeyFilter<'_>>,
    ) -> Option<Vec<Amount>> {
        let is_little = self.events().count(&columns.time()) <= EVENTS_AT_ONCE;
        is_little.then(|| self.events().density(columns, within, of, filter))
    }

    /// The heap of each thread: the blocks that it allocated, whoever frees them. Of a recording of many events the
    /// stretches are those of which the index has sums.
    pub fn heap_of_threads(&self) -> ThreadCurves {
        match self.index() {
            Some(index) if self.events().count(&Span::ALL) > EVENTS_AT_ONCE => self.by_index(index),
            _ => self.by_events(),
        }
    }

    fn by_events(&self) -> ThreadCurves {
        let extent = self.extent();
        let step_ns = extent.duration_ns.saturating_add(1).div_ceil(STEPS).max(1);
        let count = extent.duration_ns.saturating_add(1).div_ceil(step_ns) as usize;
        let columns = Columns { begin_ns: extent.begin_ns, step_ns, count };
        let mut nets = BTreeMap::<(u32, u32), Vec<i64>>::new();
        for row in self.events().of_threads(&columns) {
            nets.entry((row.process, row.thread)).or_insert_with(|| vec![0; count])[row.step] = row.net_bytes;
        }
        let ends_ns = self.events().ends_ns();
        let level = |((process, thread), nets): ((u32, u32), Vec<i64>)| {
            let end_ns = ends_ns.get(process as usize).copied().flatten();
            let ended = end_ns.map_or(count, |ns| (ns.saturating_sub(extent.begin_ns) / step_ns) as usize);
            let mut held = 0i64;
            let levels = nets.into_iter().enumerate().map(|(step, net)| {
                held = held.wrapping_add(net);
                // What it holds when it ends goes with it.
                if step < ended { u64::try_from(held).unwrap_or(0) } else { 0 }
            });
            ((process, thread), levels.collect())
        };
        let from_ns = (0..count as u64).map(|step| step * step_ns).collect();
        ThreadCurves { from_ns, threads: nets.into_iter().map(level).collect() }
    }

    fn by_index(&self, index: &Index<FileSource>) -> ThreadCurves {
        let extent = self.extent();
        let leaves = index.axis().begins_ns();
        let per_step = leaves.len().div_ceil(INDEXED_STEPS).max(1);
        let is_inside = |ns: &u64| (extent.begin_ns..extent.begin_ns + extent.duration_ns).contains(ns);
        let mut begins_ns = vec![extent.begin_ns];
        begins_ns.extend(leaves.iter().step_by(per_step).copied().filter(is_inside));
        begins_ns.dedup();
        let last_ns = begins_ns.iter().skip(1).map(|ns| ns - 1).chain([extent.begin_ns + extent.duration_ns]);
        let questions: Vec<Question> = last_ns.map(Question::live_at).collect();
        let mut threads = BTreeMap::<(u32, u32), Vec<u64>>::new();
        self.ask_each(&questions, &mut |number, answer| {
            for (key, amount) in answer.sums {
                let levels = threads.entry((key.process, key.thread));
                let levels = levels.or_insert_with(|| vec![0; questions.len()]);
                levels[number] = levels[number].saturating_add_signed(amount.bytes);
            }
        });
        let from_ns = begins_ns.iter().map(|ns| ns.saturating_sub(extent.begin_ns)).collect();
        ThreadCurves { from_ns, threads }
    }
}
