//! Exit codes: what a script can rely on. `--help` says the same, from the same place.

use std::process::ExitCode;

/// The last paragraph of every `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0    all is well
  1    nothing could be read or written
  2    the command line is wrong
  3    the answer is printed but not whole: the trace is damaged, cut short, or events were lost
  record and run end as CMD did (128+N when signal N ended it); 125 when heapscribe itself failed,
  126 when CMD cannot be run, 127 when CMD is not found";

/// The same of `check`, whose answer can be no.
pub(crate) const CHECK_HELP: &str = "\
Exit codes:
  0    all rules hold
  1    nothing could be read or written
  2    the command line is wrong
  3    no rule is seen to be broken, but the trace cannot tell of all whether they hold: it is
       damaged, cut short, events were lost, or estimates reach over a limit
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
