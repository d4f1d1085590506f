//! The command line of `record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::heap::HeapArgs;
use super::help::TEMPLATE;
use super::modes::parse_mean;
use super::real_time::RealTimeArgs;
use super::retention::RetentionArgs;
use crate::exit;
use heapscribe_units::parse_bytes;

const SAMPLING: &str = "What to record";
const RUNTIMES: &str = "Interpreters and JIT compilers";
const BUFFERING: &str = "Buffering";
const TRACE: &str = "Trace";

/// Run a program and record its heap
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP,
          override_usage = "heapscribe record [OPTIONS] -- CMD [ARGS]...", before_help = "\
Examples:
  heapscribe record -- ./server --port 80
  heapscribe record -o run.hst --quiet -- make -j8
  heapscribe record --sample 512KiB -- ./server            sample: low overhead
  heapscribe record --ring 256MiB -- ./server              keep only the newest events
  heapscribe record --when-full drop -- ./control-loop     never make the program wait
  heapscribe record --latency -- ./control-loop            also time every call
  heapscribe record --always -- ./server                   leave it on, for `heapscribe agent --all`
  heapscribe record --rt-section loop --rt-abort -- ./app  stop at the first call inside the section
")]
pub(crate) struct RecordArgs {
    /// Where to write the trace [default: heapscribe.PROGRAM.PID.hst]
    #[arg(short, long, value_name = "TRACE", help_heading = TRACE)]
    pub(crate) output: Option<PathBuf>,

    /// Replace TRACE when it exists
    #[arg(long, help_heading = TRACE)]
    pub(crate) force: bool,

    /// Format of the trace
    #[arg(long, value_enum, default_value_t = TraceFormat::Native, help_heading = TRACE)]
    pub(crate) format: TraceFormat,

    /// Put names of functions and lines into the trace at the end, so that it can be read on another machine
    #[arg(long, help_heading = TRACE)]
    pub(crate) embed_symbols: bool,

