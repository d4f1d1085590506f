//! `campaign cpython`: CPython is not harmed by having its frames read. Modules of its own test suite run plain and
//! under `heapscribe record`, and each test must come to the same.
//!
//! ```text
//!   cargo run -p xtask -- campaign cpython                      a third of the modules, of each Python with tests
//!   cargo run -p xtask -- campaign cpython --python 3.11,3.13   of these versions
//!   cargo run -p xtask -- campaign cpython --shard 2/3          the second third; 1/1: all
//!   cargo run -p xtask -- campaign cpython --modules test_gc,.. these, also when there are results
//!   cargo run -p xtask -- campaign cpython --objects            each object a block of its own (PYTHONMALLOC=malloc)
//!   cargo run -p xtask -- campaign cpython --fresh              all anew
//!   cargo run -p xtask -- campaign cpython --quick              a few modules of one Python; keeps no table
//! ```
//! `bench/campaign/cpython/` has a table for each Python, and `bench/campaign/README.md` says what is compared. It fails
//! when a test differs and `bench/campaign/cpython/explained.list` gives no reason.

use std::path::PathBuf;
use std::process::ExitCode;

mod explained;
mod outcomes;
mod pythons;
mod recorded;
mod table;
mod trial;

use explained::Explained;
use pythons::Python;
use table::Table;
use trial::Trial;

use crate::built::heapscribe;
use crate::sources::root;

/// What `--quick` runs: frames that are deep, left and entered again, of threads, in children and freed.
const QUICK: [&str; 8] = [
    "test_code",
    "test_dynamic",
    "test_exceptions",
    "test_frame",
    "test_generators",
    "test_json",
    "test_thread",
    "test_weakref",
];

/// What the command line asks for.
#[derive(PartialEq, Eq, Debug)]
struct Options {
    versions: Vec<String>,
    modules: Vec<String>,
    /// K of N: the K-th of each N modules, from 1.
    shard: (usize, usize),
    has_objects: bool,
    is_fresh: bool,
    is_quick: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Option<Options> {
        let mut options = Options {
            versions: Vec::new(),
            modules: Vec::new(),
            shard: (1, 3),
            has_objects: false,
            is_fresh: false,
            is_quick: false,
        };
        let list = |text: &String| text.split(',').map(str::to_owned).collect();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--python" => options.versions = list(arguments.next()?),
                "--modules" => options.modules = list(arguments.next()?),
                "--shard" => options.shard = crate::programs::shard(arguments.next()?)?,
                "--objects" => options.has_objects = true,
                "--fresh" => options.is_fresh = true,
                "--quick" => options.is_quick = true,
                _ => return None,
            }
        }
        Some(options)
    }

    /// The modules that are asked for, of all that there are.
    fn choose(&self, all: Vec<String>) -> Vec<String> {
        let (k, n) = self.shard;
        let named =
            |names: &[&str]| all.iter().filter(|name| names.contains(&name.as_str())).cloned().collect();
        match (self.modules.as_slice(), self.is_quick) {
            ([], true) => named(&QUICK),
            ([], false) => all.into_iter().skip(k - 1).step_by(n).collect(),
            (modules, _) => modules.to_vec(),
        }
    }
}

/// Where the tables and the list of reasons are.
fn directory() -> PathBuf {
    root().join("bench/campaign/cpython")
}

/// `campaign cpython [OPTIONS]`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let Some(options) = Options::parse(arguments) else {
        eprintln!(
            "usage: xtask campaign cpython [--python 3.11,..] [--modules NAME,.. | --shard K/N | --quick] [--objects] \
             [--fresh]"
        );
        return ExitCode::from(2);
    };
    crate::programs::exit_code(campaign(&options))
}

fn campaign(options: &Options) -> Result<bool, String> {
    let mut pythons = pythons::installed(&options.versions);
    if options.is_quick {
        pythons.drain(..pythons.len().saturating_sub(1));
    }
    if pythons.is_empty() {
        return Err(
            "no such Python with its tests (apt-get install libpython3.11-testsuite, or pyenv)".to_owned()
        );
    }
    let (heapscribe, explained) = (heapscribe()?, Explained::read(&directory().join("explained.list"))?);
    let mut differing = 0;
    for python in &pythons {
        let place = std::env::temp_dir().join(format!("heapscribe-cpython-{}", std::process::id()));
        let trial = Trial::new(python, place, &heapscribe, options.has_objects)?;
        differing += compare(options, &trial, python, &explained)?;
    }
    Ok(differing == 0)
}

/// Tries the modules one after the other, and keeps what came of each at once; how many differ without a reason.
fn compare(
    options: &Options,
    trial: &Trial<'_>,
    python: &Python,
    explained: &Explained,
) -> Result<usize, String> {
    let suffix = if options.has_objects { ".objects.tsv" } else { ".tsv" };
    let path = (!options.is_quick).then(|| directory().join(format!("{}{suffix}", python.version)));
    let mut table = Table::read(path)?;
    let modules = options.choose(python.modules()?);
    for module in &modules {
        if options.modules.is_empty() && !options.is_fresh && table.has(module) {
            continue;
        }
        let row = trial.run(module, explained);
        println!("{}\t{row}", python.version);
        table.put(row);
        table.write()?;
    }
    println!("cpython {}: {}", python.version, table.summary());
    Ok(table.differing())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn modules_are_named_or_every_third() {
        let all = || ["test_a", "test_b", "test_c", "test_d", "test_json"].map(str::to_owned).to_vec();
        for (line, chosen) in [
            ("", &["test_a", "test_d"][..]),
            ("--shard 2/3", &["test_b", "test_json"]),
            ("--shard 1/1 --fresh", &["test_a", "test_b", "test_c", "test_d", "test_json"]),
            ("--modules test_c,test_x", &["test_c", "test_x"]),
            ("--quick", &["test_json"]),
        ] {
            assert_eq!(parsed(line).unwrap().choose(all()), chosen, "{line}");
        }
        for line in ["--shard 4/3", "--python", "test_json"] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }
}
