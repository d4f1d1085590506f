//! `heapscribe header`: the header by which a C or C++ program tells the recorder what it does.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

/// The header as it is installed with this program, so that it fits its recorder.
const HEADER: &str = include_str!("../../../heapscribe-preload/include/heapscribe.h");

/// Runs the command.
pub(crate) fn run() -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    out.write_all(HEADER.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
