//! The program `heapscribe`: it reads the command line, hands over to one command, and turns what came
//! of it into messages and an exit code. Nothing else happens on this page.
#![forbid(unsafe_code)]

mod agent;
mod background;
mod cli;
mod commands;
mod exit;
mod launch;
mod live_estimate;
mod message;
mod progress;
mod record_peak;
mod record_summary;
mod replay;
mod terminal;
mod tui;

use std::process::ExitCode;
use std::thread;

use rustix::process::{Resource, getrlimit};

use crate::cli::Command;

/// What commands have of stack at least. With `ulimit -s 128` the command line alone overflowed the main thread's.
const STACK_BYTES: u64 = 1 << 20;

fn main() -> ExitCode {
    if let Some(code) = replay::child::run_if_asked() {
        return code;
    }
    if getrlimit(Resource::Stack).current.is_none_or(|bytes| bytes >= STACK_BYTES) {
        return run();
    }
    let apart = thread::Builder::new().stack_size(8 * STACK_BYTES as usize).spawn(run);
    // Without room for a thread it is tried as it is.
    apart.map_or_else(|_| run(), |thread| thread.join().unwrap_or_else(|_| exit::failed()))
}

/// Does what the command line asks for.
fn run() -> ExitCode {
    message::show_notices();
    if !message::has_unicode() {
        heapscribe_units::use_ascii();
    }
    let cli = cli::parse().unwrap_or_else(|e| message::refused(&e));
    let outcome = match &cli.command {
        Command::Record(args) => commands::record::run(args),
        Command::Agent(args) => commands::agent::run(args),
        Command::Run(args) => commands::run::run(args),
        Command::Cargo(args) => commands::cargo::run(args),
        Command::CargoRunner(args) => commands::cargo::run_recorded(args),
        Command::InstallLibs(args) => commands::install_libs::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::View(args) => commands::view::run(args),
        Command::Dump(args) => commands::dump::run(args),
        Command::Flame(args) => commands::flame::run(args),
        Command::Plot(args) => commands::plot::run(args),
        Command::Replay(args) => commands::replay::run(args),
        Command::PoolSize(args) => commands::pool_size::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Recover(args) => commands::recover::run(args),
        Command::Ctl(args) => commands::ctl::run(args),
        Command::Convert(args) => commands::convert::run(args),
        Command::Subsample(args) => commands::rewrite::subsample(args),
        Command::Redact(args) => commands::rewrite::redact(args),
        Command::Symbols(args) => commands::symbols::run(args),
        Command::Header(args) => commands::header::run(args),
        Command::Hotspots(args) => commands::hotspots::run(args),
        Command::Ps(args) => commands::ps::run(args),
        Command::Top(args) => commands::top::run(args),
        Command::Snapshot(args) => commands::snapshot::run(args),
        Command::List(args) => commands::list::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args),
        Command::Reference(args) => commands::reference::run(args),
    };
    match outcome {
        Ok(code) => code,
        Err(e) if message::is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            message::error(&e);
            match cli.command {
                Command::Record(_) | Command::Agent(_) | Command::Run(_) | Command::CargoRunner(_) => {
                    exit::not_recorded()
                }
                _ => exit::failed(),
            }
        }
    }
}
