//! From what the passes found to the answer: stacks of processes become nodes of one tree, ticks become
//! ns, and levels below zero - allocations that are missing from the recording - become zero and a note.

use std::collections::BTreeMap;

use heapscribe_formats::Evicted;
use heapscribe_units::counted;
use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::ids::StackId;

use super::amounts::{ByNode, add, amount, at_least_0, holders, in_ns, lifetime};
use super::annotations::AnnotationAssembly;
use super::at_end::{self, AtEnd};
use super::bounds::BoundsAssembly;
use super::context::ProcessContext;
use super::coverage::{coverage, overhead_bytes};
use super::evicted;
use super::latency::LatencyAssembly;
use super::mappings::mappings;
use super::own_peak::own_peak;
use super::patterns::{PatternAssembly, ascent, freed_late, growth};
use super::pools::{AtHand, PoolAssembly};
use super::process::known;
use super::resident::resident;
use super::sampling::SampleAssembly;
use super::timeline::timeline;
use super::totals;
use crate::answer::{
    self, AgeRange, Amount, Answer, Dropped, EarlyTimes, Holder, NodeId, Peak, Process, Range, Stack, Thread,
    Totals, WholePeak,
};
use crate::counters::{Histogram, StackRow, ThreadSums};
use crate::input::{History, ProcessFacts, SessionFacts};
use crate::losses::{self, Losses};
use crate::options::Options;
use crate::passes::{PassResults, ProcessResults};
use crate::peak::Held;
use crate::stacks::{Definitions, TreeBuilder};
use crate::sums::ProcessSums;

/// Builds the answer, process by process.
#[derive(Default)]
struct Assembly {
    tree: TreeBuilder,
    rows: BTreeMap<NodeId, StackRow>,
    at_peak: ByNode,
    patterns: PatternAssembly,
    leaked: BTreeMap<NodeId, Amount>,
    leaked_ages: BTreeMap<NodeId, AgeRange>,
    bounds: BoundsAssembly,
    sizes: Histogram,
    lifetimes: Histogram,
    all: ThreadSums,
    lost_events: u64,
    dropped: [u64; DROP_COUNTERS],
    below_zero: usize,
    /// Blocks that were live at the peak, of which the stacks are not known.
    rest_blocks: i64,
    window_ns: u64,
    /// The mark of the rules of real time.
    after_mark: Option<Vec<u8>>,
    evicted: Evicted,
    samples: SampleAssembly,
    annotations: AnnotationAssembly,
    pools: PoolAssembly,
    latency: LatencyAssembly,
    answer: Answer,
}

/// The answer to a recording.
pub(crate) fn assemble<H: History>(
    history: &H,
    session: SessionFacts,
    processes: &[ProcessFacts],
    results: PassResults,
    options: &Options,
) -> Answer {
    let mut assembly = Assembly {
        window_ns: session.window_mono_ns,
        after_mark: session.rules.after_mark.clone(),
        bounds: BoundsAssembly::new(results.grid.is_window),
        ..Assembly::default()
    };
    assembly.answer.problems = history.problems();
    let mut over_time = timeline(&results, processes);
    assembly.answer.resident = resident(&over_time, processes, results.begin_ns);
    assembly.answer.ascent = ascent(&results);
    let finer = results.finer;
    assembly.answer.window = evicted::window(&results);
    assembly.answer.counts_calls = processes.iter().any(|process| process.counts_calls);
    let begin_ns = results.begin_ns;
    let early_times = processes.iter().filter_map(|process| process.early_times);
    assembly.answer.early_times = EarlyTimes::of_any(early_times, begin_ns);
    for (number, (facts, of_process)) in processes.iter().zip(results.processes).enumerate() {
        assembly.tree.put_under(options.splits_processes.then_some(number));
        let definitions = assembly.define(history, number);
        assembly.process(number, facts, of_process, &definitions, begin_ns);
    }
    assembly.tree.put_under(None);
    let peak = assembly.peak(results.peak.bytes, results.peak.ns.saturating_sub(begin_ns));
    assembly.latency.over_time(finer, &mut over_time);
    assembly.answer.timeline = over_time;
    let duration_ns = results.grid.end_ns - 1 - begin_ns;
    assembly.finish(session, peak, begin_ns, duration_ns)
}

