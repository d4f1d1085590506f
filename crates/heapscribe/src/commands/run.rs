//! `heapscribe run`: runs a program with another heap under it, and does nothing else.

use std::process::{Child, ExitCode, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cli::{HeapChoice, RunArgs};
use crate::launch::{child, heap::Heap, signals::Signals};
use crate::message;

/// Runs the command.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let choice = args.heap.heap.as_ref().unwrap_or(&HeapChoice::Tlsf);
    let heap = Heap::new(&args.heap, choice)?;
    let mut signals = Signals::take()?;
    match child::start(&args.command, &heap.libraries, &heap.variables) {
        Ok(mut program) => Ok(child::exit_code(follow(&mut program, &mut signals)?)),
        Err((code, e)) => {
            message::error(&e);
            Ok(ExitCode::from(code))
        }
    }
}

/// Passes signals on until the program has ended.
fn follow(program: &mut Child, signals: &mut Signals) -> Result<ExitStatus> {
    const LOOK_AGAIN: Duration = Duration::from_millis(10);
    loop {
        if let Some(status) = program.try_wait().context("the program can not be waited for")? {
            return Ok(status);
        }
        signals.pass_on(Some(program.id()));
        std::thread::sleep(LOOK_AGAIN);
    }
}
