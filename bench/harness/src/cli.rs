//! The command line of the harness.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::compared_heap::ComparedHeap;
use crate::report::{Form, Output};
use crate::sizes::Sizes;
use crate::tool::Tool;

/// Measures what recording costs: beside the program alone, a hook that only counts, and heaptrack.
#[derive(Debug, Parser)]
pub(crate) struct Cli {
    /// A built heapscribe to measure; otherwise that of this repository is built first
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) heapscribe: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Programs under each tool: CPU, memory, trace
    Corpus(CorpusArgs),
    /// Throughput of programs of several threads
    Threads(ThreadsArgs),
    /// What frames of Python and PHP in stacks cost
    Interpreters(InterpretersArgs),
    /// ns of a single call, by depth of the stack and fresh frames, and of an event
    Micro(MicroArgs),
    /// Instructions of a single call, counted by callgrind
    Instructions(InstructionsArgs),
    /// Latency and footprint of heaps: ours, glibc's, and with `--features peers` rlsf, mimalloc, jemalloc
    Heaps(HeapsArgs),
    /// One run of `heaps`, which starts it
    #[command(hide = true)]
    HeapWork(HeapWorkArgs),
    /// Very many operations on our heap with shifting sizes, in a pool that may not grow
    HeapSoak(HeapSoakArgs),
    /// Making the index of a large trace, and questions about its ranges
    Ranges(RangesArgs),
    /// Names of addresses: heapscribe's symbolizer, llvm-symbolizer, addr2line
    Symbols(SymbolsArgs),
    /// One run of `symbols`, which starts it
    #[command(hide = true)]
    SymbolWork(SymbolWorkArgs),
    /// All of what recording costs, as one page of Markdown
    Results(ResultsArgs),
}

/// Arguments of `ranges`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RangesArgs {
    /// A recorded trace, whose events are repeated
    #[arg(value_name = "TRACE")]
    pub(crate) from: PathBuf,

    /// The large trace; made if there is none
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: PathBuf,

    /// Events of the large trace
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000_000)]
    pub(crate) events: u64,

    /// Random questions
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    pub(crate) questions: usize,

    /// Memory for making the index, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub(crate) memory_mib: u64,
}

/// Arguments of `symbols`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SymbolsArgs {
    /// Programs and libraries
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Addresses of each
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    pub(crate) addresses: usize,

    /// Rounds; in each, every tool runs once
    #[arg(short = 'n', long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    /// Seconds after which a tool is stopped, and not run again
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub(crate) timeout: u64,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Arguments of `symbol-work`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SymbolWorkArgs {
    pub(crate) file: PathBuf,
}

/// Arguments of `heaps`.
#[derive(Clone, Debug, Args)]
pub(crate) struct HeapsArgs {
    /// Heaps to compare [default: all that were built in]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "HEAPS")]
    pub(crate) heaps: Vec<ComparedHeap>,

    /// Numbers of live blocks
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", default_value = "10000,100000")]
    pub(crate) live: Vec<usize>,

    /// Numbers of threads
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", default_value = "1,2")]
    pub(crate) threads: Vec<usize>,

    /// Sizes asked for; memory is measured for the first two
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "SIZES",
        default_value = "steady,shifting,small"
    )]
    pub(crate) sizes: Vec<Sizes>,

    /// Pairs of free and malloc of a run
    #[arg(long, value_name = "NUMBER", default_value_t = 400_000)]
    pub(crate) operations: usize,

    /// Blocks of a run that measures memory
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000)]
    pub(crate) footprint_operations: usize,

    /// Rounds; in each, every heap runs once
    #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Arguments of `heap-work`.
#[derive(Clone, Debug, Args)]
pub(crate) struct HeapWorkArgs {
    #[arg(long, value_enum)]
    pub(crate) heap: ComparedHeap,
    #[arg(long)]
    pub(crate) live: usize,
    #[arg(long)]
    pub(crate) threads: usize,
    #[arg(long)]
    pub(crate) operations: usize,
    #[arg(long)]
    pub(crate) seed: u64,
    #[arg(long, value_enum)]
    pub(crate) sizes: Sizes,
    #[arg(long)]
    pub(crate) footprint_bytes: Option<usize>,
}

/// Arguments of `heap-soak`.
#[derive(Clone, Debug, Args)]
pub(crate) struct HeapSoakArgs {
    /// Calls of the heap
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000_000)]
    pub(crate) operations: u64,

    /// End after so long, whatever was done
    #[arg(long, value_name = "SECONDS")]
    pub(crate) seconds: Option<u64>,

    /// Live bytes, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub(crate) live_mib: usize,

    /// What a thread may keep of small blocks, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 0)]
    pub(crate) cache_kib: usize,

    /// Other numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// How often, and under what.
