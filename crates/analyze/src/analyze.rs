//! The whole way from a recording to its answer.

use crate::answer::Answer;
use crate::assemble::assemble;
use crate::input::History;
use crate::options::Options;
use crate::passes;

/// Answers everything about a recording at once.
pub fn analyze<H: History>(history: &H, options: &Options) -> Answer {
    let session = history.session();
    let processes = history.processes();
    let results = passes::run(history, &session, &processes, options);
    assemble(history, session, &processes, results, options)
}
