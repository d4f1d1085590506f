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
        _ => Err(format!("`{text}` is no heap; it is tlsf, system, or a library like ./libmine.so")),
    }
}

/// Which heap, and what it is to be.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The heap")]
pub(crate) struct HeapArgs {
    /// The heap under the program: tlsf (pools, bounded time), system (the one it has), or a library
    #[arg(long, value_name = "tlsf|system|PATH.so", value_parser = parse_heap)]
    pub(crate) heap: Option<HeapChoice>,

    /// Only for programs of this name, of all that CMD starts; may be given more than once
    #[arg(long, value_name = "PROGRAM", requires = "heap")]
    pub(crate) only: Vec<OsString>,

    /// tlsf: size of the pool that is there from the beginning [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) pool: Option<u64>,

    /// tlsf: size of the pool that is added when that is full, doubled for each that follows; 0: none is
    /// [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) grow: Option<u64>,

    /// tlsf: size of all pools together at most [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) pool_max: Option<u64>,

    /// tlsf: what each thread may keep of small blocks for itself at most, so that threads need not wait for
    /// each other; 0: nothing, which is best for real-time work [default: 0]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "heap")]
    pub(crate) cache: Option<u64>,

    /// tlsf: keep pools in memory (mlock, within `ulimit -l`)
    #[arg(long, requires = "heap")]
    pub(crate) lock: bool,

    /// tlsf: ask for huge pages
    #[arg(long, requires = "heap")]
    pub(crate) huge_pages: bool,

    /// tlsf: let the kernel give the pool's pages when they are first touched, not before
    #[arg(long, requires = "heap")]
    pub(crate) no_prefault: bool,
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
            prefault: !self.no_prefault,
        }
    }
}
