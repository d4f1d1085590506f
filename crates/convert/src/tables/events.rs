//! The table of events: a row for each block, as it is freed, and at the end those that never were.

use std::collections::{BTreeSet, HashMap};
use std::io;

use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::events::{BlockChange, Rates, Scale};
use heapscribe_analyze::input::Chosen;
use heapscribe_analyze::placed::{Placed, place};
use heapscribe_formats::{Process, Scratch};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;

use super::batch::{Batch, Column, Leaf, TableWriter, Texts, Values};
use super::samples::Origin;
use super::stack_hash::StackHashes;
use crate::block_identity::BlockIdentity;
use crate::in_order::InOrder;
use crate::opened_trace::Opened;

/// A block.
#[derive(Clone, Copy)]
struct BlockRow {
    thread: u32,
    birth_ns: u64,
    death_ns: Option<u64>,
    change: BlockChange,
}

/// What the rows are about.
pub struct WrittenEvents {
    /// Where the stacks of their blocks are.
    pub placed: Placed,
    /// Those that are in the rows.
    pub nodes: Vec<NodeId>,
    /// What could not be read, in words.
    pub problems: Vec<String>,
}

/// Writes the blocks of what is chosen that were allocated in a part of the time, ns after the start.
///
/// # Errors
/// Those of the output.
pub fn write(
    trace: &Opened,
    chosen: &Chosen,
    origin: &Origin,
    part: &std::ops::Range<u64>,
    (to, rows): (&mut dyn TableWriter, usize),
) -> io::Result<WrittenEvents> {
    let recording = trace.recording();
    let processes: Vec<&Process> = trace.processes().iter().collect();
    let is_chosen = |number: usize| chosen.processes.iter().any(|(process, _)| *process == number);
    let numbers: Vec<usize> = (0..processes.len()).filter(|number| is_chosen(*number)).collect();
    let ids: Vec<(usize, StackId)> =
        numbers.iter().flat_map(|n| stack_ids(trace, *n, processes[*n])).collect();
    let placed = place(&recording, &ids, false);
    let hashes = StackHashes::of(&placed.tree);
    let mut written = WrittenEvents { placed, nodes: Vec::new(), problems: Vec::new() };
    let mut nodes = BTreeSet::new();
    let rates = Rates::new(&recording, processes.len());
    to.write(&batch(&[], origin, 0, &HashMap::new()))?;
    for number in numbers {
        let of_process = |at: &(usize, &(usize, StackId))| at.1.0 == number;
        let known = ids.iter().enumerate().filter(of_process);
        let known: HashMap<StackId, NodeId> =
            known.map(|(n, (_, id))| (*id, written.placed.nodes[n])).collect();
        let node_of = |id: StackId| known.get(&id).copied().unwrap_or(NodeId::ROOT);
        let mut pending: Vec<BlockRow> = Vec::new();
        let mut flush = |pending: &mut Vec<BlockRow>| {
            let of: HashMap<StackId, i64> =
                pending.iter().map(|row| (row.change.stack, hashes.get(node_of(row.change.stack)))).collect();
            nodes.extend(pending.iter().map(|row| node_of(row.change.stack)));
            to.write(&batch(pending, origin, number, &of))?;
            pending.clear();
            Ok::<(), io::Error>(())
        };
        let mut blocks = Blocks::default();
        let mut order = InOrder::new(trace, processes[number]);
        while let Some((at, event)) = order.next(trace) {
            let mut scale = Scale::new(at.thread);
            scale.follow(&Event::Rate { rate: at.rate }, |rate| rates.mean(number, rate));
            let age_ns = |ticks: u64| trace.clock(processes[number].index).age_ns(ticks);
            if let Some(row) = blocks.follow(&event, (at.thread, at.ticks, at.ns), &scale, age_ns) {
                let is_wanted = part.contains(&row.birth_ns) && chosen.has(number, row.thread);
                pending.extend(is_wanted.then_some(row));
            }
            if pending.len() >= rows {
                flush(&mut pending)?;
            }
        }
        for row in blocks.never_freed() {
            pending.extend((part.contains(&row.birth_ns) && chosen.has(number, row.thread)).then_some(row));
            if pending.len() >= rows {
                flush(&mut pending)?;
            }
        }
        flush(&mut pending)?;
        written.problems.extend(order.problems);
    }
    written.nodes = nodes.into_iter().collect();
    Ok(written)
}

