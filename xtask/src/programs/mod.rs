//! `campaign programs`: nobody is hurt by being recorded. Programs of Debian and small ones of our own run
//! bare, recorded in four modes and under another heap; what they print, how they end and what files they
//! leave must be the same.
//!
//! ```text
//!   cargo run -p xtask -- campaign programs                  all, except those of whom the table has results
//!   cargo run -p xtask -- campaign programs --install        packages first, by apt-get
//!   cargo run -p xtask -- campaign programs --only NAME,..   these, also when there are results
//!   cargo run -p xtask -- campaign programs --shard 2/4      the second quarter of the list
//!   cargo run -p xtask -- campaign programs --fresh          all anew
//!   cargo run -p xtask -- campaign programs --quick          a dozen that are everywhere; keeps no table
//!   cargo run -p xtask -- campaign programs --counts         counts against an independent counter
//! ```
//! `bench/campaign/packages.list` and `special.list` are the programs, `results.tsv` and `counts.tsv` the
//! tables; `bench/campaign/README.md` says what is compared. It fails when something differs and the list
//! gives no reason for it.

use std::path::PathBuf;
use std::process::ExitCode;

mod answer;
mod counts;
mod list;
mod packages;
mod process;
mod scratch;
mod table;
mod text;
mod trial;

use list::Program;
use scratch::Scratch;
use table::Table;

pub(crate) use answer::End;
pub(crate) use process::{MARK, end_survivors, run as run_within};

use crate::built::heapscribe;
use crate::sources::root;

/// What the command line asks for.
#[derive(Default, PartialEq, Eq, Debug)]
struct Options {
    installs: bool,
    is_quick: bool,
    is_fresh: bool,
    counts: bool,
    only: Vec<String>,
    /// K of N: the K-th of N parts of the list, from 1.
    shard: Option<(usize, usize)>,
}

impl Options {
    fn parse(arguments: &[String]) -> Option<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--install" => options.installs = true,
                "--quick" => options.is_quick = true,
                "--fresh" => options.is_fresh = true,
                "--counts" => options.counts = true,
                "--only" => options.only = arguments.next()?.split(',').map(str::to_owned).collect(),
                "--shard" => options.shard = Some(shard(arguments.next()?)?),
                _ => return None,
            }
        }
        Some(options)
    }

    /// Whether the program at this index of the list is asked for.
    fn chooses(&self, index: usize, program: &Program) -> bool {
        let is_named = self.only.is_empty() || self.only.contains(&program.name);
        let is_in_shard = self.shard.is_none_or(|(k, n)| index % n == k - 1);
        is_named
            && is_in_shard
            && (!self.is_quick || program.is_quick)
            && (!self.counts || program.is_counted)
    }
}

/// `K/N`, with K from 1 to N.
pub(crate) fn shard(text: &str) -> Option<(usize, usize)> {
    let (k, n) = text.split_once('/')?;
    let (k, n) = (k.parse().ok()?, n.parse().ok()?);
    (1..=n).contains(&k).then_some((k, n))
}

/// Where lists and tables are.
fn directory() -> PathBuf {
    root().join("bench/campaign")
}

/// `campaign programs [OPTIONS]`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let Some(options) = Options::parse(arguments) else {
        eprintln!(
            "usage: xtask campaign programs [--install] [--only NAME,..] [--shard K/N] [--fresh] [--quick | --counts]"
        );
        return ExitCode::from(2);
    };
    exit_code(campaign(&options))
}

/// The exit code of a campaign: whether nothing differed, or why it could not be run, which is printed.
pub(crate) fn exit_code(outcome: Result<bool, String>) -> ExitCode {
    let is_good = outcome.unwrap_or_else(|why| {
        eprintln!("error: {why}");
        false
    });
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn campaign(options: &Options) -> Result<bool, String> {
    let mut programs = Vec::new();
    for name in ["packages.list", "special.list"] {
        programs.extend(list::read(&directory().join(name))?);
    }
    let mut index = 0..;
    programs.retain(|program| index.next().is_some_and(|index| options.chooses(index, program)));
    if programs.is_empty() {
        return Err("no such program in the lists".to_owned());
    }
    if options.installs {
        packages::install(&programs);
    }
    let place = std::env::temp_dir().join(format!("heapscribe-campaign-{}", std::process::id()));
    let scratch = Scratch::new(&place, &directory().join("special"), heapscribe()?)?;
    if options.counts { counts::compare(&scratch, &programs) } else { compare(options, &scratch, &programs) }
}

/// Tries programs one after the other, and keeps what came of each at once.
fn compare(options: &Options, scratch: &Scratch, programs: &[Program]) -> Result<bool, String> {
    let results = (!options.is_quick).then(|| directory().join("results.tsv"));
    let mut table = Table::read(results.as_deref())?;
    let mut unexplained = 0;
    for program in programs {
        if !options.is_fresh && options.only.is_empty() && table.has(program) {
            continue;
        }
        let rows = trial::run(scratch, program);
        unexplained += rows.iter().filter(|row| row.is_failure()).count();
        rows.iter().for_each(|row| println!("{row}"));
        table.put(program, rows);
        table.write()?;
    }
    println!("programs: {}", table.summary());
    Ok(unexplained == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_understood_or_refused() {
        let options = parsed("--shard 2/4 --only a,b --install").unwrap();
        assert_eq!(
            options,
            Options {
                installs: true,
                only: vec!["a".to_owned(), "b".to_owned()],
                shard: Some((2, 4)),
                ..Options::default()
            }
        );
        for line in ["--shard 0/4", "--shard 5/4", "--shard x", "--only", "bash"] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }

    /// Names are unique over both lists, each has as many programs as it should, and the short form is a dozen.
    #[test]
    fn the_lists_are_whole() {
        let read = |name: &str| list::read(&directory().join(name)).unwrap();
        let (packages, special) = (read("packages.list"), read("special.list"));
        assert!(packages.len() >= 150, "{} packages", packages.len());
        assert!(special.len() >= 70, "{} special programs", special.len());
        let all: Vec<_> = packages.iter().chain(&special).collect();
        let names: std::collections::BTreeSet<_> = all.iter().map(|program| &program.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().filter(|program| program.is_quick).count() >= 12);
        assert!(all.iter().filter(|program| program.is_counted).count() >= 20);
        for program in all.iter().filter_map(|program| program.source.as_ref()) {
            assert!(directory().join("special").join(program).exists(), "{program}");
        }
    }
}
