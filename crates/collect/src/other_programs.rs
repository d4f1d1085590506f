//! Programs that are started and are not to be recorded (`record --only-program`, `agent --exclude`).

use std::fs::File;
use std::os::unix::fs::FileExt;

use heapscribe_session::read_head;
use heapscribe_wire::head::{Head, MODE_OFFSET};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::real_time_rules::fits;

/// Whether the process with this head is of a program that none of the patterns `only` fits, if there are any, or that one
/// of `except` does; it is told to record no more. A program has the name of its file and the one that was typed: `awk` of `gawk`.
pub(crate) fn silence(head: &File, only: &[String], except: &[String]) -> bool {
    let is_wanted = |head: &Head<'_>| {
        let typed = head.command.split(|byte| *byte == 0).next().unwrap_or_default();
        let fits = |patterns: &[String]| fits_any(patterns, head.exe) || fits_any(patterns, typed);
        (only.is_empty() || fits(only)) && !fits(except)
    };
    let is_asked = !only.is_empty() || !except.is_empty();
    let is_other = is_asked && read_head(head, is_wanted) == Some(false);
    if is_other {
        let _ = head.write_at(&Mode::Off.to_word().to_le_bytes(), MODE_OFFSET as u64);
    }
    is_other
}

fn fits_any(patterns: &[String], path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    !name.is_empty() && patterns.iter().any(|pattern| fits(pattern.as_bytes(), name))
}
