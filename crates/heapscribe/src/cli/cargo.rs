//! The command line of `cargo`, and how words are read when cargo has started us: `cargo heapscribe ...` runs a
//! program `cargo-heapscribe` in PATH, which is a link to ours, with `heapscribe` as its first word.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::help::TEMPLATE;
use crate::exit;

/// Record a Rust package's tests, benchmarks or program
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe cargo test                          a trace of each, in target/heapscribe/test
  heapscribe cargo test --sample 64KiB -p parser -- --nocapture
  heapscribe cargo run --release -- input.txt    the same as `cargo heapscribe run`
")]
pub(crate) struct CargoArgs {
    /// The command of cargo
    #[arg(value_enum, value_name = "COMMAND")]
    pub(crate) verb: CargoVerb,

    /// Record a sample of the blocks: on average one hit per SIZE allocated bytes, for example 512KiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) sample: Option<String>,

    /// What cargo is given: its options, then `--` and what the program is given
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// What cargo builds and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CargoVerb {
    /// Each binary with tests
    Test,
    /// The package's program
    Run,
    /// Each binary with benchmarks
    Bench,
}

impl CargoVerb {
    /// As cargo has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CargoVerb::Test => "test",
            CargoVerb::Run => "run",
            CargoVerb::Bench => "bench",
        }
    }
}

/// Record a program that cargo runs
#[derive(Clone, Debug, Args)]
pub(crate) struct CargoRunnerArgs {
    /// The folder of the traces
    pub(crate) folder: PathBuf,

    /// As of `record`
    #[arg(long)]
    pub(crate) sample: Option<String>,

    /// The program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) words: Vec<OsString>,
}

/// The words of a command line, as they are read: without the one that cargo adds, and `test`, `run` and `bench`
/// of `cargo heapscribe` are cargo's.
pub(super) fn words(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = given.into_iter().collect();
    let name = words.first().and_then(|program| Path::new(program).file_name());
    if name != Some(OsStr::new("cargo-heapscribe")) {
        return words;
    }
    if words.get(1).is_some_and(|word| word == "heapscribe") {
        words.remove(1);
    }
    let verbs = [CargoVerb::Test, CargoVerb::Run, CargoVerb::Bench];
    if words.get(1).is_some_and(|word| verbs.iter().any(|verb| word == verb.name())) {
        words.insert(1, "cargo".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_cargo() {
        let check = |given: &[&str], expected: &[&str]| {
            let read = words(given.iter().map(OsString::from));
            assert_eq!(read, expected.iter().map(OsString::from).collect::<Vec<_>>(), "{given:?}");
        };
        check(&["heapscribe", "run", "--", "x"], &["heapscribe", "run", "--", "x"]);
        check(&["heapscribe", "heapscribe"], &["heapscribe", "heapscribe"]);
        let ours = "/usr/bin/cargo-heapscribe";
        check(&[ours, "heapscribe", "test", "-q"], &[ours, "cargo", "test", "-q"]);
        check(&[ours, "heapscribe", "run", "--", "run"], &[ours, "cargo", "run", "--", "run"]);
        check(&[ours, "heapscribe", "report", "a.hst"], &[ours, "report", "a.hst"]);
        check(&[ours, "bench"], &[ours, "cargo", "bench"]);
        check(&[ours, "heapscribe"], &[ours]);
        check(&[], &[]);
    }
}
