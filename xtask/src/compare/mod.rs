//! `compare-stacks`: the stacks of a recording held against those that libunwind and libgcc find at the same calls.
//!
//! ```text
//!   cargo run -p xtask -- compare-stacks [--fast] -- COMMAND ARGUMENTS
//!   cargo run -p xtask -- compare-stacks --torture      every part of the programs of e2e/stacks.rs
//! ```
//! The command runs once, recorded, with a heap behind the recorder that writes down its own idea of each
//! stack (`stack_oracle.c`). Calls are paired thread by thread, in order. It fails when a stack differs and
//! the recording does not say itself that the stack was cut or guessed. `--fast` asks libunwind alone and
//! lets it use its caches, for long programs.

use std::process::ExitCode;

mod judge;
mod oracle;
mod pair;
mod recorded;
mod session;
mod show;
mod torture;

use session::{Session, Trouble};

use crate::skipped;

/// `compare-stacks [--fast] -- COMMAND`, `compare-stacks --torture`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let place = std::env::temp_dir().join(format!("compare-stacks.{}", std::process::id()));
    if let Err(e) = std::fs::create_dir_all(&place) {
        eprintln!("error: {}: {e}", place.display());
        return ExitCode::FAILURE;
    }
    let outcome = match arguments.iter().position(|a| a == "--") {
        Some(at) => {
            let (options, command) = (&arguments[..at], &arguments[at + 1..]);
            let fast = options.iter().any(|o| o == "--fast");
            let is_clear = !command.is_empty() && options.len() == usize::from(fast);
            is_clear.then(|| Session::begin(&place).and_then(|session| session.compare(command, fast)))
        }
        None => (arguments == ["--torture"]).then(|| Session::begin(&place).and_then(torture::run)),
    };
    let _ = std::fs::remove_dir_all(&place);
    match outcome {
        Some(Ok(true)) => ExitCode::SUCCESS,
        Some(Ok(false)) => ExitCode::FAILURE,
        Some(Err(Trouble::NoOracle)) => {
            let why = "libunwind or its header is not there (apt-get install libunwind-dev)";
            skipped::note("compare-stacks", why);
            if std::env::var_os("CI").is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Some(Err(Trouble::Other(why))) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("usage: xtask compare-stacks [--fast] -- COMMAND ARGUMENTS | --torture");
            ExitCode::from(2)
        }
    }
}