/// The numbers of all stacks of a process.
fn stack_ids(trace: &Opened, number: usize, process: &Process) -> Vec<(usize, StackId)> {
    let mut ids = vec![(number, StackId::UNKNOWN)];
    // What cannot be read is reported where the definitions are read for good.
    let _ = trace.definitions(process.index, &mut Scratch::default(), |id, definition| {
        if definition.is_node() {
            ids.push((number, id));
        }
    });
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Blocks that are live.
#[derive(Default)]
struct Blocks(HashMap<BlockIdentity, BlockRow>);

impl Blocks {
    /// Takes an event; the block that it frees.
    fn follow(
        &mut self,
        event: &Event,
        (thread, ticks, ns): (u32, u64, u64),
        scale: &Scale,
        age_ns: impl Fn(u64) -> u64,
    ) -> Option<BlockRow> {
        let changes = scale.changes(event, ticks);
        let freed = changes.freed.and_then(|change| {
            let (Event::Free { block, .. } | Event::Realloc { old: block, .. }) = event else { return None };
            let identity = BlockIdentity::of(block, thread, ticks);
            // One whose allocation was lost is known by its free alone.
            let birth_ns = ns.saturating_sub(age_ns(block.age_ticks));
            let born = self.0.remove(&identity).map_or(birth_ns, |row| row.birth_ns);
            Some(BlockRow { thread: identity.thread, birth_ns: born, death_ns: Some(ns), change })
        });
        if let Some(change) = changes.allocated {
            let row = BlockRow { thread, birth_ns: ns, death_ns: None, change };
            self.0.insert(BlockIdentity { thread, ticks }, row);
        }
        freed
    }

    fn never_freed(self) -> Vec<BlockRow> {
        let mut rows: Vec<(BlockIdentity, BlockRow)> = self.0.into_iter().collect();
        rows.sort_by_key(|(identity, row)| (row.birth_ns, *identity));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

fn batch(rows: &[BlockRow], origin: &Origin, process: usize, hashes: &HashMap<StackId, i64>) -> Batch {
    let texts = |text: &str| {
        let mut texts = Texts::default();
        rows.iter().for_each(|_| texts.push(text));
        Values::Text(texts)
    };
    let numbers = |of: &dyn Fn(&BlockRow) -> u64| {
        Values::I64(rows.iter().map(|row| i64::try_from(of(row)).unwrap_or(i64::MAX)).collect())
    };
    let threads: Vec<Option<String>> =
        rows.iter().map(|row| origin.thread_of(process, Some(row.thread))).collect();
    let death = Leaf {
        name: "death_ns",
        values: numbers(&|row| row.death_ns.unwrap_or(0)),
        known: Some(rows.iter().map(|row| row.death_ns.is_some()).collect()),
    };
    let stacks = rows.iter().map(|row| hashes.get(&row.change.stack).copied().unwrap_or(0)).collect();
    let leaves = vec![
        Leaf::new("service", texts(origin.service_of(process))),
        Leaf::new("version", texts(origin.version_of(process))),
        Leaf::new("host", texts(&origin.about.host)),
        Leaf::new("pid", Values::I32(rows.iter().map(|_| origin.pid_of(process)).collect())),
        Leaf::optional_texts("thread", threads.iter().map(Option::as_deref)),
        Leaf::new("stack", Values::I64(stacks)),
        Leaf::new("size_bytes", numbers(&|row| row.change.size_bytes)),
        Leaf::new("birth_ns", numbers(&|row| row.birth_ns)),
        death,
        Leaf::new("stands_for_objects", numbers(&|row| row.change.weight.blocks)),
        Leaf::new("stands_for_bytes", numbers(&|row| row.change.weight.bytes)),
    ];
    Batch { rows: rows.len(), columns: leaves.into_iter().map(Column::Flat).collect() }
}
