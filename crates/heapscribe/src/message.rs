//! Messages to the user, on stderr: what is wrong and where, then what to do next.
//!
//! Colour is for terminals only and never carries the meaning: the words `error:`, `warning:` and
//! `hint:` do.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use heapscribe_diagnostics::{HINT, hint_of};
use heapscribe_views::text::fit::fit;
use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::terminal;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Writes a line; an error of stderr cannot be reported anywhere.
fn line(style: Style, word: &str, text: &str) {
    let text = without_numbers(text);
    let _ = writeln!(anstream::stderr().lock(), "{style}{word}:{style:#} {text}");
}

/// Without the numbers that the system has for its errors, `(os error 2)`: the words before say the same.
fn without_numbers(text: &str) -> String {
    const BEGIN: &str = " (os error ";
    let mut parts = text.split(BEGIN);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text + rest,
        _ => text + BEGIN + part,
    })
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
    let _ = writeln!(anstream::stderr().lock(), "{}", plainly(&e.render().ansi().to_string()));
    hint(if is_attach(e) { ATTACH } else { "see all options and examples with --help" });
    std::process::exit(e.exit_code());
}

/// clap's words as ours: what Rust says of numbers is for programmers, and its tip to pass an unknown option as a value
/// leads nowhere with files.
fn plainly(text: &str) -> String {
    const WORDS: [(&str, &str); 3] = [
        ("invalid digit found in string", "it must be a whole number"),
        ("number too large to fit in target type", "it is too large"),
        ("cannot parse integer from empty string", "it must be a whole number"),
    ];
    // Its last paragraph is its hint, in other words than ours.
    let end = text.find("For more information").unwrap_or(text.len());
    let is_tip = |line: &&str| line.contains("tip:") && line.contains("as a value, use");
    let kept: Vec<&str> = text[..end].trim_end().lines().filter(|line| !is_tip(line)).collect();
    let text = kept.join("\n").replace("\n\n\n", "\n\n");
    WORDS.iter().fold(text, |text, (rusts, ours)| text.replace(rusts, ours))
}

/// What to do in place of attaching to a running process.
pub(crate) const ATTACH: &str = "heapscribe cannot attach to a program that runs already: start it with `heapscribe record -- \
     CMD`, or with `--mode off` and `heapscribe ctl NAME start` when it matters";

/// Whether somebody tried to attach.
fn is_attach(e: &clap::Error) -> bool {
    use clap::error::{ContextKind, ContextValue};
    let is_one = |kind| match e.get(kind) {
        Some(ContextValue::String(text)) => matches!(text.as_str(), "attach" | "--pid" | "-p" | "--attach"),
        _ => false,
    };
    is_one(ContextKind::InvalidSubcommand) || is_one(ContextKind::InvalidArg)
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
    let line = format!("heapscribe: {text}");
    let lines = match terminal::limit(&std::io::stderr()) {
        Some(columns) => fit(&line, columns),
        None => vec![line],
    };
    let mut out = anstream::stderr().lock();
    lines.iter().for_each(|line| drop(writeln!(out, "{line}")));
}

/// Several lines of [`note`].
pub(crate) fn block(lines: &str) {
    lines.lines().for_each(note);
}

/// What to do next.
pub(crate) fn hint(text: &str) {
    line(CYAN, "hint", text);
}

/// Whether the locale's characters are those of Unicode: the first of these variables that is set says so.
pub(crate) fn has_unicode() -> bool {
    let set =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    let locale = set.map(|value| value.to_string_lossy().to_ascii_lowercase().replace('-', ""));
    locale.is_some_and(|locale| locale.contains("utf8"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out() {
        for (text, expected) in [
            (
                "cannot read x: No such file or directory (os error 2)",
                "cannot read x: No such file or directory",
            ),
            ("a (os error 2): b (os error 13)!", "a: b!"),
            ("a (os error x) b", "a (os error x) b"),
            ("a (os error ", "a (os error "),
            ("plain", "plain"),
        ] {
            assert_eq!(without_numbers(text), expected);
        }
    }
}
