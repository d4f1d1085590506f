//! What is live in a process, by stack, thread, size and age.

use heapscribe_formats::{HowEnded, LiveTable, ModeChange, Process};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::mode::Mode;

use crate::answer::estimate::{self, Estimate, Figure, StackEstimates};
use crate::answer::{
    Amount, Answer, Bounds, CallTree, Dropped, LifetimeClass, NodeId, PoolStack, Pools, Range, SizeClass,
    Stack,
};

/// What is live in a process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// The process, as its trace describes it.
    pub process: Process,
    /// Name of the machine.
    pub host: String,
    /// The table: when, how true, what had been allocated until then.
    pub table: LiveTable,
    /// How long the process had been recorded, ns.
    pub age_ns: u64,
    /// All that is live in the heap; of a table of which blocks are missing, what the others are.
    pub live: Amount,
    /// Blocks of the table that could not be read: the file was cut, or is damaged.
    pub missing_blocks: u64,
    /// Whether the file ends before it says what the recorder lost.
    pub lacks_end: bool,
    /// What is live in pools that the program manages itself, inside blocks of the heap: in no other sum.
    pub pools: Amount,
    /// How sure that is, when some of them were sampled.
    pub pools_estimate: Option<Estimate>,
    /// The same by stack, in the order of the nodes.
    pub pool_stacks: Vec<LiveStack>,
    /// Size of the largest block of pools.
    pub largest_pool_block_bytes: u64,
    /// By stack, in the order of the nodes.
    pub stacks: Vec<LiveStack>,
    /// The nodes of these, by the numbers of stacks in the process.
    pub nodes: Vec<(StackId, NodeId)>,
    /// By thread that allocated, in the order of their numbers.
    pub threads: Vec<LiveThread>,
    /// By size.
    pub sizes: Vec<SizeClass>,
    /// By age.
    pub ages: Vec<LifetimeClass>,
    /// The calls that lead to the stacks.
    pub tree: CallTree,
    /// When blocks were sampled: how sure the sums are, all of which are then estimates.
    pub sampling: Option<LiveSampling>,
    /// What is missing, by reason.
    pub dropped: Vec<Dropped>,
    /// What is wrong with the trace or has to be known to read the answer, for people.
    pub problems: Vec<String>,
}

/// What one stack holds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LiveStack {
    /// Its innermost frame.
    pub node: NodeId,
    /// What it holds.
    pub live: Amount,
    /// Age of its youngest block, ns.
    pub youngest_ns: u64,
    /// Age of its oldest block, ns.
    pub oldest_ns: u64,
    /// How sure that is, when blocks were sampled.
    pub estimate: Option<Estimate>,
}

/// What one thread allocated of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveThread {
    /// Its number in the process.
    pub id: u32,
    /// The kernel's number; 0 when it is not known.
    pub tid: u32,
    /// Its name when it was first seen.
    pub name: Vec<u8>,
    /// What it allocated.
    pub live: Amount,
}

/// How sure the sums are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LiveSampling {
    /// The means of all rates that live blocks were sampled at, in bytes, ascending.
    pub mean_bytes: Vec<u64>,
    /// All that is live.
    pub live: Estimate,
    /// Blocks beside the samples that were recorded without sampling.
    pub exact_blocks: u64,
}

impl Snapshot {
    /// The same as the answer of a recording that ended at this instant: what is live is what was never
    /// freed. There is nothing else in it.
    pub fn to_answer(&self) -> Answer {
        let stack = |of: &LiveStack| Stack { node: of.node, leaked: of.live, ..Stack::default() };
        let pool_stack =
            |of: &LiveStack| PoolStack { node: of.node, leaked: of.live, ..PoolStack::default() };
        let pool_stacks = self.pool_stacks.iter().map(pool_stack).collect();
        let estimates = |of: &LiveStack| StackEstimates {
            leaked: of.estimate.unwrap_or_default(),
            ..StackEstimates::default()
        };
        let sampling = self.sampling.as_ref().map(|_| estimate::Sampling {
            stacks: self.stacks.iter().map(estimates).collect(),
            ..estimate::Sampling::default()
        });
        let info = self.process.info.as_ref();
        Answer {
            begin_mono_ns: self.table.mono_ns,
            begin_real_ns: self.table.real_ns,
            command: info.map(|info| info.command.clone()).unwrap_or_default(),
            host: self.host.clone(),
            leaked: self.live,
            complete: !self.is_cut(),
            stacks: self.stacks.iter().map(stack).collect(),
            pools: Pools { leaked: self.pools, stacks: pool_stacks, ..Pools::default() },
            tree: self.tree.clone(),
            dropped: self.dropped.clone(),
            sampling,
            problems: self.problems.clone(),
            ..Answer::default()
        }
    }

