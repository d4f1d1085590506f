//! Lists of stacks: what each did, and the calls that led there, the innermost first.

use std::collections::BTreeSet;
use std::io;

use heapscribe_analyze::answer::NodeId;

use super::out::Out;
use heapscribe_symbols::{NamedFrame, NamedStacks};

/// Frames of one stack that a report shows.
pub(super) const FRAMES_SHOWN: usize = 16;
/// Columns for the names of functions, where they are enough.
const NAME_COLUMNS: usize = 38;

/// Prints stacks; one that was printed before is only named again.
pub struct StackPrinter<'a> {
    names: &'a NamedStacks<'a>,
    printed: BTreeSet<NodeId>,
}

impl<'a> StackPrinter<'a> {
    /// Nothing printed yet.
    pub fn new(names: &'a NamedStacks<'a>) -> Self {
        StackPrinter { names, printed: BTreeSet::new() }
    }

    /// An entry of a list.
    pub fn entry(&mut self, out: Out<'_>, rank: usize, figures: &str, stack: NodeId) -> io::Result<()> {
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
            more => writeln!(out, "      ... {more} more (see --json)"),
        }
    }
}

/// The function and where it is: beside it, or on a line of its own below a long name.
pub(super) fn frame_line(frame: &NamedFrame) -> String {
    let mut line = frame.name();
    for (set, mark) in [(frame.inlined, " (inlined)"), (frame.guessed, " (guessed)")] {
        if set {
            line.push_str(mark);
        }
    }
    match place(frame) {
        Some(place) if line.chars().count() < NAME_COLUMNS => format!("{line:<NAME_COLUMNS$} {place}"),
        Some(place) => format!("{line}\n          {place}"),
        None => line,
    }
}

/// File and line; for a function without them its place in the module.
fn place(frame: &NamedFrame) -> Option<String> {
    let in_module = || {
        let module = frame.module.as_deref().filter(|_| frame.function.is_some())?;
        Some(format!("{}+{:#x}", module.rsplit('/').next().unwrap_or(module), frame.offset))
    };
    frame.place().or_else(in_module).filter(|place| !place.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_line_or_two() {
        let frame = |function: &str, line| NamedFrame {
            function: Some(function.to_owned()),
            file: Some("/src/a.c".to_owned()).filter(|_| line > 0),
            line: Some(line),
            module: Some("/usr/lib/libz.so".to_owned()),
            offset: 0x42,
            ..NamedFrame::default()
        };
        let long = "std::vector<int, std::allocator<int> >::push_back(int const&)";
        let inlined = NamedFrame { inlined: true, ..frame("grow", 7) };
        let bare = NamedFrame { function: None, guessed: true, ..frame("", 0) };
        let frames = [frame("main", 3), frame(long, 12), inlined, frame("deflate", 0), bare];
        let lines: Vec<_> = frames.iter().map(frame_line).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
