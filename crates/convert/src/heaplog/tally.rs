//! What a log of heaphook's has besides the events that it becomes: its lines by what they are, and what
//! does not fit together in them.

use heapscribe_formats::heaplog::{Line, Operation, Style};
use serde::Serialize;

/// The figures of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LogTally {
    /// Lines that are not empty.
    pub lines: u64,
    /// Of these, in the form with spaces of heaphook 0.1.
    pub with_spaces: u64,
    /// Calls that asked for the size of a block.
    pub usable_size_calls: u64,
    /// `free(NULL)`.
    pub null_frees: u64,
    /// Blocks at the address of another one: that one is taken as freed.
    pub replaced: u64,
    /// Of these, how many were freed soon after, in a late line.
    pub late: u64,
    /// Frees of blocks that no line had allocated.
    pub unknown_frees: u64,
    /// Reallocs of such blocks.
    pub unknown_reallocs: u64,
    /// Zero bytes at the end of the file.
    pub zeros_at_end: u64,
}

impl LogTally {
    /// Counts a line.
    pub fn line(&mut self, style: Style, line: &Line) {
        self.lines += 1;
        self.with_spaces += u64::from(style == Style::Spaces);
        match line.operation {
            Operation::UsableSize { .. } => self.usable_size_calls += 1,
            Operation::Free { address: 0 } => self.null_frees += 1,
            _ => {}
        }
    }
}
