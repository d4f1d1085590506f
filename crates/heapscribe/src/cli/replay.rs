//! The command lines of `replay` and `pool-size`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::help::TEMPLATE;
use crate::exit;
use crate::replay::subject::Subject;
use heapscribe_units::{parse_bytes, parse_duration, parse_percent};

/// Compare heaps by replaying the recorded calls
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe replay run.hst --heap tlsf,system
  heapscribe replay run.hst --heap system,/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 -o heaps.pdf
  heapscribe replay run.hst --heap tlsf --pool 256MiB --grow 0     a pool that does not grow
  heapscribe replay run.hst --advice                               which setting keeps least memory
")]
pub(crate) struct ReplayArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Heaps to compare: tlsf (the real-time pool heap), system (the libc's), or the path of a library that
    /// exports malloc
    #[arg(long, value_name = "HEAP,...", value_delimiter = ',', default_value = "tlsf,system",
          value_parser = Subject::parse)]
    pub(crate) heap: Vec<Subject>,

    #[command(flatten)]
    pub(crate) process: ProcessArgs,

    /// tlsf: size of the first pool
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_bytes)]
    pub(crate) pool: u64,

    /// tlsf: size of the pool to add when all pools are full, doubled each time; 0 adds none
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = parse_bytes)]
    pub(crate) grow: u64,

    /// How many times to time the calls on each heap; the medians are shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) rounds: u32,

    /// How much of each block to write to, as the program would have
    #[arg(long, value_enum, default_value_t = TouchArg::Pages)]
    pub(crate) touch: TouchArg,

    /// Replay under settings of glibc's heap and on other heaps that are installed, by as many threads as made the calls,
    /// and say which one keeps least memory
    #[arg(long, conflicts_with_all = ["heap", "pool", "grow", "rounds", "output"])]
    pub(crate) advice: bool,

    /// Print JSON, including all values over time
    #[arg(long)]
    pub(crate) json: bool,

    /// Plot live bytes and footprints over time into FILE (.pdf, .svg or .png)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Find the pool size that a program needs
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

    /// Safety margin on top of the largest size that was needed
    #[arg(long, value_name = "PERCENT", default_value = "20%", value_parser = parse_percent)]
    pub(crate) margin: u64,

    /// How many variations of the recording to try: other thread orders, other sizes, another pool address
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub(crate) trials: u64,

    /// How late threads may be in these variations
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = parse_duration)]
    pub(crate) window: u64,

    /// Print JSON; its keys are stable across versions
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose calls.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProcessArgs {
    /// Process to use, if the trace has several [default: the one with the highest peak]
    #[arg(long, value_name = "PID", visible_alias = "heap-of")]
    pub(crate) pid: Option<u32>,

    /// The same by the name of its program (with * and ?); of several the one with the highest peak
    #[arg(long = "process", value_name = "NAME")]
    pub(crate) program: Option<String>,
}

/// What is written to of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TouchArg {
    /// One byte of each page
    Pages,
    /// Every byte
    All,
    /// Nothing
    None,
}
