//! Which of the blocks are wanted, whenever they were born and freed: by what they are counted under, and by the names
//! in their stacks.

use heapscribe_index::{Key, SizeClass};

use super::ask::Blocks;
use super::pattern::Pattern;
use crate::model::{CallId, Calls};

/// What a question leaves of all blocks.
pub(super) struct Wanted<'a> {
    blocks: &'a Blocks,
    /// By call: whether a stack that ends there is wanted; nothing if all are.
    tips: Option<Vec<bool>>,
}

impl<'a> Wanted<'a> {
    /// What it leaves; or what is wrong with its names, in words.
    pub(super) fn new(calls: &Calls, blocks: &'a Blocks) -> Result<Wanted<'a>, String> {
        let is_all = blocks.with.is_empty() && blocks.without.is_empty();
        let tips = if is_all { None } else { Some(named(calls, blocks)?) };
        Ok(Wanted { blocks, tips })
    }

    /// Whether stacks of all names are.
    pub(super) fn is_any_name(&self) -> bool {
        self.tips.is_none()
    }

    /// Whether all are.
    pub(super) fn is_all(&self) -> bool {
        let Blocks { process, thread, size_bytes, larger_bytes, .. } = self.blocks;
        let is_any_key =
            process.is_none() && thread.is_none() && size_bytes.is_none() && larger_bytes.is_none();
        is_any_key && self.is_any_name()
    }

    /// Whether those are that are counted under this.
    pub(super) fn has_key(&self, key: &Key) -> bool {
        let Blocks { process, thread, size_bytes, larger_bytes, .. } = self.blocks;
        process.is_none_or(|process| process == key.process)
            && thread.is_none_or(|thread| thread == key.thread)
            && size_bytes.is_none_or(|size| SizeClass::of(size) == key.size)
            && larger_bytes.is_none_or(|size| SizeClass::of(size) <= key.size)
    }

    /// Whether those of stacks are that end in a call, which is looked for only where names are asked for.
    pub(super) fn has_tip(&self, tip: impl FnOnce() -> CallId) -> bool {
        self.tips.as_ref().is_none_or(|tips| tips[tip().0 as usize])
    }
}

/// Which calls have the functions that are asked for among their callers, and none of those that are not.
fn named(calls: &Calls, blocks: &Blocks) -> Result<Vec<bool>, String> {
    let pattern = |text: &str| match text {
        "" => Ok(None),
        text => Pattern::parse(text).map(Some),
    };
    let (with, without) = (pattern(&blocks.with)?, pattern(&blocks.without)?);
    let functions = calls.functions().all().iter();
    let flags: Vec<(bool, bool)> = functions
        .map(|function| {
            let is = |of: &Option<Pattern>| of.as_ref().is_some_and(|pattern| pattern.is_of(function));
            (is(&with), is(&without))
        })
        .collect();
    let mut below = vec![(with.is_none(), false); calls.nodes().len()];
    for (n, node) in calls.nodes().iter().enumerate().skip(1) {
        let (caller, own) = (below[node.caller.0 as usize], flags[node.function.0 as usize]);
        below[n] = (caller.0 || own.0, caller.1 || own.1);
    }
    Ok(below.into_iter().map(|(wanted, unwanted)| wanted && !unwanted).collect())
}
