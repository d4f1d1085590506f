//! `compare-stacks`: the stacks of a recording held against those that libunwind and libgcc find at the same calls.
//!
//! ```text
//!   cargo run -p xtask -- compare-stacks [--fast] -- COMMAND ARGUMENTS
//!   cargo run -p xtask -- compare-stacks --torture      every part of the programs of e2e_stacks.rs
//! ```
//! The command runs once, recorded, with a heap behind the recorder that writes down its own idea of each
//! stack (`stack_oracle.c`). Calls are paired thread by thread, in order. It fails when a stack differs and
//! the recording does not say itself that the stack was cut or guessed. `--fast` asks libunwind alone and
//! lets it use its caches, for long programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

mod judge;
mod oracle;
mod pair;
mod recorded;
mod show;
mod torture;

use crate::tidy::tree::root;

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
            eprintln!("skipped: libunwind or its header is not there (apt-get install libunwind-dev)");
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

/// Why nothing was compared.
enum Trouble {
    /// The oracle can not be built.
    NoOracle,
    Other(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Trouble::Other(why)
    }
}

/// What comparisons need: a directory, the oracle, the program.
struct Session<'a> {
    place: &'a Path,
    oracle: PathBuf,
    heapscribe: PathBuf,
}

impl<'a> Session<'a> {
    fn begin(place: &'a Path) -> Result<Session<'a>, Trouble> {
        let oracle = build_oracle(place).ok_or(Trouble::NoOracle)?;
        Ok(Session { place, oracle, heapscribe: heapscribe()? })
    }

    /// Records and compares a command; whether each difference is explained.
    fn compare(&self, command: &[impl AsRef<OsStr>], fast: bool) -> Result<bool, Trouble> {
        let (stacks, trace) = (self.place.join("oracle.stacks"), self.place.join("trace.hst"));
        let _ = std::fs::remove_file(&stacks);
        let mut record = Command::new(&self.heapscribe);
        record.args(["record", "-q", "-o"]).arg(&trace).arg("--").args(command);
        record.env("LD_PRELOAD", &self.oracle).env("STACK_ORACLE", &stacks);
        if fast {
            record.env("STACK_ORACLE_FAST", "1");
        }
        let status = record.status().map_err(|e| format!("heapscribe can not be run: {e}"))?;
        println!("the command ended with {status}");
        let found = judge::judge(&recorded::Calls::read(&trace)?, &oracle::Calls::read(&stacks)?);
        show::print(&found);
        Ok(found.is_explained())
    }
}

fn build_oracle(place: &Path) -> Option<PathBuf> {
    let library = place.join("stack_oracle.so");
    let source = root().join("crates/heapscribe/tests/programs/stack_oracle.c");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", "-Wl,-z,now", "-o"]).arg(&library).arg(source);
    // libunwind has functions of libgcc's names: who stands first is asked.
    cc.args(["-lgcc_s", "-lunwind"]);
    let output = cc.output().ok()?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success().then_some(library)
}

/// The program, built as users have it; `HEAPSCRIBE_BIN` names another.
fn heapscribe() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("HEAPSCRIBE_BIN") {
        return Ok(named.into());
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "-q", "--release", "-p", "heapscribe"]).current_dir(root());
    match cargo.status() {
        Ok(status) if status.success() => {}
        _ => return Err("heapscribe can not be built".to_owned()),
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/heapscribe"))
}
