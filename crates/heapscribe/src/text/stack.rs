//! Lists of stacks: what each did, and the calls that led there, the innermost first.

use std::collections::BTreeSet;
use std::io;

use heapscribe_analyze::answer::NodeId;

use super::Out;
use crate::frames::{NamedFrame, NamedStacks};

/// Frames of one stack that a report shows.
const FRAMES_SHOWN: usize = 16;
/// Column of the file names.
const PLACE_COLUMN: usize = 44;

/// Prints stacks; one that was printed before is only named again.
pub(crate) struct StackPrinter<'a> {
    names: &'a NamedStacks<'a>,
    printed: BTreeSet<NodeId>,
}

impl<'a> StackPrinter<'a> {
    /// Nothing printed yet.
    pub(crate) fn new(names: &'a NamedStacks<'a>) -> Self {
        StackPrinter { names, printed: BTreeSet::new() }
    }

    /// An entry of a list.
    pub(crate) fn entry(
        &mut self,
        out: Out<'_>,
        rank: usize,
        figures: &str,
        stack: NodeId,
    ) -> io::Result<()> {
        if stack == NodeId::ROOT {
            return writeln!(out, "{rank:>4}. {figures}\n      unknown stack");
        }
        if !self.printed.insert(stack) {
            return writeln!(out, "{rank:>4}. {figures}\n      stack {}, shown above", stack.0);
        }
        writeln!(out, "{rank:>4}. {figures}, stack {}", stack.0)?;
        let frames = self.names.frames(stack);
        for frame in frames.iter().take(FRAMES_SHOWN) {
            writeln!(out, "      {}", frame_line(frame))?;
        }
        match frames.len().saturating_sub(FRAMES_SHOWN) {
            0 => Ok(()),
            more => writeln!(out, "      ... {more} more, all of them with --json"),
        }
    }
}

fn frame_line(frame: &NamedFrame) -> String {
    let module = frame.module.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path));
    let place = frame.place().or_else(|| {
        let known = frame.function.is_some();
        module.filter(|_| known).map(|module| format!("{module}+{:#x}", frame.offset))
    });
    let mut line = frame.name();
    if let Some(place) = place {
        line = format!("{line:<width$} {place}", width = PLACE_COLUMN - 6);
    }
    for (set, mark) in [(frame.inlined, " (inlined)"), (frame.guessed, " (guessed)")] {
        if set {
            line.push_str(mark);
        }
    }
    line
}
