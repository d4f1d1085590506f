//! The two sides of a comparison, with the names of their stacks.

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::diff::{Change, Diff};
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
    /// The lines of each of a change's stacks, innermost first, as the second trace has them if it does. Several stacks
    /// have the same functions, and other lines in them.
    pub fn stacks(&self, diff: &Diff, change: &Change) -> Vec<Vec<NamedFrame>> {
        let side = if change.after.node.is_some() { &self.after } else { &self.before };
        diff.stacks(change).into_iter().map(|node| side.names.frames(node)).collect()
    }

    /// The same as one, without a line and a file where they are not those of all.
    pub fn frames(&self, diff: &Diff, change: &Change) -> Vec<NamedFrame> {
        let mut stacks = self.stacks(diff, change).into_iter();
        let mut frames = stacks.next().unwrap_or_default();
        for (frame, other) in stacks.flat_map(|stack| stack.into_iter().enumerate()) {
            let Some(of) = frames.get_mut(frame) else { continue };
            of.line = of.line.filter(|line| Some(*line) == other.line && of.file == other.file);
            of.file = of.file.take().filter(|file| Some(file) == other.file.as_ref());
        }
        frames
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
