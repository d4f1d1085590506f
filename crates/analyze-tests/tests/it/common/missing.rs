//! What is missing of a recording: what a ring evicted, what a recorder lost; and what it has in its place.

use heapscribe_analyze::input::{ChunkFacts, ProcessFacts, SessionFacts, TableMoment};
use heapscribe_formats::{ChunkInfo, ChunkSums, EndedImages, Evicted, LiveBlock};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{StackId, ThreadId};

use super::{BEGIN_NS, BEGIN_TICKS, Recorded};

/// From the last event to the table of what is live.
pub const TABLE_AFTER_US: u64 = 10;

/// A live block.
pub(super) struct Live {
    pub(super) thread: u32,
    pub(super) us: u64,
    pub(super) size: u64,
    pub(super) stack: StackId,
    pub(super) is_pool: bool,
}

impl Recorded {
    /// Evicts the chunks that were finished first, as a ring does; with `is_late`, the last one before all others, as one
    /// does whose drainer was late.
    pub fn evict(&mut self, chunks: usize, is_late: bool) {
        self.chunks.sort_by_key(|(facts, _)| facts.last_ticks);
        if is_late && !self.chunks.is_empty() {
            self.chunks.rotate_right(1);
        }
        for (facts, payload) in self.chunks.drain(..chunks.min(self.chunks.len())) {
            let info = ChunkInfo { begin_ticks: facts.begin_ticks, ..ChunkInfo::default() };
            let process = &mut self.processes[facts.process].facts;
            let ended_ns = process.clock.ns(facts.last_ticks);
            process.evicted.chunk(&ChunkSums::of(&info, &payload), ended_ns);
            self.evicted.until_mono_ns = self.evicted.until_mono_ns.max(ended_ns);
        }
    }

    /// Evicts processes completely of which no event is left and that this picks; gives the numbers of the others.
    /// `figures` gives what is known of them, and when they ended.
    pub fn evict_processes(
        &mut self,
        is_picked: impl Fn(usize) -> bool,
        mut figures: impl FnMut(usize, &Evicted) -> (EndedImages, u64),
    ) -> Vec<usize> {
        let has_events = |number| self.chunks.iter().any(|(facts, _)| facts.process == number);
        let of = |number: usize| self.processes[number].facts.evicted;
        let is_over = |number: usize| is_picked(number) && !of(number).is_empty() && !has_events(number);
        let (over, left): (Vec<_>, Vec<_>) = (0..self.processes.len()).partition(|number| is_over(*number));
        for number in &over {
            let evicted = of(*number);
            let (ended, end_us) = figures(*number, &evicted);
            let until_mono_ns = BEGIN_NS + end_us * 1000;
            self.evicted.merge(&Evicted { processes: 1, ended, until_mono_ns, ..evicted });
        }
        let mut number = 0..;
        self.processes.retain(|_| number.next().is_some_and(|number| left.contains(&number)));
        for (facts, _) in &mut self.chunks {
            facts.process = left.iter().position(|number| *number == facts.process).expect("has events");
        }
        left
    }

    /// What is known of the recording as a whole.
    pub(super) fn session_facts(&self) -> SessionFacts {
        let evicted = if self.evicted.processes > 0 { self.evicted } else { Evicted::default() };
        let window_mono_ns = self.window_ns();
        SessionFacts { begin_mono_ns: BEGIN_NS, window_mono_ns, evicted, ..SessionFacts::default() }
    }

    /// The facts of a process.
    pub fn facts_mut(&mut self, process: usize) -> &mut ProcessFacts {
        &mut self.processes[process].facts
    }

    /// When the first moment is of which all events are there.
    pub(super) fn window_ns(&self) -> u64 {
        match self.evicted.until_mono_ns {
            0 => 0,
            until_ns => until_ns + 1,
        }
    }

    /// The us after which all events are there.
    pub fn window_us(&self) -> u64 {
        self.evicted.until_mono_ns.saturating_sub(BEGIN_NS) / 1000
    }

    /// The recorder of a process counts a loss.
    pub fn count_loss(&mut self, process: usize, reason: LossReason) {
        self.processes[process].facts.drops[reason as usize] += 1;
    }

    fn blocks(&self, process: usize) -> impl Iterator<Item = LiveBlock> + '_ {
        self.processes[process].live.values().map(|live| LiveBlock {
            size_bytes: live.size,
            stack: live.stack,
            thread: ThreadId(live.thread),
            birth_ticks: BEGIN_TICKS + live.us,
            is_pool: live.is_pool,
            ..LiveBlock::default()
        })
    }

    /// Gives what is live in a process at its end, if the recording says so, and when that was.
    pub(super) fn table(&self, process: usize, take: &mut dyn FnMut(&LiveBlock)) -> Option<TableMoment> {
        self.blocks(process).filter(|_| self.has_tables).for_each(|block| take(&block));
        let facts = &self.processes[process].facts;
        let ended = facts.clock.first_tick_at(facts.end_mono_ns);
        let last = self.chunks.iter().map(|(facts, _)| facts.last_ticks).fold(ended, u64::max);
        self.has_tables.then_some(TableMoment { ticks: last + TABLE_AFTER_US, is_after_all: true })
    }

    /// A chunk that no recorder would write.
    pub fn raw(&mut self, facts: ChunkFacts, payload: Vec<u8>) {
        self.chunks.push((facts, payload));
    }
}
