//! The command line as a whole: the program's name and its commands.

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::agent::AgentArgs;
use super::cargo::{self, CargoArgs, CargoRunnerArgs};
use super::check::CheckArgs;
use super::convert::ConvertArgs;
use super::ctl::CtlArgs;
use super::diff::DiffArgs;
use super::dump::DumpArgs;
use super::flame::FlameArgs;
use super::groups;
use super::header::HeaderArgs;
use super::hotspots::HotspotsArgs;
use super::install_libs::InstallLibsArgs;
use super::plot::PlotArgs;
use super::ps::PsArgs;
use super::record::RecordArgs;
use super::recover::RecoverArgs;
use super::replay::{PoolSizeArgs, ReplayArgs};
use super::report::ReportArgs;
use super::run::RunArgs;
use super::setup::{CompletionsArgs, ManArgs, ReferenceArgs};
use super::snapshot::{ListArgs, SnapshotArgs};
use super::subsample::{RedactArgs, SubsampleArgs};
use super::symbols_command::SymbolsArgs;
use super::top::TopArgs;
use super::view::ViewArgs;
use crate::exit;

/// A flight recorder for the heap of Linux programs
#[derive(Debug, Parser)]
#[command(version, about, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe record -- ./server --port 80        run a program, write heapscribe.server.PID.hst
  heapscribe report heapscribe.server.4711.hst   explain its heap
  heapscribe flame server.hst -o peak.svg        draw who holds the bytes at the peak
  heapscribe top 4711                            watch a running process
")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(Box<RecordArgs>),
    Agent(Box<AgentArgs>),
    Run(RunArgs),
    Cargo(CargoArgs),
    #[command(hide = true)]
    CargoRunner(CargoRunnerArgs),
    #[command(alias = "libs")]
    InstallLibs(InstallLibsArgs),
    Report(ReportArgs),
    View(ViewArgs),
    Dump(DumpArgs),
    Flame(FlameArgs),
    Plot(PlotArgs),
    Replay(ReplayArgs),
    PoolSize(PoolSizeArgs),
    Diff(Box<DiffArgs>),
    Check(Box<CheckArgs>),
    #[command(alias = "collect")]
    Recover(RecoverArgs),
    Ctl(CtlArgs),
    Convert(ConvertArgs),
    Subsample(SubsampleArgs),
    Redact(RedactArgs),
    Symbols(SymbolsArgs),
    Hotspots(HotspotsArgs),
    Ps(PsArgs),
    Top(TopArgs),
    Snapshot(SnapshotArgs),
    List(ListArgs),
    Header(HeaderArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    #[command(hide = true)]
    Reference(ReferenceArgs),
}

/// The program's name.
pub(crate) const NAME: &str = "heapscribe";

/// The whole command line, as clap has it.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let template = groups::template(&command);
    command.help_template(template)
}

/// Reads the arguments of this process.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    parse_words(cargo::words(std::env::args_os()))
}

/// Reads a command line.
pub(crate) fn parse_words(words: Vec<std::ffi::OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

#[cfg(test)]
mod tests {
    use super::super::groups::GROUPS;
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn everything_after_the_dashes_is_the_programs() {
        let cli = Cli::parse_from(["heapscribe", "record", "-q", "--", "ls", "--json", "-o", "x"]);
        let Command::Record(args) = cli.command else { panic!("{cli:?}") };
        assert!(args.quiet && args.output.is_none());
        assert_eq!(args.command, ["ls", "--json", "-o", "x"]);
    }

    #[test]
    fn options_end_with_the_program() {
        let check = |words: &[&str], expected: Option<&[&str]>| {
            let cli = Cli::try_parse_from([&["heapscribe", "record"], words].concat());
            let command = cli.ok().map(|cli| match cli.command {
                Command::Record(args) => args.command,
                other => panic!("{other:?}"),
            });
            let expected = expected.map(|words| words.iter().map(std::ffi::OsString::from).collect());
            assert_eq!(command, expected, "{words:?}");
        };
        check(&["ls", "-l", "--json", "--", "x"], Some(&["ls", "-l", "--json", "--", "x"]));
        check(&["-q", "ls", "-o", "x"], Some(&["ls", "-o", "x"]));
        check(&["--", "-program", "-x"], Some(&["-program", "-x"]));
        check(&["--sampel", "1M", "ls"], None);
        check(&["-x", "ls"], None);
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut expected: Vec<&str> = visible.map(clap::Command::get_name).chain(["help"]).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        expected.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, expected);
    }

    #[test]
    fn the_list_of_commands_fits_a_terminal() {
        let plain = Cli::command().styles(clap::builder::Styles::plain());
        for line in groups::list(&plain).lines() {
            assert!(line.len() <= 80, "{line}");
        }
    }
}
