//! How much of the growth of memory the recorded heap explains, and why it is little, below the curve.

use std::io;

use super::Out;
use super::findings::wrapped;
use crate::coverage::Explained;

/// Prints it; nothing where it is not known.
pub(super) fn section(out: Out<'_>, explained: Option<&Explained>, width: usize) -> io::Result<()> {
    let Some(explained) = explained else { return Ok(()) };
    let why = if explained.is_low() { explained.why() } else { Vec::new() };
    for text in [explained.sentence()].into_iter().chain(why) {
        wrapped(&format!("  {text}"), width, 2).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}
