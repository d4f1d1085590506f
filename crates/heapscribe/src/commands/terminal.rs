//! How wide the terminal is that a report is read on.

use std::io::IsTerminal;

use heapscribe_views::text::stack_list::WIDTH;
use ratatui::crossterm::terminal;

/// Lines are neither narrower nor wider than that.
const COLUMNS: std::ops::RangeInclusive<usize> = 60..=160;

/// Columns of standard output; the same number always where it is no terminal, so that texts can be compared.
pub(super) fn columns() -> usize {
    let size = std::io::stdout().is_terminal().then(terminal::size).and_then(Result::ok);
    size.map_or(WIDTH, |(columns, _)| usize::from(columns).clamp(*COLUMNS.start(), *COLUMNS.end()))
}
