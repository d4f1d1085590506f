//! What a program mapped itself, in JSON.

use heapscribe_analyze::answer::{Answer, MappedStack, Mappings, NodeId};
use heapscribe_symbols::NamedStacks;
use serde::Serialize;

use super::parts::FrameJson;

/// Stacks of a process that are written.
const STACKS_MAX: usize = 1000;

/// `mappings` of a process.
#[derive(Serialize)]
pub(super) struct MappingsJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    unfollowed_calls: Option<u64>,
    incomplete: bool,
    live_bytes: u64,
    break_bytes: u64,
    reserved_bytes: u64,
    peak_bytes: u64,
    peak_ns: u64,
    calls: u64,
    mapped_bytes: u64,
    stacks: Vec<MappedJson>,
}

/// A stack that mapped.
#[derive(Serialize)]
struct MappedJson {
    id: u32,
    frames: Vec<FrameJson>,
    calls: u64,
    mapped_bytes: u64,
    peak_bytes: u64,
    live_bytes: u64,
}

/// The stacks that are written, to be looked up.
pub fn wanted(answer: &Answer) -> impl Iterator<Item = NodeId> {
    let all = answer.processes.iter().filter_map(|process| process.mappings.as_ref());
    all.flat_map(|of| of.stacks.iter().take(STACKS_MAX).map(|of| of.node))
}

impl MappingsJson {
    pub(super) fn new(of: &Mappings, names: &NamedStacks<'_>) -> MappingsJson {
        let stack = |of: &MappedStack| MappedJson {
            id: of.node.0,
            frames: names.frames(of.node).into_iter().map(FrameJson::from).collect(),
            calls: of.mapped.blocks,
            mapped_bytes: of.mapped.bytes,
            peak_bytes: of.at_peak_bytes,
            live_bytes: of.live_bytes,
        };
        MappingsJson {
            unfollowed_calls: Some(of.unfollowed_calls).filter(|calls| *calls > 0),
            incomplete: of.is_incomplete,
            live_bytes: of.live_bytes,
            break_bytes: of.break_bytes,
            reserved_bytes: of.reserved_bytes,
            peak_bytes: of.peak_bytes,
            peak_ns: of.peak_ns,
            calls: of.mapped.blocks,
            mapped_bytes: of.mapped.bytes,
            stacks: of.stacks.iter().take(STACKS_MAX).map(stack).collect(),
        }
    }
}
