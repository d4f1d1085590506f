//! The rows of samples, in one pass over the events, however many windows there are. Chunks come in any order, as the
//! free of a block has its stack, its thread and its size.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::events::{Rates, Scale};
use heapscribe_analyze::input::{Chosen, ChunkFacts, History, ProcessFacts};
use heapscribe_analyze::placed::place;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;

use super::rows::{Row, Rows, Sum};
use super::windows::Windows;

/// Whose blocks: process, stack and thread.
type Owner = (usize, StackId, u32);

/// What happened in a window.
#[derive(Clone, Copy, Default)]
struct Cell {
    allocated: Sum,
    freed: Sum,
}

/// The rows of all windows.
pub fn rows<H: History>(history: &H, chosen: &Chosen, windows: &Windows) -> Rows {
    let mut gathered = Gathered::new(history, *windows);
    let mut scratch = H::Scratch::default();
    for (number, facts) in history.chunks().into_iter().enumerate() {
        if chosen.processes.iter().any(|(process, _)| *process == facts.process) {
            gathered.chunk(number, &facts, &mut scratch);
        }
    }
    gathered.finish(chosen)
}

struct Gathered<'h, H: History> {
    history: &'h H,
    rates: Rates<'h, H>,
    windows: Windows,
    processes: Vec<ProcessFacts>,
    cells: HashMap<(Owner, u64), Cell>,
    /// When the last event of each process was.
    last_ns: Vec<Option<u64>>,
}

impl<'h, H: History> Gathered<'h, H> {
    fn new(history: &'h H, windows: Windows) -> Self {
        let processes = history.processes();
        Gathered {
            history,
            rates: Rates::new(history, processes.len()),
            windows,
            cells: HashMap::new(),
            last_ns: vec![None; processes.len()],
            processes,
        }
    }

    fn chunk(&mut self, number: usize, facts: &ChunkFacts, scratch: &mut H::Scratch) {
        let process = facts.process;
        let Some(clock) = self.processes.get(process).map(|facts| facts.clock) else { return };
        self.last_ns[process] = self.last_ns[process].max(Some(clock.ns(facts.last_ticks)));
        // What cannot be read is said by the analysis of the whole.
        let Ok(events) = self.history.events(number, scratch) else { return };
        let (mut ticks, mut scale) = (facts.begin_ticks, Scale::new(facts.thread));
        for item in events {
            let Ok((dt, event)) = item else { break };
            if scale.follow(&event, |rate| self.rates.mean(process, rate))
                || matches!(event, Event::Took { .. })
            {
                continue;
            }
            ticks = ticks.wrapping_add(dt);
            let changes = scale.changes(&event, ticks);
            if changes.allocated.is_none() && changes.freed.is_none() {
                continue;
            }
            let Some(window) = self.windows.number(clock.ns(ticks)) else { continue };
            if let Some(change) = changes.freed {
                let birth = match &event {
                    Event::Free { block, .. } | Event::Realloc { old: block, .. } => block.birth_thread,
                    _ => None,
                };
                let thread = birth.map_or(facts.thread, |thread| thread.0);
                let cell = self.cells.entry(((process, change.stack, thread), window)).or_default();
                cell.freed.add(&Sum::of(&change));
            }
            if let Some(change) = changes.allocated {
                let cell = self.cells.entry(((process, change.stack, facts.thread), window)).or_default();
                cell.allocated.add(&Sum::of(&change));
            }
        }
    }

    fn finish(mut self, chosen: &Chosen) -> Rows {
        let has = |((process, _, thread), _): &(Owner, u64)| chosen.has(*process, *thread);
        self.cells.retain(|key, _| has(key));
        let wanted: BTreeSet<(usize, StackId)> = self.cells.keys().map(|((p, s, _), _)| (*p, *s)).collect();
        let wanted: Vec<(usize, StackId)> = wanted.into_iter().collect();
        let placed = place(self.history, &wanted, false);
        // Two numbers of stacks may be one place in code.
        let mut owners: BTreeMap<(usize, NodeId, u32), BTreeMap<u64, Cell>> = BTreeMap::new();
        for (((process, stack, thread), window), cell) in &self.cells {
            let Ok(at) = wanted.binary_search(&(*process, *stack)) else { continue };
            let windows = owners.entry((*process, placed.nodes[at], *thread)).or_default();
            let sum = windows.entry(*window).or_default();
            sum.allocated.add(&cell.allocated);
            sum.freed.add(&cell.freed);
        }
        let mut rows = Vec::new();
        for ((process, node, thread), cells) in &owners {
            self.rows_of(*process, *node, *thread, cells, &mut rows);
        }
        Rows { tree: placed.tree, rows, problems: placed.problems }
    }

    /// The rows of an owner: of each window in which it allocated, or at whose end it has something.
    fn rows_of(
        &self,
        process: usize,
        node: NodeId,
        thread: u32,
        cells: &BTreeMap<u64, Cell>,
        rows: &mut Vec<Row>,
    ) {
        let end_ns = self.processes[process].end_ns(self.last_ns[process]);
        let (mut allocated, mut freed) = (Sum::default(), Sum::default());
        for window in 0..=self.windows.count() {
            let cell = cells.get(&window).copied().unwrap_or_default();
            allocated.add(&cell.allocated);
            freed.add(&cell.freed);
            if window == 0 {
                continue;
            }
            let shown = self.windows.shown(window);
            let had_ended = end_ns.is_some_and(|end_ns| end_ns < shown.to_ns);
            let is_live = !had_ended || self.windows.is_last_of_all(window);
            let live = if is_live { allocated.without(&freed) } else { Sum::default() };
            if cell.allocated != Sum::default() || live != Sum::default() {
                let (from_ns, to_ns) = (shown.from_ns, shown.to_ns);
                let thread = Some(thread);
                rows.push(Row { process, thread, node, from_ns, to_ns, allocated: cell.allocated, live });
            }
        }
    }
}
