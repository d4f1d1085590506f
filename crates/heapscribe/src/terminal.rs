//! How wide the terminal is that a report is read on.

use std::io::IsTerminal;

use heapscribe_views::text::stack_list::WIDTH;
use ratatui::crossterm::terminal;

/// Lines are neither narrower nor wider than that.
const COLUMNS: std::ops::RangeInclusive<usize> = 60..=160;

/// Columns that no line should exceed: those of the terminal, or what `COLUMNS` says where a pager is behind a pipe and
/// has fewer than the usual ones. `None` where nobody says it.
pub(crate) fn limit(of: &impl IsTerminal) -> Option<usize> {
    let size = || of.is_terminal().then(terminal::size)?.ok();
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns < WIDTH);
    let columns = size().map(|(columns, _)| usize::from(columns)).or_else(said)?;
    Some(columns.clamp(*COLUMNS.start(), *COLUMNS.end()))
}