    /// How many of a reason are missing.
    fn lost(&self, reason: LossReason) -> u64 {
        let of_reason = self.dropped.iter().filter(|dropped| dropped.reason == reason as u8);
        of_reason.map(|dropped| dropped.count).fold(0, u64::saturating_add)
    }

    /// Blocks that have no slot in the table, those that were freed by then too.
    pub fn untracked(&self) -> u64 {
        self.lost(LossReason::LiveTable)
    }

    /// Events that are missing, of which neither the table nor the counters know.
    pub fn lost_events(&self) -> u64 {
        let losses = LossReason::ALL.into_iter().filter(|reason| reason.loses_events());
        losses.map(|reason| self.lost(reason)).fold(0, u64::saturating_add)
    }

    /// Whether parts of the file are missing that tell what is live.
    pub fn is_cut(&self) -> bool {
        self.missing_blocks > 0 || self.lacks_end
    }

    /// The same with estimates open above, where recording was off for a time: what is live of that is in none.
    pub(super) fn open_above(mut self) -> Snapshot {
        if self.was_off() {
            let of_all = self.sampling.iter_mut().map(|sampling| &mut sampling.live);
            let stacks = self.stacks.iter_mut().chain(&mut self.pool_stacks);
            let of_stacks = stacks.filter_map(|stack| stack.estimate.as_mut());
            of_all.chain(&mut self.pools_estimate).chain(of_stacks).for_each(Estimate::open_above);
        }
        self
    }

    /// Whether recording was off for a time before: what was allocated then is not in the table.
    pub fn was_off(&self) -> bool {
        let is_before = |change: &&ModeChange| change.mono_ns <= self.table.mono_ns;
        let mut modes = self.process.end.iter().flat_map(|end| &end.modes).filter(is_before);
        modes.any(|change| change.mode == Mode::Off)
    }

    /// Between what all that is live lies; `None` where the table has all of it, or samples. A block without a slot is
    /// counted when it is allocated, and unknown when it is freed; one whose event was lost has no slot, and leaves it.
    /// Of blocks that are missing of the file their number is known; nobody knows what of estimates is missing with them,
    /// nor what was allocated while recording was off, for which estimates have no upper end.
    pub fn bounds(&self) -> Option<Bounds> {
        let (lost, was_off) = (self.lost_events(), self.was_off());
        if let Some(sampling) = &self.sampling {
            return self.bounds_of_samples(&sampling.live);
        }
        if lost == 0 && self.untracked() == 0 && !self.is_cut() && !was_off {
            return None;
        }
        let in_table = self.live.blocks.saturating_add(self.missing_blocks);
        let t = &self.table;
        let left = Amount {
            blocks: t.allocated_blocks.saturating_sub(t.freed_blocks),
            bytes: t.allocated_bytes.saturating_sub(t.freed_bytes),
        };
        // What is missing of the table may be of pools, which the counters do not count.
        let least = left.blocks.clamp(self.live.blocks, in_table);
        let most = left.max(Amount { blocks: in_table, ..self.live });
        let stale = self.stale();
        let largest = match self.missing_blocks {
            0 => self.sizes.iter().map(|class| class.to_bytes).max().unwrap_or(0),
            _ => u64::MAX,
        };
        let low = self.live.bytes.saturating_sub(stale.saturating_mul(largest));
        let high = most.blocks.saturating_add(lost);
        Some(Bounds {
            blocks: Range {
                low: least.saturating_sub(stale),
                high: (!self.lacks_end && !was_off).then_some(high),
            },
            bytes: Range { low, high: (lost == 0 && !self.is_cut() && !was_off).then_some(most.bytes) },
        })
    }

    /// Of what is live, by this estimate: at least the lower end of its range where the table does not have all blocks.
    fn bounds_of_samples(&self, live: &Estimate) -> Option<Bounds> {
        let is_any = self.missing_blocks > 0 || self.lost_events() > 0 || self.untracked() > 0;
        let has_least = self.missing_blocks == 0 && self.stale() == 0;
        let low = |figure: &Figure| if has_least { figure.low.max(0.0) as u64 } else { 0 };
        let least = Amount { blocks: low(&live.blocks), bytes: low(&live.bytes) };
        is_any.then(|| Bounds::between(least, None))
    }

