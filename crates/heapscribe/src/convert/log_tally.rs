//! What a log of heaphook's has besides the events that it becomes: its lines by what they are, and what
//! does not fit together in them.

use std::io::{self, Write};

use heapscribe_formats::heaplog::{Line, Style, What};
use serde::Serialize;

use crate::text::number::{count, counted};

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
            (_, 0) => "as version 0.1 writes them, with spaces",
            (0, _) => "as later versions write them, with commas",
            _ => "some with spaces, some with commas",
        };
        crate::text::heading(out, "The log")?;
        writeln!(out, "  {} of heaphook, {form}.", counted(self.lines, "line"))?;
        writeln!(
            out,
            "  The log has no times, threads or stacks: times here are counts of calls, everything is one\n  \
             thread, and the called function stands for the stack."
        )?;
        for (n, what) in [
            (self.usable_size_calls, "calls of malloc_usable_size"),
            (self.null_frees, "frees of NULL"),
            (self.replaced, "allocations at the address of a live block, which counts as freed"),
            (self.late, "of these, freed soon after by a line that was late"),
            (self.unknown_frees, "frees of unknown blocks"),
            (self.unknown_reallocs, "reallocs of unknown blocks"),
            (self.zeros_at_end, "unused zero bytes at its end"),
        ] {
            if n > 0 {
                writeln!(out, "  {what}: {}", count(n))?;
            }
        }
        Ok(())
    }
}
