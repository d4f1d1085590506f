//! The command line of `agent`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::modes::parse_mean;
use super::tables::parse_label;
use crate::exit;
use heapscribe_units::{parse_bytes, parse_duration};

const WINDOWS: &str = "Windows";
const COLLECTOR: &str = "Collector";

/// Record a service for good, in windows of time
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP,
          override_usage = "heapscribe agent -o DIR [OPTIONS] -- CMD [ARGS]...\n       heapscribe agent -o DIR [OPTIONS] --all\n       heapscribe agent -o DIR [OPTIONS] --session SESSIONS", before_help = "\
Examples:
  heapscribe agent -o /var/lib/heapscribe -- ./server
  heapscribe agent -o windows --endpoint http://localhost:4318 --service shop -- ./server
  heapscribe agent -o windows --metrics 127.0.0.1:9477 -- ./server
  heapscribe agent -o /var/lib/heapscribe --all         all that `record --always` starts
  heapscribe agent -o windows --session /dev/shm/heapscribe.0.4711.0    go on after a kill
")]
pub(crate) struct AgentArgs {
    /// Directory for the windows: DIR/host=HOST/date=DATE/*.parquet
    #[arg(short, long, value_name = "DIR", help_heading = WINDOWS)]
    pub(crate) output: PathBuf,

    /// How long a window is
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, help_heading = WINDOWS)]
    pub(crate) window: u64,

    /// The service of all windows [default: the file name of each process's program]
    #[arg(long, value_name = "NAME", help_heading = WINDOWS)]
    pub(crate) service: Option<String>,

    /// Its version [default: the build id of each process's program]
    #[arg(long, value_name = "VERSION", help_heading = WINDOWS)]
    pub(crate) service_version: Option<String>,

    /// A label of all windows, such as region=eu
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label, help_heading = WINDOWS)]
    pub(crate) labels: Vec<(String, String)>,

    /// Send each window as OTLP profiles, too: http://HOST:PORT of a collector
    #[arg(long, value_name = "URL", help_heading = COLLECTOR)]
    pub(crate) endpoint: Option<String>,

    /// Bytes of windows that wait on disk while the collector is away; the oldest make room, and are counted
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = parse_bytes, help_heading = COLLECTOR)]
    pub(crate) spool_max: u64,

    /// Answer Prometheus at http://ADDRESS/metrics
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = COLLECTOR)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Samples that are wanted from this host in an hour; the sampling rate follows
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) samples_per_hour: u64,

    /// Sample one hit per SIZE allocated bytes, and stay with that
    #[arg(long, value_name = "SIZE", value_parser = parse_mean, conflicts_with = "samples_per_hour")]
    pub(crate) sample: Option<u64>,

    /// Leave programs with this name (with * and ?) alone, whoever starts them; can be given several times
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) exclude: Vec<String>,

    /// Keep the whole trace, too, as `record` would write it
    #[arg(long, value_name = "TRACE")]
    pub(crate) keep_trace: Option<PathBuf>,

    /// Start nothing: take up all services of this user that `heapscribe record --always` starts, until you stop it
    #[arg(long, conflicts_with_all = ["command", "session"])]
    pub(crate) all: bool,

    /// Start nothing: take what a recording left in this directory, or still writes there
    #[arg(long, value_name = "SESSIONS", conflicts_with = "command")]
    pub(crate) session: Option<PathBuf>,

    /// Directory for the buffers while the program runs; should be in memory. Without it:
    /// /dev/shm, or another place if less than 256 MiB are free there
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,

    /// The program to run, with its arguments
    #[arg(value_name = "CMD", required_unless_present_any = ["session", "all"], trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}
