//! The command line of `convert`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use heapscribe_convert::tables::output::TableFormat;
use heapscribe_formats::heaplog::Style;
use heapscribe_units::parse_duration;

use super::help::TEMPLATE;
use super::messages::{LayoutYear, MessageArgs};
use super::metric::Metric;
use super::range::PartArgs;
use super::salvage::StackArgs;
use super::symbols::SymbolArgs;
use super::tables::TableArgs;
use crate::exit;

/// Convert a trace to another format
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe convert run.hst --to memtrace -o run.ctf            for memtrace's viewer
  heapscribe convert ocaml.ctf --to native -o ocaml.hst
  heapscribe convert damaged.ctf --to memtrace --salvage -o whole.ctf
  heapscribe convert run.hst --to gotrace -o run.trace && go tool trace run.trace
  heapscribe convert heaplog_4711.log --to native -o old.hst     a log of heaphook
  heapscribe convert data.part0.bfbs.xz --to aos --layout 2022 -o old.part0.bfbs
  heapscribe convert run.hst --to folded --metric leaked -o leaked.folded
  heapscribe convert run.hst --to speedscope --range 2s..5s -o run.speedscope.json
  heapscribe convert run.hst --to pprof -o run.pb.gz && go tool pprof run.pb.gz
  heapscribe convert run.hst --to otlp --endpoint http://localhost:4318
  heapscribe convert run.hst --to massif -o massif.out.1 && ms_print massif.out.1
  heapscribe convert run.hst --to heaptrack -o run.heaptrack && heaptrack_print run.heaptrack
  heapscribe convert run.hst --to parquet -o tables     samples.parquet and stacks.parquet
  heapscribe convert messages.jsonl --to aos -o data.part0.bfbs.sz     the output of `dump --json`
")]
pub(crate) struct ConvertArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Format to convert to
    #[arg(long, value_enum)]
    pub(crate) to: ConvertTo,

    /// Where to write the result; parquet, arrow and csv: a directory for their files
    #[arg(short, long, value_name = "FILE", required_unless_present = "endpoint")]
    output: Option<PathBuf>,

    /// Replace FILE even when it is a trace of heapscribe
    #[arg(long)]
    pub(crate) force: bool,

    /// Process to convert [default: all; in formats that hold only one, the one with the most events]
    #[arg(long)]
    pub(crate) pid: Option<u32>,

    /// The same by the file name of its program (with * and ?); a process that execs is several
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Option<String>,

    /// The figure of the stacks, in folded [default: peak; of a range: allocated]
    #[arg(long, value_enum)]
    pub(crate) metric: Option<Metric>,

    /// pprof, otlp: a profile for each such time, as FILE.0001 and so on; parquet, arrow, csv: a window of samples for each:
    /// what was allocated in it, what was live at its end
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) every: Option<u64>,

    /// otlp: send the profiles to a collector, such as http://localhost:4318, instead of a file or beside it
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) tables: TableArgs,

    /// Layout of the message records to write [default: the layout of TRACE, or 2024]
    #[arg(long, value_enum, value_name = "YEAR")]
    pub(crate) layout: Option<LayoutYear>,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    #[command(flatten)]
    pub(crate) reading: MessageArgs,

    #[command(flatten)]
    pub(crate) salvage: StackArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

impl ConvertArgs {
    /// Where to write the result; nowhere when it is only sent.
    pub(crate) fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new(""))
    }

    /// Whether it is written to a file.
    pub(crate) fn has_output(&self) -> bool {
        self.output.is_some()
    }
}

/// A format that traces are converted into.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ConvertTo {
    /// heapscribe's own format
    Native,
    /// OCaml's memtrace format, one process
    Memtrace,
    /// Go 1.19's execution trace format, one process
    Gotrace,
    /// A heaphook log with commas, as its scripts read it, one process
    Heaphook,
    /// The same with spaces, as heaphook 0.1 writes it
    #[value(name = "heaphook-0.1")]
    Heaphook01,
    /// An AOS message log, compressed if FILE ends in .sz, .xz or .zst
    Aos,
    /// Folded stacks, a line for each: for flamegraph.pl, inferno and others
    Folded,
    /// Stacks for speedscope.app, with a profile for each figure
    Speedscope,
    /// The heap over time for ms_print and massif-visualizer, one process
    Massif,
    /// For valgrind's dh_view.html, one process
    Dhat,
    /// For heaptrack_print and heaptrack_gui, one process
    Heaptrack,
    /// The heap over time, marks and sections for Perfetto and chrome://tracing
    ChromeTrace,
    /// A heap profile for `go tool pprof` and other pprof viewers, compressed if FILE ends in .gz
    Pprof,
    /// OpenTelemetry profiles (v1development), compressed if FILE ends in .gz
    Otlp,
    /// Tables of stacks and samples for DuckDB, ClickHouse, Spark and others, as files of a directory
    Parquet,
    /// The same as Arrow files
    Arrow,
    /// The same as text
    Csv,
}

impl ConvertTo {
    /// The form of heaphook's logs that is to be written, if it is one.
    pub(crate) fn log_style(self) -> Option<Style> {
        match self {
            ConvertTo::Heaphook => Some(Style::Commas),
            ConvertTo::Heaphook01 => Some(Style::Spaces),
            _ => None,
        }
    }

    /// Whether it is for another tool that shows heaps or profiles, and cannot be read back whole.
    pub(crate) fn is_export(self) -> bool {
        use ConvertTo::{ChromeTrace, Dhat, Folded, Heaptrack, Massif, Otlp, Pprof, Speedscope};
        matches!(self, Folded | Speedscope | Massif | Dhat | Heaptrack | ChromeTrace | Pprof | Otlp)
            || self.table_format().is_some()
    }

    /// Whether it has times of events, or lifetimes.
    pub(crate) fn has_times(self) -> bool {
        use ConvertTo::{Folded, Heaphook, Heaphook01, Otlp, Pprof, Speedscope};
        !matches!(self, Folded | Speedscope | Pprof | Otlp | Heaphook | Heaphook01)
    }

    /// The form of tables, if it is one.
    pub(crate) fn table_format(self) -> Option<TableFormat> {
        match self {
            ConvertTo::Parquet => Some(TableFormat::Parquet),
            ConvertTo::Arrow => Some(TableFormat::Arrow),
            ConvertTo::Csv => Some(TableFormat::Csv),
            _ => None,
        }
    }

    /// Whether it has stacks with figures, of which a range can be chosen.
    pub(crate) fn has_ranges(self) -> bool {
        use ConvertTo::{Folded, Otlp, Pprof, Speedscope};
        matches!(self, Folded | Speedscope | Pprof | Otlp)
    }
}
