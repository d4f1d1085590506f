//! From ours to heaptrack's data files: each allocation and each free of a process, in the order of time.
//!
//! *Lost on the way*, besides what the format has no room for: all processes but one, blocks of pools, marks and
//! sections. A block that was sampled is written once, as the one that it is: the format has no weights.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use heapscribe_analyze::answer::{CallTree, Frame, NodeId};
use heapscribe_analyze::events::Scale;
use heapscribe_analyze::input::History as _;
use heapscribe_analyze::placed::place;
use heapscribe_formats::heaptrack::{Instruction, Writer};
use heapscribe_formats::{Process, Scratch};
use heapscribe_symbols::{NamedFrame, NamedStacks, Resolver, lossy};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;

use crate::in_order::InOrder;
use crate::opened_trace::Opened;

const NS_IN_MS: u64 = 1_000_000;
const PAGE_BYTES: u64 = 4096;
const UNKNOWN: &str = "[unknown stack]";

/// Converts a process of a trace. Gives what is not whole, in words.
///
/// # Errors
/// Those of the medium.
pub fn convert<W: Write>(
    trace: &Opened,
    process: &Process,
    resolver: &Resolver,
    out: W,
) -> Result<Vec<String>> {
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    let (mut ids, mut is_sampled) = (vec![StackId::UNKNOWN], false);
    let read =
        trace.definitions(process.index, &mut Scratch::default(), |id, definition| match definition {
            definition if definition.is_node() => ids.push(id),
            Definition::Rate { .. } => is_sampled = true,
            _ => {}
        })?;
    problems.extend(read.iter().map(ToString::to_string));
    if is_sampled {
        problems.push("the file contains only the sampled blocks, and cannot mark them as such".to_owned());
    }
    let recording = trace.recording();
    let number = process.index.0 as usize;
    ids.sort_unstable();
    let wanted: Vec<_> = ids.iter().map(|id| (number, *id)).collect();
    let placed = place(&recording, &wanted, false);
    let names = NamedStacks::look_up(&placed.tree, placed.nodes.iter().copied(), resolver);
    let nodes: HashMap<StackId, NodeId> = ids.into_iter().zip(placed.nodes).collect();
    let command: Vec<String> =
        process.info.iter().flat_map(|info| &info.command).map(|part| lossy(part)).collect();
    let mut to = Conversion {
        out: Writer::new(out, &command.join(" "))?,
        tree: &placed.tree,
        names: &names,
        nodes,
        instructions: HashMap::new(),
        stacks: HashMap::new(),
    };
    let facts = recording.processes().into_iter().nth(number).unwrap_or_default();
    let mut resident = facts.rss.iter().peekable();
    let mut order = InOrder::new(trace, process);
    while let Some((at, event)) = order.next(trace) {
        let mono_ns = at.ns.saturating_add(trace.start_mono_ns());
        while let Some(sample) = resident.next_if(|sample| sample.mono_ns <= mono_ns) {
            let since_ns = sample.mono_ns.saturating_sub(trace.start_mono_ns());
            to.out.time(since_ns / NS_IN_MS)?;
            to.out.resident(sample.rss_bytes / PAGE_BYTES)?;
        }
        to.out.time(at.ns / NS_IN_MS)?;
        to.event(&event, at.thread, at.ticks)?;
    }
    problems.extend(order.problems);
    to.out.finish()?;
    Ok(problems)
}

struct Conversion<'a, W> {
    out: Writer<W>,
    tree: &'a CallTree,
    names: &'a NamedStacks<'a>,
    nodes: HashMap<StackId, NodeId>,
    instructions: HashMap<Frame, u64>,
    stacks: HashMap<NodeId, u64>,
}

impl<W: Write> Conversion<'_, W> {
    /// A `realloc` frees first, so that no peak has both blocks.
    fn event(&mut self, event: &Event, thread: u32, ticks: u64) -> std::io::Result<()> {
        let changes = Scale::new(thread).changes(event, ticks);
        if let Some(freed) = changes.freed {
            let stack = self.stack(freed.stack)?;
            self.out.freed(freed.size_bytes, stack)?;
        }
        if let Some(allocated) = changes.allocated {
            let stack = self.stack(allocated.stack)?;
            self.out.allocated(allocated.size_bytes, stack)?;
        }
        Ok(())
    }

    /// The number of a stack in the file, after its callers.
    fn stack(&mut self, id: StackId) -> std::io::Result<u64> {
        let node = self.nodes.get(&id).copied().unwrap_or(NodeId::ROOT);
        if let Some(known) = self.stacks.get(&node) {
            return Ok(*known);
        }
        if node == NodeId::ROOT {
            return self.unknown_stack();
        }
        let tree = self.tree;
        let new: Vec<_> = tree.frames(node).take_while(|(node, _)| !self.stacks.contains_key(node)).collect();
        for (node, frame) in new.into_iter().rev() {
            let instruction = self.instruction(*frame)?;
            let caller = tree.nodes[node.0 as usize].parent;
            let caller =
                if caller == NodeId::ROOT { 0 } else { self.stacks.get(&caller).copied().unwrap_or(0) };
            let number = self.out.stack(instruction, caller)?;
            self.stacks.insert(node, number);
        }
        Ok(self.stacks.get(&node).copied().unwrap_or(0))
    }

    /// heaptrack has no name for a stack of no frames: it gets one frame that says so.
    fn unknown_stack(&mut self) -> std::io::Result<u64> {
        let frames = vec![(UNKNOWN.to_owned(), String::new(), 0)];
        let instruction = self.out.instruction(&Instruction { address: 0, module: String::new(), frames })?;
        let number = self.out.stack(instruction, 0)?;
        self.stacks.insert(NodeId::ROOT, number);
        Ok(number)
    }

    fn instruction(&mut self, frame: Frame) -> std::io::Result<u64> {
        if let Some(known) = self.instructions.get(&frame) {
            return Ok(*known);
        }
        let lines = self.names.lines_of(&frame);
        let place =
            |line: &NamedFrame| (line.name(), line.file.clone().unwrap_or_default(), line.line.unwrap_or(0));
        let module = lines.first().and_then(|line| line.module.clone()).unwrap_or_default();
        let frames = lines.iter().map(place).collect();
        let number = self.out.instruction(&Instruction { address: frame.address, module, frames })?;
        self.instructions.insert(frame, number);
        Ok(number)
    }
}