impl Assembly {
    fn define<H: History>(&mut self, history: &H, process: usize) -> Definitions {
        let mut definitions = Definitions::new(history.keeps_native());
        let tree = &mut self.tree;
        let read = history.definitions(process, &mut |id, definition| {
            definitions.take(id, definition, tree);
        });
        if let Err(why) = read {
            self.answer.problems.push(why);
        }
        for interpreter in definitions.interpreters.values() {
            if !self.answer.interpreters.contains(interpreter) {
                self.answer.interpreters.push(*interpreter);
            }
        }
        definitions
    }

    fn process(
        &mut self,
        number: usize,
        facts: &ProcessFacts,
        mut results: ProcessResults,
        definitions: &Definitions,
        begin_ns: u64,
    ) {
        let table = results.live_end.take();
        let rows = at_end::rows(&mut results.sums, table.as_ref());
        let nodes = definitions.nodes(&mut self.tree, rows.iter().map(|(stack, _)| *stack));
        let root = self.tree.root();
        let number_of = |stack: &StackId| rows.binary_search_by_key(stack, |(stack, _)| *stack);
        let node_of = |stack: &StackId| number_of(stack).map_or(root, |number| nodes[number]);
        for ((_, row), node) in rows.iter().zip(&nodes) {
            self.rows.entry(*node).or_default().merge(&in_ns(row, &facts.clock));
        }
        let at_end = AtEnd::new(rows.iter().zip(&nodes), facts, table.as_ref(), results.left.as_ref());
        let common = results.held_at_common.as_ref().unwrap_or(&results.held);
        self.rest_blocks = self.rest_blocks.saturating_add(common.rest.blocks);
        common.held.iter().for_each(|(stack, held)| add(&mut self.at_peak, node_of(stack), *held));
        self.patterns.take(&results, node_of);
        self.answer.problems.extend(self.samples.rates(facts.pid, results.sums.rates, &definitions.means));
        self.samples.at_peak(&common.sampled, results.held_at_halves.as_ref(), node_of);
        self.samples.lives(&results.sums.sampled, node_of);
        let (process, window_ns) = (number, self.window_ns);
        let context = ProcessContext { process, clock: &facts.clock, definitions, begin_ns, window_ns };
        self.annotations.take(&context, &mut results, &facts.resident, &mut self.tree);
        self.latency.take(&context, std::mem::take(&mut results.sums.latency), &mut self.tree);
        if let Some(broke) = &facts.broke {
            self.latency.broke(&context, broke, self.after_mark.as_deref(), &mut self.tree);
        }
        let mut peak = own_peak(&results, node_of, begin_ns);
        self.complete(Amount { blocks: peak.blocks, bytes: peak.bytes }, &mut peak.stacks);
        self.evicted.merge(&facts.evicted);
        self.answer.stack_check.add(&facts.stack_check);
        let all = self.threads(number, &results, definitions);
        let (leaked, leaked_stacks) = self.leaked(&at_end, !facts.evicted.is_empty());
        let (totals, dropped, counters) = self.totals(&all, facts, &results);
        let is_ring = !facts.evicted.is_empty() || evicted::began_before(facts, self.window_ns);
        let losses = Losses::of(&counters, totals.lost_events, totals.unknown_blocks);
        let losses = evicted::losses(losses, facts, is_ring).while_off(!facts.off.is_empty());
        let at_hand = AtHand { losses, table: table.as_ref(), is_ring, evicted: &facts.evicted };
        self.pools.take(&context, &mut results, &at_hand, &mut self.tree);
        let whole_peak = evicted::whole_peak(facts, &peak, begin_ns).filter(|_| is_ring);
        let seen = at_end.seen(&totals, &peak, whole_peak.as_ref());
        let mut bounds = self.bounds.take(&losses, &seen, &at_end.more, life(facts, &results));
        if whole_peak.is_some() {
            bounds.iter_mut().for_each(|bounds| bounds.peak.blocks = Range { low: 0, high: None });
        }
        self.merge(&mut results.sums);
        let process = Process {
            mappings: mappings(&context, facts, &mut results.sums, &mut self.tree),
            totals,
            peak,
            whole_peak,
            leaked,
            leaked_stacks,
            growth: growth(rows.iter().zip(&nodes), &at_end),
            freed_late: freed_late(results.sums.large.rows(), node_of),
            half_life_ns: results.half_life_ns.saturating_sub(begin_ns),
            bounds: losses.bounds_as(definitions.means.has_any(), bounds, &seen),
            temporary: totals::temporary(&all),
            dropped,
            ..known(facts, results.span, begin_ns)
        };
        let overhead = overhead_bytes(&results.held, &rows);
        let coverage = coverage(facts, &process, overhead);
        self.answer.processes.push(Process { coverage, ..process });
    }

