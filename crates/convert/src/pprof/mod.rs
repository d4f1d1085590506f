//! Snapshots as profiles for pprof (`profile.proto`): what is live, in blocks and in bytes, by stack or
//! block by block.
//!
//! *Lost on the way*: how sure estimates are, ages (but for profiles by block), what was allocated before.

mod message;
mod profile;

use std::collections::HashMap;

use anyhow::Result;
use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::snapshot::{self, Snapshot};
use heapscribe_formats::LiveBlock;

use crate::opened_trace::Opened;
use heapscribe_symbols::Resolver;
use heapscribe_symbols::{NamedStacks, lossy};
use profile::{Label, Profile};

/// A profile of the first snapshot of a trace.
pub fn profile(trace: &Opened, by_block: bool, resolver: &Resolver) -> Result<Vec<u8>> {
    let Some(snapshot) = snapshot::analyze(&**trace).into_iter().next() else {
        anyhow::bail!("there is no snapshot in the trace");
    };
    let names = NamedStacks::look_up(&snapshot.tree, snapshot.stacks.iter().map(|s| s.node), resolver);
    let mut profile = Profile::new(&snapshot, &names);
    if by_block {
        let nodes: HashMap<_, _> = snapshot.nodes.iter().copied().collect();
        let node_of = |block: &LiveBlock| nodes.get(&block.stack).copied().unwrap_or(NodeId::ROOT);
        snapshot::blocks(&**trace, &snapshot, |block, live| {
            let labels = labels(&snapshot, trace, block);
            profile.sample(node_of(block), live, &labels);
        })?;
    } else {
        snapshot.stacks.iter().for_each(|stack| profile.sample(stack.node, stack.live, &[]));
    }
    Ok(profile.finish())
}

/// The labels of a sample of one block.
fn labels(snapshot: &Snapshot, trace: &Opened, block: &LiveBlock) -> [Label; 4] {
    let clock = trace.clock(snapshot.process.index);
    let age_ns = clock.age_ns(snapshot.table.ticks.saturating_sub(block.birth_ticks));
    let born_ns = snapshot.table.real_ns.saturating_sub(age_ns);
    let thread = snapshot.threads.iter().find(|thread| thread.id == block.thread.0);
    let thread = thread
        .map_or_else(|| "unknown".to_owned(), |thread| format!("{}[{}]", lossy(&thread.name), thread.tid));
    [
        Label::Text("address", format!("{:#x}", block.address.0)),
        Label::Number("bytes", block.size_bytes, "bytes"),
        Label::Number("timestamp", born_ns, "nanoseconds"),
        Label::Text("thread", thread),
    ]
}
