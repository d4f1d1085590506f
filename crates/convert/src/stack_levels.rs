//! What stacks of a process held at most, each by itself, and how long their blocks lived together: in a pass over its
//! events in the order of time.
//!
//! A stack's most is taken after each event, so that two events of one moment on two cores may count in either order.

use std::collections::HashMap;

use heapscribe_analyze::answer::{CallTree, NodeId};
use heapscribe_analyze::events::{BlockChange, Rates, Scale};
use heapscribe_analyze::gathered::Gathered;
use heapscribe_analyze::input::Recording;
use heapscribe_analyze::placed::place;
use heapscribe_formats::{Process, Scratch};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;

use crate::file_source::FileSource;
use crate::in_order::InOrder;
use crate::opened_trace::Opened;

/// What a group of stacks held at most, and how long its blocks lived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Most {
    /// Bytes.
    pub bytes: u64,
    /// Blocks when it held the most bytes.
    pub blocks: u64,
    /// The lives of all blocks together, ns; those that were never freed lived until the end.
    pub lived_ns: u64,
}

/// What groups of stacks held at most.
pub struct StackLevels {
    groups: Vec<Level>,
    end_ns: u64,
    /// What could not be read, in words.
    pub problems: Vec<String>,
}

/// A group on its way.
#[derive(Clone, Copy, Default)]
struct Level {
    bytes: i64,
    blocks: i64,
    most: (i64, i64),
    /// Times of frees less those of allocations, ns.
    freed_less_born_ns: i128,
}

impl StackLevels {
    /// Follows a process until `end_ns`. Stacks are those of a tree, each in a group.
    pub fn of(
        trace: &Opened,
        process: &Process,
        tree: &CallTree,
        groups: &HashMap<NodeId, usize>,
        end_ns: u64,
    ) -> StackLevels {
        let recording = trace.recording();
        let number = process.index.0 as usize;
        let by_id = group_of_ids(trace, process, &recording, tree, groups);
        let rates = Rates::new(&recording, number + 1);
        let count = groups.values().max().map_or(0, |last| last + 1);
        let mut levels = vec![Level::default(); count];
        let mut order = InOrder::new(trace, process);
        while let Some((at, event)) = order.next(trace) {
            let mut scale = Scale::new(at.thread);
            scale.follow(&Event::Rate { rate: at.rate }, |rate| rates.mean(number, rate));
            let changes = scale.changes(&event, at.ticks);
            let mut level = |change: Option<BlockChange>, sign: i64| {
                let group = |id: StackId| by_id.get(&id).or_else(|| by_id.get(&StackId::UNKNOWN));
                let found = change.and_then(|change| Some((change, *group(change.stack)?)));
                if let Some((change, group)) = found {
                    levels[group].add(change, sign, at.ns);
                }
            };
            level(changes.freed, -1);
            level(changes.allocated, 1);
        }
        StackLevels { groups: levels, end_ns, problems: order.problems }
    }

    /// What a group held.
    pub fn most(&self, group: usize) -> Most {
        let Some(level) = self.groups.get(group) else { return Most::default() };
        let until_end = i128::from(level.blocks) * i128::from(self.end_ns);
        let at_least_0 = |n: i64| u64::try_from(n).unwrap_or(0);
        Most {
            bytes: at_least_0(level.most.0),
            blocks: at_least_0(level.most.1),
            lived_ns: u64::try_from(level.freed_less_born_ns + until_end).unwrap_or(0),
        }
    }
}

impl Level {
    fn add(&mut self, change: BlockChange, sign: i64, ns: u64) {
        let blocks = sign * change.weight.blocks as i64;
        self.bytes = self.bytes.saturating_add(sign.saturating_mul(change.weight.bytes as i64));
        self.blocks = self.blocks.saturating_add(blocks);
        self.most = self.most.max((self.bytes, self.blocks));
        self.freed_less_born_ns -= i128::from(blocks) * i128::from(ns);
    }
}

/// The groups of stacks by their numbers in the process.
fn group_of_ids(
    trace: &Opened,
    process: &Process,
    recording: &Recording<'_, FileSource>,
    tree: &CallTree,
    groups: &HashMap<NodeId, usize>,
) -> HashMap<StackId, usize> {
    let mut ids = vec![(process.index.0 as usize, StackId::UNKNOWN)];
    let _ = trace.definitions(process.index, &mut Scratch::default(), |id, definition| {
        if definition.is_node() {
            ids.push((process.index.0 as usize, id));
        }
    });
    ids.sort_unstable();
    let placed = place(recording, &ids, false);
    let mut all = Gathered::default();
    let known: HashMap<NodeId, usize> =
        groups.iter().map(|(node, group)| (all.stack(tree, *node), *group)).collect();
    let nodes = all.nodes(&placed.tree);
    let of_id =
        |((_, id), node): (&(usize, StackId), &NodeId)| Some((*id, *known.get(&nodes[node.0 as usize])?));
    ids.iter().zip(&placed.nodes).filter_map(of_id).collect()
}
