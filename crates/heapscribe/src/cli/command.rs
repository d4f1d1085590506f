//! The command line as a whole: the program's name and its commands.

use clap::{Parser, Subcommand};

use super::check::CheckArgs;
use super::convert::ConvertArgs;
use super::ctl::CtlArgs;
use super::diff::DiffArgs;
use super::dump::DumpArgs;
use super::flame::FlameArgs;
use super::header::HeaderArgs;
use super::help::TEMPLATE;
use super::hotspots::HotspotsArgs;
use super::install_libs::InstallLibsArgs;
use super::plot::PlotArgs;
use super::ps::PsArgs;
use super::record::RecordArgs;
use super::recover::RecoverArgs;
use super::replay::{PoolSizeArgs, ReplayArgs};
use super::report::ReportArgs;
use super::run::RunArgs;
use super::snapshot::{ListArgs, SnapshotArgs};
use super::subsample::{RedactArgs, SubsampleArgs};
use super::top::TopArgs;
use crate::exit;

/// heapscribe writes down every block of a program's heap with its call stack, and explains the peak,
/// the leaks and the blocks that live for a moment only.
#[derive(Debug, Parser)]
#[command(version, about, help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe record -- ./server --port 80        run it, write heapscribe.server.<pid>.hst
  heapscribe report heapscribe.server.4711.hst   explain what its heap did
  heapscribe flame server.hst -o peak.svg --metric peak
  heapscribe dump server.hst | grep ' ! '        calls that were refused
")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(Box<RecordArgs>),
    Run(RunArgs),
    #[command(alias = "libs")]
    InstallLibs(InstallLibsArgs),
    Report(ReportArgs),
    Dump(DumpArgs),
    Flame(FlameArgs),
    Plot(PlotArgs),
    Replay(ReplayArgs),
    PoolSize(PoolSizeArgs),
    Diff(DiffArgs),
    Check(Box<CheckArgs>),
    #[command(alias = "collect")]
    Recover(RecoverArgs),
    Ctl(CtlArgs),
    Convert(ConvertArgs),
    Subsample(SubsampleArgs),
    Redact(RedactArgs),
    Hotspots(HotspotsArgs),
    Ps(PsArgs),
    Top(TopArgs),
    Snapshot(SnapshotArgs),
    List(ListArgs),
    Header(HeaderArgs),
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
    fn everything_after_the_dashes_is_the_programs() {
        let cli = Cli::parse_from(["heapscribe", "record", "-q", "--", "ls", "--json", "-o", "x"]);
        let Command::Record(args) = cli.command else { panic!("{cli:?}") };
        assert!(args.quiet && args.output.is_none());
        assert_eq!(args.command, ["ls", "--json", "-o", "x"]);
    }
}
