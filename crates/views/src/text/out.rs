//! The output of a report, and the headings of its sections.

use std::io::{self, Write};

use anstyle::Style;

/// The output of a report: colour codes are taken out further down when it is no terminal.
pub type Out<'a> = &'a mut dyn Write;

/// The heading of a section.
pub fn heading(out: Out<'_>, text: &str) -> io::Result<()> {
    let bold = Style::new().bold();
    writeln!(out, "\n{bold}{text}{bold:#}")
}
