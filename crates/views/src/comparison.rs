//! The two sides of a comparison, with the names of their stacks.

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::diff::Change;
use heapscribe_symbols::{NamedFrame, NamedStacks};

/// One of the two traces.
pub struct Compared<'a> {
    /// Its path.
    pub trace: &'a str,
    /// Which range of it, in words; nothing for all.
    pub range: String,
    /// Its answer.
    pub answer: &'a Answer,
    /// The names of its frames.
    pub names: &'a NamedStacks<'a>,
    /// Whether its figures stand for more than was recorded.
    pub is_estimated: bool,
    /// Whether numbers of blocks are known: massif's files have bytes only.
    pub has_blocks: bool,
    /// Whether it was recorded call by call: of a profile no event is lost.
    pub has_events: bool,
}

/// Both.
pub struct Sides<'a> {
    /// The first.
    pub before: Compared<'a>,
    /// The second.
    pub after: Compared<'a>,
    /// Whether what is live at a moment is compared: that of a snapshot was never freed, too.
    pub of_live: bool,
}

impl Sides<'_> {
    /// The lines of a change's stack, innermost first, as the second trace has it if it does.
    pub fn frames(&self, change: &Change) -> Vec<NamedFrame> {
        let after = change.after.node.map(|node| self.after.names.frames(node));
        let before = || change.before.node.map(|node| self.before.names.frames(node));
        after.or_else(before).unwrap_or_default()
    }

    /// Whether blocks of both can be compared.
    pub fn have_blocks(&self) -> bool {
        self.before.has_blocks && self.after.has_blocks
    }

    /// Whether figures are not exact.
    pub fn are_estimated(&self) -> bool {
        self.before.is_estimated || self.after.is_estimated
    }
}
