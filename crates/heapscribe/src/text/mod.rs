//! Answers as plain sentences for people, at most 80 columns where it is up to us.

pub(crate) mod beside;
pub(crate) mod chart;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod estimate;
pub(crate) mod go;
pub(crate) mod heap;
pub(crate) mod latency;
pub(crate) mod live;
pub(crate) mod messages;
pub(crate) mod missing;
pub(crate) mod real_time;
pub(crate) mod recorded;
pub(crate) mod report;
pub(crate) mod said;
pub(crate) mod stack;
pub(crate) mod tables;

use std::io::{self, Write};

use anstyle::Style;

/// Where a report goes: colour codes are taken out further down when it is no terminal.
pub(crate) type Out<'a> = &'a mut dyn Write;

/// The heading of a section.
pub(crate) fn heading(out: Out<'_>, text: &str) -> io::Result<()> {
    let bold = Style::new().bold();
    writeln!(out, "\n{bold}{text}{bold:#}")
}
