//! What runtime libraries keep until a process ends, as the text has it in one line: part of `leaked`, and no leak.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::Answer;
use heapscribe_symbols::NamedStacks;
use serde::Serialize;

use crate::runtime::{Purposes, name};

/// All that is kept, and what for.
#[derive(Serialize)]
pub(crate) struct RuntimeJson {
    blocks: u64,
    bytes: u64,
    purposes: Vec<PurposeJson>,
}

/// What is kept for one purpose.
#[derive(Serialize)]
struct PurposeJson {
    purpose: &'static str,
    blocks: u64,
    bytes: u64,
    /// The numbers of the stacks that allocated it.
    stacks: Vec<u32>,
}

impl RuntimeJson {
    /// What an answer has of it; `None` when that is nothing.
    pub(crate) fn of(answer: &Answer, names: &NamedStacks<'_>) -> Option<RuntimeJson> {
        let purposes = Purposes::new(names);
        let mut kept = BTreeMap::<usize, PurposeJson>::new();
        for (stack, purpose) in purposes.kept(answer.stacks.iter()) {
            let nothing = PurposeJson { purpose: name(purpose), blocks: 0, bytes: 0, stacks: Vec::new() };
            let sum = kept.entry(purpose).or_insert(nothing);
            sum.blocks = sum.blocks.saturating_add(stack.leaked.blocks);
            sum.bytes = sum.bytes.saturating_add(stack.leaked.bytes);
            sum.stacks.push(stack.node.0);
        }
        let sum = |figure: fn(&PurposeJson) -> u64| kept.values().map(figure).fold(0, u64::saturating_add);
        let (blocks, bytes) = (sum(|of| of.blocks), sum(|of| of.bytes));
        (!kept.is_empty()).then(|| RuntimeJson { blocks, bytes, purposes: kept.into_values().collect() })
    }
}