    /// The same of pools, of which no counter knows: any block without a slot, and any event that is missing, may be
    /// of one.
    pub fn pool_bounds(&self) -> Option<Bounds> {
        let (lost, was_off) = (self.lost_events(), self.was_off());
        if let Some(estimate) = &self.pools_estimate {
            return self.bounds_of_samples(estimate);
        }
        if lost == 0 && self.untracked() == 0 && !self.is_cut() && !was_off {
            return None;
        }
        let stale = self.stale();
        let others = [self.untracked(), lost, self.missing_blocks];
        let high = others.into_iter().fold(self.pools.blocks, u64::saturating_add);
        let low_bytes = self.pools.bytes.saturating_sub(stale.saturating_mul(self.largest_pool_block_bytes));
        Some(Bounds {
            blocks: Range {
                low: self.pools.blocks.saturating_sub(stale),
                high: (!self.lacks_end && !was_off).then_some(high),
            },
            bytes: Range {
                low: if self.missing_blocks > 0 && stale > 0 { 0 } else { low_bytes },
                high: None,
            },
        })
    }

    /// Blocks of the table that may have been freed: a free that nobody saw leaves its slot.
    fn stale(&self) -> u64 {
        let known = self.lost(LossReason::LogFull).saturating_add(self.lost(LossReason::NoSession));
        self.lost_events().saturating_sub(known)
    }

    /// Whether the process had ended when it was looked at.
    pub fn has_ended(&self) -> bool {
        let is_end = |how| matches!(how, HowEnded::Exited | HowEnded::Killed(_) | HowEnded::Unseen);
        self.process.end.as_ref().is_some_and(|end| is_end(end.how))
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_formats::ProcessEnd;

    use super::*;

    /// `ps` and `snapshot` of a service that was off for a night said what was live with an upper end.
    #[test]
    fn a_time_before_in_which_recording_was_off_opens_the_upper_end() {
        let figure = Figure { value: 9.0, variance: 1.0, low: 8.0, high: 10.0 };
        let live = Estimate { samples: 9, blocks: figure, bytes: figure };
        let check = |mode, mono_ns, is_open: bool| {
            let change = ModeChange { mono_ns, mode };
            let end = ProcessEnd { modes: vec![change], ..ProcessEnd::default() };
            let process = Process { end: Some(end), ..Process::default() };
            let stacks = vec![LiveStack { estimate: Some(live), ..LiveStack::default() }];
            let sampling = Some(LiveSampling { live, ..LiveSampling::default() });
            let table = LiveTable { mono_ns: 5, ..LiveTable::default() };
            let (pool_stacks, pools_estimate) = (stacks.clone(), Some(live));
            let snapshot = Snapshot { process, stacks, sampling, table, ..Snapshot::default() };
            let snapshot = Snapshot { pool_stacks, pools_estimate, ..snapshot }.open_above();
            let stacks = [&snapshot.stacks, &snapshot.pool_stacks].map(|of| of[0].estimate.unwrap());
            let of_all = [snapshot.sampling.as_ref().unwrap().live, snapshot.pools_estimate.unwrap()];
            for of in of_all.into_iter().chain(stacks) {
                assert_eq!([of.blocks.low, of.bytes.low], [8.0; 2]);
                assert_eq!([of.blocks.high, of.bytes.high].map(f64::is_infinite), [is_open; 2]);
            }
            assert_eq!(snapshot.bounds(), None);
        };
        check(Mode::Off, 3, true);
        check(Mode::Off, 7, false);
        check(Mode::Full, 3, false);
    }

    /// Of pools nobody counts what was allocated: what is missing of the table may be any of them.
    #[test]
    fn of_pools_the_table_is_the_least() {
        let check = |reason: LossReason, low: (u64, u64), most_blocks: u64| {
            let dropped = vec![Dropped { reason: reason as u8, count: 7 }];
            let (pools, end) = (Amount { blocks: 50, bytes: 1000 }, Some(ProcessEnd::default()));
            let process = Process { end, ..Process::default() };
            let snapshot =
                Snapshot { process, pools, largest_pool_block_bytes: 30, dropped, ..Snapshot::default() };
            let bounds = snapshot.pool_bounds().unwrap();
            assert_eq!((bounds.blocks.low, bounds.bytes.low), low);
            assert_eq!((bounds.blocks.high, bounds.bytes.high), (Some(most_blocks), None));
        };
        check(LossReason::LiveTable, (50, 1000), 57);
        check(LossReason::LogFull, (50, 1000), 57);
        check(LossReason::Reentered, (43, 790), 57);
        assert_eq!(Snapshot::default().pool_bounds(), None);
    }
}