    /// Takes what is of no stack and no thread.
    fn merge(&mut self, sums: &mut ProcessSums) {
        self.sizes.merge(&sums.sizes);
        self.lifetimes.merge(&sums.lifetimes);
        sums.problems.sort();
        self.answer.problems.append(&mut sums.problems);
    }

    /// Takes the threads of a process; what they did together.
    fn threads(&mut self, process: usize, results: &ProcessResults, definitions: &Definitions) -> ThreadSums {
        let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
        for (id, tid, name) in &definitions.threads {
            let thread = Thread { process, id: *id, tid: *tid, name: name.clone(), ..Thread::default() };
            threads.insert(*id, thread);
        }
        let mut all = ThreadSums::default();
        for (&id, sums) in &results.sums.threads {
            all.merge(sums);
            let thread = threads.entry(id).or_insert_with(|| Thread { process, id, ..Thread::default() });
            thread.totals = totals::totals(sums);
            thread.temporary = totals::temporary(sums);
        }
        self.all.merge(&all);
        self.answer.threads.extend(threads.into_values());
        all
    }

    /// The peak of all processes together.
    fn peak(&mut self, bytes: i64, time_ns: u64) -> Peak {
        let blocks = self.at_peak.values().map(|held| held.blocks).sum::<i64>() + self.rest_blocks;
        let whole = Amount { blocks: at_least_0(blocks), bytes: at_least_0(bytes) };
        let mut stacks = holders(&self.at_peak);
        let rest = self.complete(whole, &mut stacks);
        if rest != Amount::default() {
            let held = Held { blocks: rest.blocks as i64, bytes: rest.bytes as i64 };
            add(&mut self.at_peak, evicted::node(&mut self.tree), held);
        }
        Peak { bytes: whole.bytes, blocks: whole.blocks, time_ns, stacks }
    }

    /// Gives what holders lack of a whole to the stack of evicted events, which has a row then.
    fn complete(&mut self, whole: Amount, holders: &mut Vec<Holder>) -> Amount {
        let rest = evicted::complete(holders, whole, || evicted::node(&mut self.tree));
        if rest != Amount::default() {
            self.rows.entry(evicted::node(&mut self.tree)).or_default();
        }
        rest
    }

    /// What a process never freed, and who held it.
    fn leaked(&mut self, at_end: &AtEnd, is_ring: bool) -> (Amount, Vec<Holder>) {
        self.below_zero += at_end.held.values().filter(|held| held.blocks < 0 || held.bytes < 0).count();
        for (node, age) in &at_end.ages {
            let of_stack = self.leaked_ages.entry(*node).or_insert(*age);
            *of_stack = of_stack.with(age);
        }
        let mut stacks = holders(&at_end.held);
        let leaked = at_end.leaked(is_ring, &stacks);
        self.complete(leaked, &mut stacks);
        for holder in &stacks {
            self.leaked.entry(holder.node).or_default().add(&holder.held);
        }
        (leaked, stacks)
    }

    /// Takes what processes never freed of which nothing is left.
    fn leaked_by_evicted(&mut self, evicted: &Evicted) -> Amount {
        let (leaked, bounds) = evicted::leaked(evicted);
        if evicted.ended.sampled > 0 {
            self.answer.problems.push(match evicted.ended.sampled {
                1 => "an evicted process was sampled: what it never freed is not known".to_owned(),
                n => format!("{n} evicted processes were sampled: what they never freed is not known"),
            });
        }
        self.bounds.evicted(evicted, &bounds);
        self.complete(leaked, &mut Vec::new());
        if leaked != Amount::default() {
            self.leaked.entry(evicted::node(&mut self.tree)).or_default().add(&leaked);
        }
        leaked
    }

    /// A recorder counts what it drops and, where it still can, says so among the events: the larger
    /// figure is the truth.
    fn totals(
        &mut self,
        all: &ThreadSums,
        facts: &ProcessFacts,
        results: &ProcessResults,
    ) -> (Totals, Vec<Dropped>, [u64; DROP_COUNTERS]) {
        let (counters, lost_events) = losses::counted(&facts.drops, &results.sums.lost);
        for (mine, theirs) in self.dropped.iter_mut().zip(&counters) {
            *mine = mine.saturating_add(*theirs);
        }
        self.lost_events = self.lost_events.saturating_add(lost_events);
        (Totals { lost_events, ..totals::totals(all) }, Dropped::list(&counters), counters)
    }

