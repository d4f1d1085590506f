//! The recorded program as a child process: started with preloaded libraries, its exit code as shells report it.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use heapscribe_formats::model;
use heapscribe_spawn::Child;

use super::diagnose;
use super::preload::{self, Preload};
use heapscribe_diagnostics::Problem;
use rustix::io::Errno;

/// Why a command could not be started.
#[derive(Debug)]
pub(crate) struct NotStarted {
    /// The exit code that shells give.
    pub(crate) exit_code: u8,
    pub(crate) error: anyhow::Error,
}

/// Starts a command with these libraries and variables.
pub(crate) fn start(command: &[OsString], preload: &Preload) -> Result<Child, NotStarted> {
    heapscribe_spawn::spawn(command, &variables(preload)).map_err(|failure| not_started(command, &failure))
}

/// Becomes the command, with these libraries and variables. Comes back only when that fails.
pub(crate) fn become_program(command: &[OsString], preload: &Preload) -> NotStarted {
    not_started(command, &heapscribe_spawn::become_program(command, &variables(preload)))
}

fn variables(preload: &Preload) -> Vec<(&'static str, OsString)> {
    let list = preload::list(&preload.libraries);
    let list = (!list.is_empty()).then_some(("LD_PRELOAD", list));
    preload.variables.iter().cloned().chain(list).collect()
}

fn not_started(command: &[OsString], failure: &heapscribe_spawn::NotStarted) -> NotStarted {
    let exit_code = if failure.cause.kind() == ErrorKind::NotFound { 127 } else { 126 };
    let what = format!("cannot run {}: {}", command[0].display(), failure.cause);
    NotStarted { exit_code, error: Problem::new(what, hint(&failure.file, &failure.cause)).into() }
}

/// What to do about it.
fn hint(file: &Path, cause: &Error) -> String {
    if cause.raw_os_error() == Some(Errno::NOEXEC.raw_os_error())
        && let Some(machine) = diagnose::other_machine(file)
    {
        return format!("it is a program for {machine}, and this machine is x86_64");
    }
    let hint = match cause.kind() {
        ErrorKind::NotFound if file.exists() => {
            "the interpreter that its first line (#!) or its ELF header names does not exist"
        }
        ErrorKind::NotFound => "check the spelling; a name without a slash is searched in PATH",
        ErrorKind::PermissionDenied => "it must be an executable program (chmod +x)",
        _ => match Errno::from_io_error(cause) {
            Some(Errno::AGAIN) => "raise the limit of processes: `ulimit -u`, or the cgroup's pids.max",
            Some(Errno::MFILE | Errno::NFILE) => "raise the limit of file descriptors: `ulimit -n`",
            Some(Errno::NOMEM) => "free memory, or raise the limit of it: `ulimit -v`, or the cgroup's",
            _ => "it must be a program for this machine",
        },
    };
    hint.to_owned()
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
