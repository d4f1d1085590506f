//! What valgrind's `dh_view.html` reads: of each stack all blocks, how long they lived, the most at a time, those of the
//! peak and those of the end.
//!
//! Times are in microseconds (`tu`). Reads and writes of blocks are not known (`bkacc` is false).

use std::collections::{BTreeMap, HashMap};

use heapscribe_analyze::answer::NodeId;
use heapscribe_convert::stack_levels::StackLevels;
use heapscribe_symbols::NamedFrame;
use serde::Serialize;

use super::stacks::ExportedStacks;

const NS_IN_US: u64 = 1000;

#[derive(Serialize)]
struct File {
    #[serde(rename = "dhatFileVersion")]
    version: u32,
    mode: &'static str,
    verb: &'static str,
    /// Whether lifetimes of blocks are known.
    bklt: bool,
    /// Whether accesses of blocks are known.
    bkacc: bool,
    /// The unit of time, that of a million of it, and how long a short life is.
    tu: &'static str,
    #[serde(rename = "Mtu")]
    mtu: &'static str,
    tuth: u64,
    cmd: String,
    pid: u32,
    /// When the peak was, and the end.
    tg: u64,
    te: u64,
    pps: Vec<Point>,
    ftbl: Vec<String>,
}

/// What a stack did: bytes and blocks in all, lives in all, at most, at the peak, at the end.
#[derive(Clone, Default, Serialize)]
struct Point {
    tb: u64,
    tbk: u64,
    tl: u64,
    mb: u64,
    mbk: u64,
    gb: u64,
    gbk: u64,
    eb: u64,
    ebk: u64,
    fs: Vec<usize>,
}

/// The file of one process: its answer, its stacks in groups that look alike, and what each held at most.
///
/// # Errors
/// None that a stack could cause.
pub fn file(
    stacks: &ExportedStacks<'_>,
    pid: u32,
    groups: &HashMap<NodeId, usize>,
    levels: &StackLevels,
) -> serde_json::Result<Vec<u8>> {
    let mut frames = Frames { all: vec!["[root]".to_owned()], numbers: HashMap::new() };
    let mut points: BTreeMap<usize, Point> = BTreeMap::new();
    for stack in &stacks.answer.stacks {
        let Some(group) = groups.get(&stack.node) else { continue };
        let point = points.entry(*group).or_insert_with(|| {
            let most = levels.most(*group);
            let fs = stacks.frames(stack.node).iter().map(|frame| frames.number(frame)).collect();
            let tl = most.lived_ns / NS_IN_US;
            Point { tl, mb: most.bytes, mbk: most.blocks, fs, ..Point::default() }
        });
        (point.tb, point.tbk) = (point.tb + stack.allocated.bytes, point.tbk + stack.allocated.blocks);
        (point.gb, point.gbk) = (point.gb + stack.at_peak.bytes, point.gbk + stack.at_peak.blocks);
        (point.eb, point.ebk) = (point.eb + stack.leaked.bytes, point.ebk + stack.leaked.blocks);
    }
    let file = File {
        version: 2,
        mode: "heapscribe",
        verb: "Allocated",
        bklt: true,
        bkacc: false,
        tu: "µs",
        mtu: "s",
        tuth: 10,
        cmd: stacks.command(),
        pid,
        tg: stacks.answer.peak.time_ns / NS_IN_US,
        te: (stacks.answer.duration_ns / NS_IN_US).max(1),
        pps: points.into_values().collect(),
        ftbl: frames.all,
    };
    serde_json::to_vec(&file)
}

/// The table of frames; the first is the root, which no stack names.
struct Frames {
    all: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Frames {
    fn number(&mut self, frame: &NamedFrame) -> usize {
        *self.numbers.entry(label(frame)).or_insert_with_key(|label| {
            self.all.push(label.clone());
            self.all.len() - 1
        })
    }
}

/// `0x4005D0: load (shop.c:12)`, as DHAT has it: the address keeps two calls on a line apart.
fn label(frame: &NamedFrame) -> String {
    let place = match (frame.place(), &frame.module) {
        (Some(place), _) => format!(" ({place})"),
        (None, Some(module)) => format!(" (in {module})"),
        (None, None) => String::new(),
    };
    format!("0x{:X}: {}{place}", frame.offset, frame.name())
}

/// The stacks of an answer that DHAT shows as one: their frames look alike.
pub fn groups(stacks: &ExportedStacks<'_>) -> HashMap<NodeId, usize> {
    let mut numbers: HashMap<Vec<String>, usize> = HashMap::new();
    let nodes = stacks.answer.stacks.iter().map(|stack| stack.node);
    let group = nodes.map(|node| {
        let next = numbers.len();
        (node, *numbers.entry(stacks.frames(node).iter().map(label).collect()).or_insert(next))
    });
    group.collect()
}
