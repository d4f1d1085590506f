//! The recorded program as a child process: started with preloaded libraries, its exit code as shells report it.

use std::ffi::OsString;
use std::process::{Child, Command, ExitCode, ExitStatus};

use heapscribe_formats::model;

use super::preload::{self, Preload};
use heapscribe_diagnostics::Problem;

/// Why a command could not be started.
#[derive(Debug)]
pub(crate) struct NotStarted {
    /// The exit code that shells give.
    pub(crate) exit_code: u8,
    pub(crate) error: anyhow::Error,
}

/// Starts a command with these libraries and variables.
pub(crate) fn start(command: &[OsString], preload: &Preload) -> Result<Child, NotStarted> {
    let mut child = Command::new(&command[0]);
    child.args(&command[1..]).envs(preload.variables.iter().map(|(name, value)| (name, value)));
    let list = preload::list(&preload.libraries);
    if !list.is_empty() {
        child.env("LD_PRELOAD", list);
    }
    child.spawn().map_err(|e| {
        let exit_code = if e.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        let what = format!("cannot run {}: {e}", command[0].display());
        let hint = match exit_code {
            127 => "check the spelling; a name without a slash is searched in PATH",
            _ => "it must be an executable program (chmod +x)",
        };
        NotStarted { exit_code, error: Problem::new(what, hint).into() }
    })
}

/// How it ended, for a trace.
pub(crate) fn exit_status(status: ExitStatus) -> model::ExitStatus {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => model::ExitStatus::Signal(signal),
        None => model::ExitStatus::Code(status.code().unwrap_or(0)),
    }
}

/// As shells tell it: the program's own code, 128 + N for signal N.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    match exit_status(status) {
        model::ExitStatus::Code(code) => ExitCode::from(code as u8),
        model::ExitStatus::Signal(signal) => ExitCode::from(128u8.wrapping_add(signal as u8)),
    }
}
