//! Incomplete answers: warnings on stderr after the answer, and the exit code.

use std::path::Path;
use std::process::ExitCode;

use heapscribe_analyze::answer::Answer;
use heapscribe_formats::Evicted;
use heapscribe_views::losses::{Missing, of_ring};

use super::unfinished;
use crate::{exit, message};

/// Problems that are printed one by one.
const SHOWN: usize = 10;
const HINT: &str = "the answer covers everything that could be read";

/// 0 if the trace is complete and could be read; otherwise prints what is wrong with it.
pub(super) fn exit_code(trace: &Path, problems: &[String], is_complete: bool) -> ExitCode {
    if is_complete && problems.is_empty() {
        return ExitCode::SUCCESS;
    }
    print_problems(trace, problems);
    if !is_complete && problems.is_empty() {
        message::failure(&format!("{}: the recording is incomplete", trace.display()));
    }
    message::hint(HINT);
    hint_at_rest(trace, is_complete);
    exit::partial()
}

/// Says where the rest of a trace is that was not finished.
pub(super) fn hint_at_rest(trace: &Path, is_complete: bool) {
    let hint = if is_complete { None } else { unfinished::hint(trace) };
    hint.iter().for_each(|hint| message::hint(hint));
}

/// The same of an answer whose figures leave out what the program did while recording was off, or before a ring or the
/// rest of a recording begins, of which nothing else is said there.
pub(super) fn exit_code_of(trace: &Path, answer: &Answer, is_complete: bool) -> ExitCode {
    let missing = Missing::of(answer);
    warn(trace, missing.off().into_iter().chain(missing.before()));
    warn_of_ring(trace, &answer.evicted, "; only what is live counts them");
    exit_code(trace, &answer.problems, is_complete)
}

/// Says why figures are not exact, in the words of a report.
pub(super) fn warn(trace: &Path, causes: impl IntoIterator<Item = String>) {
    let causes: Vec<String> = causes.into_iter().collect();
    if !causes.is_empty() {
        message::warning(&format!("{}: not known exactly: {}", trace.display(), causes.join("; ")));
    }
}

/// Says what a ring has evicted, and what follows. Not that figures are not exact: those of what is live are.
pub(super) fn warn_of_ring(trace: &Path, evicted: &Evicted, so: &str) {
    if let Some(evicted) = of_ring(evicted) {
        message::warning(&format!("{}: {evicted}{so}", trace.display()));
    }
}

/// The same for several files, each with its problems.
pub(super) fn exit_code_of_files(problems: &[(&Path, Vec<String>)]) -> ExitCode {
    for (file, problems) in problems {
        print_problems(file, problems);
    }
    if problems.is_empty() {
        return ExitCode::SUCCESS;
    }
    message::hint(HINT);
    exit::partial()
}

fn print_problems(file: &Path, problems: &[String]) {
    let shown = file.display();
    for problem in problems.iter().take(SHOWN) {
        message::failure(&format!("{shown}: {problem}"));
    }
    if problems.len() > SHOWN {
        message::failure(&format!("{shown}: and {} more like these", problems.len() - SHOWN));
    }
}
