//! What a log of heaphook's has besides the events that it becomes: its lines by what they are, and what
//! does not fit together in them.

use std::io::{self, Write};

use heapscribe_formats::heaplog::{Line, Style, What};
use serde::Serialize;

use heapscribe_units::{count, counted};

/// The figures of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct LogTally {
    /// Lines that say something.
    pub(crate) lines: u64,
    /// Of these, in the form with spaces of heaphook 0.1.
    pub(crate) with_spaces: u64,
    /// Calls that asked for the size of a block.
    pub(crate) usable_size_calls: u64,
    /// `free(NULL)`.
    pub(crate) null_frees: u64,
    /// Blocks that came where another one was: that one is taken as gone.
    pub(crate) replaced: u64,
    /// Of these, how many were freed soon after, in a line that came late.
    pub(crate) late: u64,
    /// Frees of blocks that no line had handed out.
    pub(crate) unknown_frees: u64,
    /// Reallocs of such blocks.
    pub(crate) unknown_reallocs: u64,
    /// Zero bytes at the end of the file.
    pub(crate) zeros_at_end: u64,
}

impl LogTally {
    /// Counts a line.
    pub(crate) fn line(&mut self, style: Style, line: &Line) {
        self.lines += 1;
        self.with_spaces += u64::from(style == Style::Spaces);
        match line.what {
            What::UsableSize { .. } => self.usable_size_calls += 1,
            What::Free { address: 0 } => self.null_frees += 1,
            _ => {}
        }
    }

    /// Prints it as a part of a report.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let form = match (self.with_spaces, self.lines - self.with_spaces) {
            (_, 0) => "in the form with spaces of its version 0.1",
            (0, _) => "in the form with commas of its later versions",
            _ => "in both of its forms",
        };
        crate::text::heading(out, "The log")?;
        writeln!(out, "  {} of heaphook, {form}.", counted(self.lines, "line"))?;
        writeln!(
            out,
            "  The log has no times: times here are counts of calls. Nor has it threads or stacks: it is all\n  \
             one thread, and what stands for a stack is the function that was called."
        )?;
        for (n, what) in [
            (self.usable_size_calls, "calls for the size of a block"),
            (self.null_frees, "frees of NULL"),
            (self.replaced, "blocks that came where another one was, which is taken as gone"),
            (self.late, "of these whose end is told soon after, by a thread that was late"),
            (self.unknown_frees, "frees of blocks that no line had handed out"),
            (self.unknown_reallocs, "reallocs of such blocks"),
            (self.zeros_at_end, "zero bytes at its end, room that was not used"),
        ] {
            if n > 0 {
                writeln!(out, "  {what}: {}", count(n))?;
            }
        }
        Ok(())
    }
}
