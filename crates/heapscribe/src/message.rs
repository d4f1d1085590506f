//! Messages to the user, on stderr: what is wrong and where, then what to do next.
//!
//! Colour is for terminals only and never carries the meaning: the words `error:`, `warning:` and
//! `hint:` do.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use heapscribe_diagnostics::{HINT, hint_of};
use log::{Level, LevelFilter, Log, Metadata, Record};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Writes a line; an error of stderr cannot be reported anywhere.
fn line(style: Style, word: &str, text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{style}{word}:{style:#} {text}");
}

/// Prints notices of libraries.
struct Notices;

impl Log for Notices {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Other crates log for their own developers.
        metadata.target() == HINT || metadata.target().starts_with("heapscribe")
    }

    fn log(&self, record: &Record<'_>) {
        let text = record.args().to_string();
        match record.level() {
            _ if !self.enabled(record.metadata()) => {}
            _ if record.target() == HINT => hint(&text),
            Level::Error => failure(&text),
            Level::Warn => warning(&text),
            _ => {}
        }
    }

    fn flush(&self) {}
}

/// Prints notices of libraries from now on.
pub(crate) fn show_notices() {
    if log::set_logger(&Notices).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

/// Prints an error with its causes, and its hint when it has one.
pub(crate) fn error(e: &anyhow::Error) {
    line(RED, "error", &format!("{e:#}"));
    if let Some(text) = hint_of(e) {
        hint(text);
    }
}

/// Prints what is wrong with the command line and what to do next, and ends the program.
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

/// Something is wrong, but the command goes on with the rest.
pub(crate) fn failure(text: &str) {
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

/// Whether the reader of our output has closed the pipe: that ends a command, and is no failure.
pub(crate) fn is_broken_pipe(e: &anyhow::Error) -> bool {
    let pipe = std::io::ErrorKind::BrokenPipe;
    e.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io == Some(pipe) || json == Some(pipe)
    })
}
