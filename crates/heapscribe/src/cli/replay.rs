//! The command lines of `replay` and `pool-size`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::help::TEMPLATE;
use crate::exit;
use crate::replay::subject::Subject;
use heapscribe_units::{parse_bytes, parse_duration, parse_percent};

/// Make the recorded calls again on other heaps, and compare memory and latency
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe replay run.hst --heap tlsf,system
  heapscribe replay run.hst --heap system,/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 -o heaps.pdf
  heapscribe replay run.hst --heap tlsf --pool 256MiB --grow 0     a pool that does not grow
")]
pub(crate) struct ReplayArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// The heaps: tlsf (our pool heap), system (libc's), or the path of a library with a malloc of its own
    #[arg(long, value_name = "HEAP,...", value_delimiter = ',', default_value = "tlsf,system",
          value_parser = Subject::parse)]
    pub(crate) heap: Vec<Subject>,

    #[command(flatten)]
    pub(crate) process: ProcessArgs,

    /// Size of tlsf's pool
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_bytes)]
    pub(crate) pool: u64,

    /// Size of the first pool that tlsf adds when that is full, doubled each time; 0: none is added
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = parse_bytes)]
    pub(crate) grow: u64,

    /// How often calls are timed on each heap, in turns; medians are shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) rounds: u32,

    /// What is written to of each block, as its program would have
    #[arg(long, value_enum, default_value_t = TouchArg::Pages)]
    pub(crate) touch: TouchArg,

    /// Print JSON, with everything over time
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw live bytes and footprints over time: a file that ends in .pdf, .svg or .png
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Find the size of a pool that serves every request of a recording
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe pool-size run.hst
  heapscribe pool-size run.hst --margin 50%          for inputs that vary more
  heapscribe pool-size run.hst --pid 4711 --json | jq .recommended_bytes
")]
pub(crate) struct PoolSizeArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    #[command(flatten)]
    pub(crate) process: ProcessArgs,

    /// What comes on top of the largest need that was found
    #[arg(long, value_name = "PERCENT", default_value = "20%", value_parser = parse_percent)]
    pub(crate) margin: u64,

    /// Runs besides the recorded one: threads in another order, other sizes, the pool elsewhere
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub(crate) trials: u64,

    /// By how much threads are late in these, at most
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = parse_duration)]
    pub(crate) window: u64,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose calls.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ProcessArgs {
    /// The process, where the trace has several [default: the one with the highest peak]
    #[arg(long, value_name = "PID", visible_alias = "heap-of")]
    pub(crate) pid: Option<u32>,
}

/// What is written to of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TouchArg {
    /// A byte of each page
    Pages,
    /// Every byte
    All,
    /// Nothing
    None,
}
