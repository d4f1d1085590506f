//! Exit codes: what a script can rely on. `--help` says the same, from the same place.

use std::process::ExitCode;

/// The last paragraph of every `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0    success
  1    error: nothing could be read or written
  2    invalid command line
  3    the answer is incomplete: the trace is damaged or truncated, or events were lost
  4    check only: a rule is broken
  record and run exit like CMD (128+N if signal N killed it), with 125 if heapscribe itself failed,
  126 if CMD cannot be executed, and 127 if CMD was not found";

/// The same of `check`, whose answer can be no.
pub(crate) const CHECK_HELP: &str = "\
Exit codes:
  0    all rules hold
  1    error: nothing could be read or written
  2    invalid command line
  3    no rule is known to be broken, but some cannot be decided: the trace is damaged or truncated,
       events were lost, or an estimate spans its limit
  4    a rule is broken";

/// Nothing could be read or written.
pub(crate) fn failed() -> ExitCode {
    ExitCode::from(1)
}

/// What could be read was printed, and a message said what is missing.
pub(crate) fn partial() -> ExitCode {
    ExitCode::from(3)
}

/// A rule of `check` is broken.
pub(crate) fn broken() -> ExitCode {
    ExitCode::from(4)
}

/// `record` or `run` could not do its own part; CMD's codes stay apart from ours.
pub(crate) fn not_recorded() -> ExitCode {
    ExitCode::from(125)
}
