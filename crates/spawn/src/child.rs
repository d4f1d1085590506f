//! Fork, restore, exec: not by `std::process::Command`, which sorts the environment, empties the signal mask and
//! leaves signals 32 and 33 ignored. And a child to wait for; or, without fork, the program in our own place.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::ffi::{CString, OsString, c_char};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::ptr;

use super::environment;
use super::inherited::{Timers, change_mask, restore};
use super::search::{candidates, is_text};

/// What runs a text that has no `#!` line.
const SHELL: &str = "/bin/sh";

/// A program that was started.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    status: Option<ExitStatus>,
}

/// Why a program was not started.
#[derive(Debug)]
pub struct NotStarted {
    /// The file that was tried last, or that may not be executed.
    pub file: PathBuf,
    /// What the system said.
    pub cause: io::Error,
}

/// Starts a command with the environment of this process and these variables.
pub fn spawn(command: &[OsString], variables: &[(&str, OsString)]) -> Result<Child, NotStarted> {
    with_shell(command, variables, start)
}

/// Becomes a command, in this process: whoever waits for us waits for the program. Comes back only when that fails.
pub fn become_program(command: &[OsString], variables: &[(&str, OsString)]) -> NotStarted {
    let Err(failure) = with_shell(command, variables, replace_ourselves);
    failure
}

/// Starts a command in some way, or the shell with it, where it is a script that does not say what runs it.
fn with_shell<T>(
    command: &[OsString],
    variables: &[(&str, OsString)],
    start: impl Fn(&[PathBuf], &[OsString], &[CString]) -> Result<T, NotStarted>,
) -> Result<T, NotStarted> {
    let [program, arguments @ ..] = command else { panic!("a command has a program") };
    let environment = environment::with(variables);
    let files = candidates(program);
    match start(&files, command, &environment) {
        Err(NotStarted { file, cause }) if cause.raw_os_error() == Some(libc::ENOEXEC) && is_text(&file) => {
            let script = [&[SHELL.into(), file.into_os_string()], arguments].concat();
            start(&[SHELL.into()], &script, &environment)
        }
        outcome => outcome,
    }
}

/// A list of C strings as the kernel takes it.
struct List {
    /// What `pointers` point to.
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl List {
    fn new(strings: Vec<CString>) -> List {
        let pointers = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        List { _strings: strings, pointers }
    }
}

fn strings<'a>(bytes: impl Iterator<Item = &'a [u8]>) -> io::Result<Vec<CString>> {
    bytes.map(CString::new).collect::<Result<_, _>>().map_err(io::Error::from)
}

/// Starts the first of `files` that can be executed.
fn start(files: &[PathBuf], command: &[OsString], environment: &[CString]) -> Result<Child, NotStarted> {
    let last = || files.last().cloned().unwrap_or_default();
    let forked = Image::new(files, command, environment).and_then(|image| fork(&image));
    let (mut child, mut reader) = forked.map_err(|cause| NotStarted { file: last(), cause })?;
    let mut report = [0; REPORT_BYTES];
    // The pipe closes without a report when the program is executed, or a signal kills it before.
    if reader.read_exact(&mut report).is_err() {
        return Ok(child);
    }
    let _ = child.wait(0);
    let [errno, index] = parse(report);
    let file = files.get(index as usize).cloned().unwrap_or_else(last);
    Err(NotStarted { file, cause: io::Error::from_raw_os_error(errno) })
}

/// Becomes the first of `files` that can be executed.
fn replace_ourselves(
    files: &[PathBuf],
    command: &[OsString],
    environment: &[CString],
) -> Result<Infallible, NotStarted> {
    let last = || files.last().cloned().unwrap_or_default();
    let image = Image::new(files, command, environment);
    let image = image.map_err(|cause| NotStarted { file: last(), cause })?;
    restore(&Timers::take());
    let [errno, index] = execute(&image);
    let file = files.get(index as usize).cloned().unwrap_or_else(last);
    Err(NotStarted { file, cause: io::Error::from_raw_os_error(errno) })
}

/// What is executed.
struct Image {
    paths: Vec<CString>,
    arguments: List,
    environment: List,
}

impl Image {
    fn new(files: &[PathBuf], command: &[OsString], environment: &[CString]) -> io::Result<Image> {
        let paths = strings(files.iter().map(|file| file.as_os_str().as_bytes()))?;
        let arguments = List::new(strings(command.iter().map(|word| word.as_bytes()))?);
        Ok(Image { paths, arguments, environment: List::new(environment.to_vec()) })
    }
}

fn fork(image: &Image) -> io::Result<(Child, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let timers = Timers::take();
    // No handler of ours runs in the child: it would write to pipes that the parent reads.
    let mask = change_mask(libc::SIG_SETMASK, u64::MAX);
    // SAFETY: the child calls nothing that allocates or locks.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        restore(&timers);
        report(execute(image), &writer);
    }
    let error = io::Error::last_os_error();
    change_mask(libc::SIG_SETMASK, mask);
    if pid < 0 { Err(error) } else { Ok((Child { pid, status: None }, reader)) }
}

/// Executes the first file that can be executed; when none can, why, of the same one as `execvp`: errno and index.
fn execute(image: &Image) -> [i32; 2] {
    let mut failure = [libc::ENOENT, 0];
    for (index, path) in (0..).zip(&image.paths) {
        let (arguments, environment) =
            (image.arguments.pointers.as_ptr(), image.environment.pointers.as_ptr());
        // SAFETY: a C string and two lists of C strings that end with null; errno is this thread's.
        let errno = unsafe {
            libc::execve(path.as_ptr(), arguments, environment);
            *libc::__errno_location()
        };
        let is_elsewhere =
            [libc::ENOENT, libc::ENOTDIR, libc::ESTALE, libc::ENODEV, libc::ETIMEDOUT].contains(&errno);
        // One that may not be executed says more than one that is not there.
        if !is_elsewhere || failure[0] != libc::EACCES {
            failure = [errno, index];
        }
        if !is_elsewhere && errno != libc::EACCES {
            break;
        }
    }
    failure
}

/// Says in a child why nothing was executed, and ends.
fn report(failure: [i32; 2], report: &PipeWriter) -> ! {
    let bytes = failure.map(i32::to_ne_bytes);
    // SAFETY: writes the bytes of an array of that size; `_exit` runs nothing of the parent's.
    unsafe {
        libc::write(report.as_raw_fd(), bytes.as_ptr().cast(), REPORT_BYTES);
        libc::_exit(127)
    }
}

/// Bytes of a report: an errno, and the index of the file that it is of.
const REPORT_BYTES: usize = 8;

fn parse(report: [u8; REPORT_BYTES]) -> [i32; 2] {
    let word = |at: usize| i32::from_ne_bytes([report[at], report[at + 1], report[at + 2], report[at + 3]]);
    [word(0), word(4)]
}

impl Child {
    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.pid.cast_unsigned()
    }

    /// How it ended; `None` while it runs.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait(libc::WNOHANG)
    }

    fn wait(&mut self, options: libc::c_int) -> io::Result<Option<ExitStatus>> {
        let mut status = 0;
        while self.status.is_none() {
            // SAFETY: the kernel writes an int.
            match unsafe { libc::waitpid(self.pid, &raw mut status, options) } {
                0 => return Ok(None),
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return Err(io::Error::last_os_error()),
                _ => self.status = Some(ExitStatus::from_raw(status)),
            }
        }
        Ok(self.status)
    }
}
