//! `conformance DIR`: whether we say the same of other systems' files as those systems do.
//!
//! DIR has a folder for each format, with files of the real thing and what the real reader or writer makes
//! of them. A format is a module and a line in [`FORMATS`]; folders that are not there are passed over.

mod aos;
mod check;
mod go;
mod hotspots;
mod memtrace;
mod results;
mod rewritten;
mod run;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use check::{Check, Place};

/// A format: its folder and what compares it.
struct Format {
    folder: &'static str,
    check: fn(&Place<'_>) -> Vec<Check>,
}

const FORMATS: &[Format] = &[
    Format { folder: "aos", check: aos::check },
    Format { folder: "go", check: go::check },
    Format { folder: "memtrace", check: memtrace::check },
];

/// `conformance DIR`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let [dir] = args else {
        eprintln!("usage: xtask conformance DIR");
        return ExitCode::from(2);
    };
    let program = match build() {
        Ok(program) => program,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let mut wrong = 0;
    for format in FORMATS {
        let folder = Path::new(dir).join(format.folder);
        if !folder.is_dir() {
            println!("{}: not there", folder.display());
            continue;
        }
        let checks = (format.check)(&Place { folder: &folder, program: &program });
        wrong += print(format.folder, &checks);
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints what came of a format; how many checks are wrong.
fn print(format: &str, checks: &[Check]) -> usize {
    for Check { name, wrong } in checks {
        match wrong {
            None => println!("ok    {format} {name}"),
            Some(why) => println!("WRONG {format} {name}: {why}"),
        }
    }
    let wrong = checks.iter().filter(|check| check.wrong.is_some()).count();
    println!("{format}: {} of {} hold", checks.len() - wrong, checks.len());
    // A folder without anything to compare holds nothing.
    if checks.is_empty() { 1 } else { wrong }
}

fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(["build", "--release", "-q", "-p", "heapscribe"]).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => return Err("heapscribe cannot be built".to_owned()),
        Err(e) => return Err(format!("cargo cannot be run: {e}")),
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(target.join("release/heapscribe"))
}
