//! Flags of the heap that a program is to have.

use std::ffi::OsString;

use clap::Args;

use crate::launch::heap::{HeapChoice, HeapOptions};
use heapscribe_units::parse_bytes;

/// Reads a heap: a name, or a path, which has a slash or ends in `.so`.
fn parse_heap(text: &str) -> Result<HeapChoice, String> {
    match text {
        "tlsf" => Ok(HeapChoice::Tlsf),
        "system" => Ok(HeapChoice::System),
        path if path.contains('/') || path.ends_with(".so") => Ok(HeapChoice::Library(path.into())),
        _ => Err(format!(
            "there is no heap `{text}`; use tlsf, system, or the path of a library (./libmine.so)"
        )),
    }
}

/// Which heap, and what it is to be.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Heap")]
pub(crate) struct HeapArgs {
    /// Heap for the program: tlsf (a real-time pool heap), system (the libc's), or a library
    #[arg(long, value_name = "tlsf|system|PATH.so", value_parser = parse_heap)]
    pub(crate) heap: Option<HeapChoice>,

    /// Use the heap only in programs with this name; can be given several times
    #[arg(long, value_name = "PROGRAM", requires = "heap")]
    pub(crate) only: Vec<OsString>,

    /// tlsf: size of the first pool [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) pool: Option<u64>,

    /// tlsf: size of the pool to add when all pools are full, doubled each time; 0 adds none [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) grow: Option<u64>,

    /// tlsf: maximum size of all pools together [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) pool_max: Option<u64>,

    /// tlsf: size of each thread's cache of small blocks; 0 disables caches, as real-time programs need
    /// [default: pool/256, at most 64KiB; 0 with --grow 0]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) cache: Option<u64>,

    /// tlsf: lock the pools in memory (mlock, limited by `ulimit -l`)
    #[arg(long, requires = "heap")]
    pub(crate) lock: bool,

    /// tlsf: use huge pages
    #[arg(long, requires = "heap")]
    pub(crate) huge_pages: bool,

    /// tlsf: map all pages of a pool before it is used, not each when it is first used
    #[arg(long, requires = "heap")]
    pub(crate) prefault: bool,
}

impl HeapArgs {
    /// What the heap is to be.
    pub(crate) fn options(&self) -> HeapOptions {
        HeapOptions {
            only: self.only.clone(),
            pool_bytes: self.pool,
            grow_bytes: self.grow,
            pool_max_bytes: self.pool_max,
            cache_bytes: self.cache,
            lock: self.lock,
            huge_pages: self.huge_pages,
            prefault: self.prefault,
        }
    }
}