    fn finish(mut self, session: SessionFacts, peak: Peak, begin_ns: u64, duration_ns: u64) -> Answer {
        self.evicted.merge(&session.evicted);
        let leaked_by_evicted = self.leaked_by_evicted(&session.evicted);
        let mut leaked = leaked_by_evicted;
        self.answer.processes.iter().for_each(|process| leaked.add(&process.leaked));
        let whole_peak = self.whole_peak(&session.evicted);
        let stacks = self.stacks();
        self.note();
        let (marks, sections) = std::mem::take(&mut self.annotations).finish();
        let pools = std::mem::take(&mut self.pools);
        let (latency, broken) = std::mem::take(&mut self.latency).finish();
        let tree = self.tree.into_tree();
        let no_module = |frame: &answer::Frame| frame.module.is_none() && frame.cut.is_none();
        let begin_real_ns = match session.begin_real_ns {
            0 => 0,
            real => real.saturating_sub(session.begin_mono_ns.saturating_sub(begin_ns)),
        };
        let answer = Answer {
            begin_mono_ns: begin_ns,
            begin_real_ns,
            command: session.command,
            host: session.host,
            version: session.version,
            exit: session.exit,
            drainer: session.drainer,
            unrecorded: session.unrecorded,
            duration_ns,
            evicted: self.evicted,
            totals: Totals { lost_events: self.lost_events, ..totals::totals(&self.all) },
            peak,
            leaked,
            leaked_by_evicted,
            whole_peak,
            complete: !session.is_unfinished && self.answer.processes.iter().all(|of| of.ended.is_end()),
            temporary: totals::temporary(&self.all),
            unknown_stacks: stacks
                .iter()
                .filter(|s| tree.is_unknown(s.node))
                .map(|s| s.allocated.blocks)
                .sum(),
            stacks,
            unresolved_frames: tree.nodes[1..].iter().filter(|node| no_module(&node.frame)).count() as u64,
            tree,
            sizes: self.sizes.sizes(),
            lifetimes: self.lifetimes.lifetimes(),
            marks,
            sections,
            latency,
            rules: session.rules,
            broken,
            dropped: Dropped::list(&self.dropped),
            ..self.answer
        };
        let was_off = answer.processes.iter().any(|process| !process.off.is_empty());
        let sampling = self.samples.of(&answer, was_off);
        let answer = Answer { pools: pools.finish(sampling.as_ref(), was_off), sampling, ..answer };
        Answer { bounds: self.bounds.of(&answer), ..answer }
    }

    /// The peak of the only process is that of all.
    fn whole_peak(&self, evicted: &Evicted) -> Option<WholePeak> {
        match &self.answer.processes[..] {
            [alone] if evicted.is_empty() => alone.whole_peak,
            _ => None,
        }
    }

    fn stacks(&self) -> Vec<Stack> {
        let stack = |(&node, row): (&NodeId, &StackRow)| Stack {
            node,
            allocated: Amount { blocks: row.allocations, bytes: row.allocated_bytes },
            freed: Amount { blocks: row.frees, bytes: row.freed_bytes },
            at_peak: self.at_peak.get(&node).map_or(Amount::default(), amount),
            leaked: self.leaked.get(&node).copied().unwrap_or_default(),
            leaked_age: self.leaked_ages.get(&node).copied(),
            temporary: Amount { blocks: row.temporary, bytes: row.temporary_bytes },
            freed_by_others: row.by_others,
            failed: row.failed,
            lifetime: lifetime(row),
            size_min_bytes: if row.allocations == 0 { 0 } else { row.size_min },
            size_max_bytes: row.size_max,
            ..Stack::default()
        };
        self.rows.iter().map(|row| self.patterns.with(row.1, stack(row))).collect()
    }

    /// What a reader has to know to trust the figures as far as they go and no further.
    fn note(&mut self) {
        // Where a ring evicted allocations this is as it should be.
        if self.below_zero != 0 && self.evicted.is_empty() {
            self.answer.problems.push(format!(
                "{} freed more than they allocated: allocations are missing from the recording; \
                 they count as holding nothing",
                counted(self.below_zero as u64, "stack")
            ));
        }
        self.answer.problems.extend(losses::problems(self.lost_events, &self.dropped));
    }
}

/// When a process began and ended, ns.
fn life(facts: &ProcessFacts, results: &ProcessResults) -> (u64, Option<u64>) {
    (facts.begin_mono_ns, facts.end_ns(results.span.map(|span| span.1)))
}
