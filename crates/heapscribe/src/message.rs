//! Messages to the user, on stderr: what is wrong and where, then what to do next.
//!
//! Colour is for terminals only and never carries the meaning: the words `error:`, `warning:` and
//! `hint:` do.

use std::fmt;
use std::io::Write;

use anstyle::{AnsiColor, Style};

/// An error that knows what its user could do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    what: String,
    hint: String,
}

impl Problem {
    /// What is wrong, and what to do next.
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Problem {}

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Nobody listens on stderr when writing to it fails.
fn line(style: Style, word: &str, text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{style}{word}:{style:#} {text}");
}

/// Prints an error with its causes, and its hint when it has one.
pub(crate) fn error(e: &anyhow::Error) {
    line(RED, "error", &format!("{e:#}"));
    if let Some(problem) = e.chain().find_map(|cause| cause.downcast_ref::<Problem>()) {
        hint(&problem.hint);
    } else if let Some(text) =
        e.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()).and_then(next_step)
    {
        hint(text);
    }
}

/// What to do about a file when nothing more is known than what the kernel said.
fn next_step(e: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind::*;
    Some(match e.kind() {
        NotFound => "check the spelling, and that its directory exists",
        PermissionDenied | ReadOnlyFilesystem => {
            "check its permissions and those of its directory, or choose another path"
        }
        AlreadyExists | NotADirectory => "choose another path",
        IsADirectory => "pass a file, not a directory",
        StorageFull | QuotaExceeded => "free some space, or choose another disk",
        _ => return None,
    })
}

/// The command line is wrong: says what, and what to do next, and ends the program.
pub(crate) fn refused(e: &clap::Error) -> ! {
    if !e.use_stderr() {
        e.exit();
    }
    // clap's last paragraph is its hint, in other words than ours.
    let text = e.render().ansi().to_string();
    let end = text.find("For more information").unwrap_or(text.len());
    let _ = writeln!(anstream::stderr().lock(), "{}", text[..end].trim_end());
    hint("see all options and examples with --help");
    std::process::exit(e.exit_code());
}

/// Something is wrong, but the command went on with the rest.
pub(crate) fn trouble(text: &str) {
    line(RED, "error", text);
}

/// Something is odd, and nothing is lost by it.
pub(crate) fn warning(text: &str) {
    line(YELLOW, "warning", text);
}

/// How things stand; nothing is wrong.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "heapscribe: {text}");
}

/// Several lines of [`note`].
pub(crate) fn block(lines: &str) {
    lines.lines().for_each(note);
}

/// What to do next.
pub(crate) fn hint(text: &str) {
    line(CYAN, "hint", text);
}

/// Whether the reader of our output has gone: that ends a command, and is no failure.
pub(crate) fn is_broken_pipe(e: &anyhow::Error) -> bool {
    let pipe = std::io::ErrorKind::BrokenPipe;
    e.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io == Some(pipe) || json == Some(pipe)
    })
}
