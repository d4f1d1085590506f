//! `heapscribe header`: the C and C++ headers for annotations and for custom heaps, and the archive that custom
//! heaps link.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cli::HeaderArgs;
use crate::launch::preload::TABLE_ARCHIVE;

/// The headers that match the libraries in this program, with the paths to write them to.
const PROGRAMS: (&str, &str) = ("heapscribe.h", include_str!("../../../preload/include/heapscribe.h"));
const HEAPS: (&str, &str) = ("heapscribe_heap.h", include_str!("../../../alloc/include/heapscribe_heap.h"));
const HEAPHOOK: (&str, &str) =
    ("heaphook/heaphook.hpp", include_str!("../../../alloc/include/heaphook/heaphook.hpp"));
const HOOK_TYPES: (&str, &str) =
    ("heaphook/hook_types.hpp", include_str!("../../../alloc/include/heaphook/hook_types.hpp"));
const ARCHIVE: &str = "libheapscribe_table.a";

/// Runs the command.
pub(crate) fn run(args: &HeaderArgs) -> Result<ExitCode> {
    match &args.to {
        Some(directory) => write_all(directory)?,
        None => {
            let (_, text) = match (args.heap, args.heaphook) {
                (true, _) => HEAPS,
                (_, true) => HEAPHOOK,
                _ => PROGRAMS,
            };
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(directory: &Path) -> Result<()> {
    let headers = [PROGRAMS, HEAPS, HEAPHOOK, HOOK_TYPES].map(|(name, text)| (name, text.as_bytes()));
    let archive = TABLE_ARCHIVE.unpacked().context("the archive cannot be unpacked")?;
    for (name, bytes) in headers.into_iter().chain([(ARCHIVE, &*archive)]) {
        let path = directory.join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            fs::write(&path, bytes)
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
