//! Answers to what is live: of a table of blocks, as a snapshot has it. No event is needed - a block says
//! what it is - so there is no peak and no leak in it, only what is there, whose it is and since when.
//!
//! In a recording of *events* a table of what was live before them is something else: blocks that came by
//! events which are not there, see [`crate::Recording`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use heapscribe_formats::{HowEnded, LiveBlock, LiveRole, LiveTable, Process, Scratch, Source, Trace};
use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::ids::{RateId, StackId, ThreadId};

use crate::amounts::add_amount;
use crate::answer::{Amount, Answer, CallTree, Dropped, LifetimeClass, NodeId, SizeClass, Stack};
use crate::estimate::{self, Estimate, StackEstimates};
use crate::histogram::Histogram;
use crate::nodes::{Definitions, Merger};
use crate::rates::{self, Means};
use crate::sampling;
use crate::totals;
use crate::weight::{Moments, Samples, Share};

/// What is live in a process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// The process, as its trace tells of it.
    pub process: Process,
    /// Name of the machine.
    pub host: String,
    /// The table: when, how true, what had been allocated until then.
    pub table: LiveTable,
    /// How long the process had been recorded, ns.
    pub age_ns: u64,
    /// All that is live, pools included.
    pub live: Amount,
    /// The part of it that the program itself handed out, from pools.
    pub pools: Amount,
    /// By stack, in the order of the nodes.
    pub stacks: Vec<LiveStack>,
    /// The nodes of the stacks, by their numbers in the process.
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
}

/// Whether a trace is there for its tables: it has snapshots and no events.
pub fn is_one<S: Source>(trace: &Trace<S>) -> bool {
    trace.chunks().is_empty() && tables(trace).next().is_some()
}

fn tables<S: Source>(trace: &Trace<S>) -> impl Iterator<Item = (&Process, &LiveTable)> {
    trace.processes().iter().flat_map(|process| process.live.iter().map(move |table| (process, table)))
}

/// Explains every table of a trace.
pub fn analyze<S: Source>(trace: &Trace<S>) -> Vec<Snapshot> {
    tables(trace).map(|(process, table)| of(trace, process, table)).collect()
}

fn of<S: Source>(trace: &Trace<S>, process: &Process, table: &LiveTable) -> Snapshot {
    let clock = trace.clock(process.index);
    let mut sums = Sums::default();
    let mut merger = Merger::default();
    let mut problems: Vec<String> = trace.problems().iter().map(ToString::to_string).collect();
    let mut definitions = Definitions::default();
    let mut scratch = Scratch::default();
    let read = trace.definitions(process.index, &mut scratch, |id, definition| {
        definitions.take(id, definition, &mut merger);
    });
    told(read, &mut problems);
    let means = definitions.means;
    let mean_of = |rate: RateId| means.get(usize::from(rate.0)).copied().unwrap_or(0);
    let read = trace.blocks(process.index, table, &mut scratch, |block| {
        let age_ns = clock.age_ns(table.ticks.saturating_sub(block.birth_ticks));
        sums.add(block, mean_of(block.rate), age_ns);
    });
    told(read, &mut problems);
    problems.extend(sums.unknown_rates(&means));
    let (nodes, stacks) = sums.stacks(&definitions, &mut merger);
    let end = process.end.as_ref();
    Snapshot {
        age_ns: process.info.as_ref().map_or(0, |info| table.mono_ns.saturating_sub(info.created_mono_ns)),
        process: process.clone(),
        host: trace.session().map(|session| session.host.clone()).unwrap_or_default(),
        table: table.clone(),
        live: sums.live,
        pools: sums.pools,
        threads: sums.threads(&definitions),
        sizes: sums.sizes.sizes(),
        ages: sums.ages.lifetimes(),
        sampling: sums.sampling(),
        dropped: totals::dropped(&end.map_or([0; DROP_COUNTERS], |end| end.drops)),
        nodes,
        stacks,
        tree: merger.into_tree(),
        problems,
    }
}

/// Hands each block of a snapshot to `visit`, with what it stands for.
///
/// # Errors
/// Only when the trace cannot be read.
pub fn blocks<S: Source>(
    trace: &Trace<S>,
    snapshot: &Snapshot,
    mut visit: impl FnMut(&LiveBlock, Amount),
) -> Result<(), heapscribe_formats::TraceError> {
    let index = snapshot.process.index;
    let mut means = Means::default();
    trace.definitions(index, &mut Scratch::default(), |_, definition| rates::note(&mut means, definition))?;
    trace.blocks(index, &snapshot.table, &mut Scratch::default(), |block| {
        let share = share(block, means.get(usize::from(block.rate.0)).copied().unwrap_or(0));
        visit(block, Amount { blocks: share.blocks, bytes: share.bytes });
    })?;
    Ok(())
}

fn told(
    read: Result<Vec<heapscribe_formats::Problem>, heapscribe_formats::TraceError>,
    problems: &mut Vec<String>,
) {
    match read {
        Ok(skipped) => problems.extend(skipped.iter().map(ToString::to_string)),
        Err(e) => problems.push(e.to_string()),
    }
}