    /// Compression level of the trace, 1 (fastest) to 19 (smallest)
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = TRACE,
          value_parser = clap::value_parser!(i32).range(1..=19))]
    pub(crate) level: i32,

    /// Exit when CMD exits, even if processes that it started are still running
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Record only programs with this name (with * and ?), of the file or as it was typed, whoever starts them; can be
    /// given several times
    #[arg(long, value_name = "NAME", help_heading = SAMPLING)]
    pub(crate) only_program: Vec<String>,

    /// Do not print a summary, nor that nothing was recorded of a program that made no calls; what went wrong is printed
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Print also how the recording kept up with the program
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// The program to run, with its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,

    /// Record a sample of the blocks: on average one hit per SIZE allocated bytes, for example 512KiB
    #[arg(long, value_name = "SIZE", value_parser = parse_mean, help_heading = SAMPLING)]
    pub(crate) sample: Option<u64>,

    /// Record a service for good, by samples, and write no trace: `heapscribe agent --all` makes windows of it
    ///
    /// CMD takes the place of this process. The agent takes up all such services of this user, in whatever order they and
    /// it are started. The sampling rate is the agent's.
    #[arg(long, help_heading = SAMPLING, conflicts_with_all = [
        "output", "force", "format", "embed_symbols", "level", "no_wait", "only_program", "verbose", "sample",
        "sample_seed", "mode", "clock", "no_interpreter_frames", "track_mmap", "when_full", "log_chunks", "spill_limit",
        "RetentionArgs", "RealTimeArgs", "HeapArgs"])]
    pub(crate) always: bool,

    /// Have Node.js, Java and .NET say what code they compile, so that its functions have names. Costs them time;
    /// Node.js leaves isolate-*.log files in its working directory
    ///
    /// Node.js leaves one such file for each of its threads that run JavaScript; both Node.js and Java leave
    /// /tmp/perf-PID.map. Where no file can be made in the working directory, nothing is set for Node.js: its log would go
    /// to its standard output. Options of a CMD that is `java` are put before its arguments. A JVM that another program
    /// starts takes them from JAVA_TOOL_OPTIONS, and prints "Picked up JAVA_TOOL_OPTIONS" on its standard error; one that
    /// such a `java` starts has none.
    #[arg(long, help_heading = RUNTIMES)]
    pub(crate) jit: bool,

    /// Have Python ask malloc for each object (PYTHONMALLOC=malloc), so that those of up to 512 bytes are recorded, too.
    /// Python then takes more memory and more time
    #[arg(long, help_heading = RUNTIMES)]
    pub(crate) python_allocators: bool,

    /// Have PHP ask malloc for each block (USE_ZEND_ALLOC=0), so that what scripts allocate is recorded, too. PHP then
    /// takes more time, has no memory_limit, and memory_get_usage() is 0
    #[arg(long, help_heading = RUNTIMES)]
    pub(crate) php_allocators: bool,

    /// Seed for sampling; the same seed picks the same samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = SAMPLING)]
    pub(crate) sample_seed: Option<u64>,

    /// What to record at first; `heapscribe ctl NAME start` starts a recording that is off
    #[arg(long, value_enum, default_value_t = StartMode::Full, conflicts_with = "sample", help_heading = SAMPLING)]
    pub(crate) mode: StartMode,

    /// How often the clock is read
    ///
    /// `coarse` makes calls cheaper and the trace smaller. Times are then up to a step of the kernel's clock early, 1 to
    /// 10 ms, and lifetimes as much too long or too short; the order of events, and so every size and count, is exact all
    /// the same. Once a second thread or process begins, every event reads the clock. It would gain nothing with --sample.
    #[arg(long, value_enum, default_value_t = ClockChoice::Precise, conflicts_with = "sample", help_heading = SAMPLING)]
    pub(crate) clock: ClockChoice,

    /// Do not record the frames of Python, JavaScript and PHP code, only those of the interpreter
    #[arg(long, help_heading = RUNTIMES)]
    pub(crate) no_interpreter_frames: bool,

    /// Record mmap, munmap, mremap, mprotect, brk and sbrk of the program's own, too, apart from the heap
    ///
    /// `report --full` has what was mapped and by whom. Recording makes these calls slower.
    #[arg(long, help_heading = SAMPLING)]
    pub(crate) track_mmap: bool,

    /// What the program does when its buffer is full
    #[arg(long, value_enum, default_value_t = WhenFull::Wait, help_heading = BUFFERING)]
    pub(crate) when_full: WhenFull,

    /// Size of each process's buffer, in chunks of 64 KiB
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = BUFFERING,
          value_parser = clap::value_parser!(u32).range(2..=heapscribe_wire::limits::CHUNKS_MAX as i64))]
    pub(crate) log_chunks: u32,

    /// How much a process may write to a file when its buffer is full and `record` no longer reads it
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = parse_bytes, help_heading = BUFFERING)]
    pub(crate) spill_limit: u64,

    /// Directory for the buffers while the program runs; should be in memory. Without it:
    /// /dev/shm, or another place if less than 256 MiB are free there
    #[arg(long, value_name = "DIR", help_heading = BUFFERING)]
    pub(crate) session_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) retention: RetentionArgs,

    #[command(flatten)]
    pub(crate) real_time: RealTimeArgs,

    #[command(flatten)]
    pub(crate) heap: HeapArgs,
}

/// What is recorded at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StartMode {
    /// Every block
    Full,
    /// Nothing
    Off,
}

/// How often the clock is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ClockChoice {
    /// By every event
    Precise,
    /// Once in each step of the kernel's clock, while there is one process with one thread
    Coarse,
}

/// A format that traces are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TraceFormat {
    /// heapscribe's own format: one file for all processes
    Native,
    /// OCaml's memtrace format: one file per process, TRACE for CMD, the others with their PID in the name
    Memtrace,
}

/// What the program does when its buffer is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum WhenFull {
    /// Wait until there is room
    Wait,
    /// Drop events and count them
    Drop,
}