#[derive(Clone, Debug, Args)]
pub(crate) struct Rounds {
    /// Tools, the first of which is always `bare` [default: all that are there]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TOOLS")]
    pub(crate) tools: Vec<Tool>,

    /// Rounds; in each, every tool runs once
    #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    /// Seconds after which a run is stopped and counts as failed
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub(crate) timeout: u64,
}

/// Arguments of `corpus`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CorpusArgs {
    /// Only these programs
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) programs: Vec<String>,

    /// A directory with a file `manifest` of other programs, see bench/README.md
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) rounds: Rounds,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Arguments of `threads`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ThreadsArgs {
    /// Only these of larson, producer_consumer, churn
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) programs: Vec<String>,

    /// Numbers of threads
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", default_value = "1,2,4,8")]
    pub(crate) threads: Vec<u32>,

    /// Work, as a multiple of the usual operations
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) work: f64,

    #[command(flatten)]
    pub(crate) rounds: Rounds,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Arguments of `interpreters`.
#[derive(Clone, Debug, Args)]
pub(crate) struct InterpretersArgs {
    /// Only these programs
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) programs: Vec<String>,

    /// Rounds; in each, every tool runs once
    #[arg(short = 'n', long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    /// Seconds after which a run is stopped and counts as failed
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub(crate) timeout: u64,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Arguments of `micro`.
#[derive(Clone, Debug, Args)]
pub(crate) struct MicroArgs {
    #[command(flatten)]
    pub(crate) rounds: Rounds,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Arguments of `instructions`.
#[derive(Clone, Copy, Default, Debug, Args)]
pub(crate) struct InstructionsArgs {
    /// Fail when a call takes over 5 % more than bench/instructions.json says
    #[arg(long, conflicts_with = "bless")]
    pub(crate) check: bool,

    /// Write what was counted to bench/instructions.json
    #[arg(long)]
    pub(crate) bless: bool,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Arguments of `results`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResultsArgs {
    /// Where to write the page [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// A directory with a file `manifest` of other programs, see bench/README.md
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) rounds: Rounds,
}

impl ResultsArgs {
    /// As `corpus` takes them.
    pub(crate) fn corpus(&self) -> CorpusArgs {
        CorpusArgs {
            programs: Vec::new(),
            corpus: self.corpus.clone(),
            rounds: self.rounds.clone(),
            form: Form::default(),
        }
    }

    /// As `threads` takes them.
    pub(crate) fn threads(&self) -> ThreadsArgs {
        ThreadsArgs {
            programs: Vec::new(),
            threads: vec![1, 2, 4, 8],
            work: 1.0,
            rounds: self.rounds.clone(),
            form: Form::default(),
        }
    }

    /// As `micro` takes them.
    pub(crate) fn micro(&self) -> MicroArgs {
        MicroArgs { rounds: self.rounds.clone(), form: Form::default() }
    }
}

impl Command {
    /// Whether something of ours is measured.
    pub(crate) fn needs_heapscribe(&self) -> bool {
        let named = match self {
            Command::Corpus(args) => &args.rounds.tools,
            Command::Threads(args) => &args.rounds.tools,
            Command::Micro(args) => &args.rounds.tools,
            Command::Results(args) => &args.rounds.tools,
            Command::Instructions(_) | Command::Interpreters(_) => return true,
            Command::Heaps(_)
            | Command::HeapWork(_)
            | Command::HeapSoak(_)
            | Command::Ranges(_)
            | Command::Symbols(_)
            | Command::SymbolWork(_) => return false,
        };
        named.is_empty() || named.iter().any(|tool| tool.needs_heapscribe())
    }

    /// Where the command's tables go, and how.
    pub(crate) fn output(&self) -> Output {
        let form = match self {
            Command::Corpus(args) => args.form,
            Command::Threads(args) => args.form,
            Command::Interpreters(args) => args.form,
            Command::Micro(args) => args.form,
            Command::Instructions(args) => args.form,
            Command::Heaps(args) => args.form,
            Command::Symbols(args) => args.form,
            Command::HeapWork(_) | Command::HeapSoak(_) | Command::Ranges(_) | Command::SymbolWork(_) => {
                Form::default()
            }
            Command::Results(args) => {
                let form = Form { json: false, markdown: true };
                return Output { form, is_page: true, path: args.output.clone() };
            }
        };
        Output { form, ..Output::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn lists_are_split_at_commas() {
        let cli =
            Cli::parse_from(["x", "corpus", "--tools", "bare,heapscribe", "--programs", "a,b", "-n", "2"]);
        let Command::Corpus(args) = cli.command else { panic!("{cli:?}") };
        assert_eq!(args.rounds.tools, [Tool::Bare, Tool::Heapscribe]);
        assert_eq!((args.programs, args.rounds.rounds), (vec!["a".to_owned(), "b".to_owned()], 2));
    }
}