impl Snapshot {
    /// The same as the answer of a recording that ended at this instant: what is live is what was never
    /// freed. There is nothing else in it.
    pub fn to_answer(&self) -> Answer {
        let stack = |of: &LiveStack| Stack { node: of.node, leaked: of.live, ..Stack::default() };
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
            complete: true,
            stacks: self.stacks.iter().map(stack).collect(),
            tree: self.tree.clone(),
            dropped: self.dropped.clone(),
            sampling,
            problems: self.problems.clone(),
            ..Answer::default()
        }
    }

    /// Whether the process had ended when it was looked at.
    pub fn has_ended(&self) -> bool {
        self.process.end.as_ref().is_some_and(|end| end.how == HowEnded::Exited)
    }

    /// Whether this table is what its trace is there for.
    pub fn is_for_itself(&self) -> bool {
        self.table.role == LiveRole::Snapshot
    }
}

/// What a block stands for: itself, or more when it was sampled.
pub(crate) fn share(block: &LiveBlock, mean_bytes: u64) -> Share {
    if block.rate == RateId::FULL {
        return Share::one(block.size_bytes);
    }
    Share::of(block.size_bytes, mean_bytes, (block.thread.0, block.birth_ticks))
}

/// What the blocks of a table add up to.
#[derive(Default)]
struct Sums {
    live: Amount,
    pools: Amount,
    by_stack: HashMap<StackId, LiveStack>,
    by_thread: BTreeMap<ThreadId, Amount>,
    sizes: Histogram,
    ages: Histogram,
    sampled: Samples<Moments>,
    rates: BTreeSet<RateId>,
    means: BTreeSet<u64>,
}

impl Sums {
    fn add(&mut self, block: &LiveBlock, mean_bytes: u64, age_ns: u64) {
        let share = share(block, mean_bytes);
        let amount = Amount { blocks: share.blocks, bytes: share.bytes };
        add_amount(&mut self.live, &amount);
        if block.is_pool {
            add_amount(&mut self.pools, &amount);
        }
        add_amount(self.by_thread.entry(block.thread).or_default(), &amount);
        let stack = self
            .by_stack
            .entry(block.stack)
            .or_insert(LiveStack { youngest_ns: u64::MAX, ..LiveStack::default() });
        add_amount(&mut stack.live, &amount);
        stack.youngest_ns = stack.youngest_ns.min(age_ns);
        stack.oldest_ns = stack.oldest_ns.max(age_ns);
        self.sizes.add(block.size_bytes, share);
        self.ages.add(age_ns, share);
        if block.rate != RateId::FULL {
            self.rates.insert(block.rate);
            self.means.extend((mean_bytes != 0).then_some(mean_bytes));
            self.sampled.note(block.stack, block.size_bytes, share, Moments::add);
        }
    }

    fn unknown_rates(&self, means: &[u64]) -> Option<String> {
        let is_unknown = |rate: &&RateId| means.get(usize::from(rate.0)).is_none_or(|mean| *mean == 0);
        let unknown: Vec<_> = self.rates.iter().filter(is_unknown).map(|rate| rate.0.to_string()).collect();
        (!unknown.is_empty()).then(|| {
            format!("sampling rate {} is not defined; its blocks count once each", unknown.join(", "))
        })
    }

    /// Stacks of different numbers may be one place in code.
    fn stacks(
        &self,
        definitions: &Definitions,
        merger: &mut Merger,
    ) -> (Vec<(StackId, NodeId)>, Vec<LiveStack>) {
        let mut own: Vec<_> = self.by_stack.iter().map(|(id, stack)| (*id, *stack)).collect();
        own.sort_unstable_by_key(|(id, _)| *id);
        let nodes = merger.merge(definitions, own.iter().map(|(id, _)| *id));
        let moments: HashMap<StackId, Moments> = self.sampled.stacks.rows().iter().copied().collect();
        let mut merged: BTreeMap<NodeId, (LiveStack, Moments)> = BTreeMap::new();
        let nodes: Vec<_> = own.iter().map(|(id, _)| *id).zip(nodes).collect();
        for ((id, stack), (_, node)) in own.into_iter().zip(nodes.iter().copied()) {
            let (to, sampled) = merged.entry(node).or_insert_with(|| {
                (LiveStack { node, youngest_ns: u64::MAX, ..LiveStack::default() }, Moments::default())
            });
            add_amount(&mut to.live, &stack.live);
            to.youngest_ns = to.youngest_ns.min(stack.youngest_ns);
            to.oldest_ns = to.oldest_ns.max(stack.oldest_ns);
            sampled.add(&moments.get(&id).copied().unwrap_or_default());
        }
        let is_sampled = !self.means.is_empty();
        let sure = |(stack, moments): (LiveStack, Moments)| {
            let estimate = is_sampled.then(|| sampling::estimate(stack.live, &moments));
            LiveStack { estimate, ..stack }
        };
        (nodes, merged.into_values().map(sure).collect())
    }

    fn threads(&self, definitions: &Definitions) -> Vec<LiveThread> {
        let names: HashMap<u32, (u32, &Vec<u8>)> =
            definitions.threads.iter().map(|(id, tid, name)| (*id, (*tid, name))).collect();
        let thread = |(id, live): (&ThreadId, &Amount)| {
            let (tid, name) = names.get(&id.0).map_or((0, Vec::new()), |(tid, name)| (*tid, (*name).clone()));
            LiveThread { id: id.0, tid, name, live: *live }
        };
        self.by_thread.iter().map(thread).collect()
    }

    fn sampling(&self) -> Option<LiveSampling> {
        let classes: Vec<_> = self.sampled.classes.values().copied().collect();
        (!self.means.is_empty()).then(|| LiveSampling {
            mean_bytes: self.means.iter().copied().collect(),
            live: sampling::total(self.live, &classes),
        })
    }
}
