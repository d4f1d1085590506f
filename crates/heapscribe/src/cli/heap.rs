//! Flags of the heap that a program is to have.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::{SESSION_DIR, TEMPLATE};
use crate::exit;
use heapscribe_units::parse_bytes;

/// A heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HeapChoice {
    /// Pools, in bounded time.
    Tlsf,
    /// That of the program's libc.
    System,
    /// One that somebody else has built.
    Library(PathBuf),
}

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

/// Run a program with another heap under it
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, mut_arg("heap", |heap| heap.required(true)),
          override_usage = "heapscribe run --heap HEAP [OPTIONS] -- CMD [ARGS]...", before_help = "\
Examples:
  heapscribe run --heap tlsf --pool 64MiB --lock -- ./control-loop
  heapscribe run --heap tlsf --stats -- ./control-loop  how the pool did, at the end
  heapscribe run --heap ./libmine.so -- ./server        a heap of your own, see docs/heaps.md
  heapscribe record --heap tlsf -- ./control-loop       both at once: another heap, recorded
")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) heap: HeapArgs,

    /// Say at the end how the heap of each process did: pool, used, peak, free, growths, failures
    #[arg(long)]
    pub(crate) stats: bool,

    /// Write that as JSON, with keys that stay the same from version to version
    #[arg(long, value_name = "FILE")]
    pub(crate) stats_json: Option<PathBuf>,

    /// Where heaps tell how they do while the program runs; best in memory
    #[arg(long, value_name = "DIR", default_value = SESSION_DIR)]
    pub(crate) session_dir: PathBuf,

    /// The program to run, and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}
