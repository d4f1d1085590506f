//! Snapshots that a program took of itself, or `ctl` of it, on their way into the trace: their session is removed when
//! the process ends.

use std::path::Path;

use heapscribe_formats::model::{LiveRole, ProcessIndex};
use heapscribe_session::inspect;

use crate::output::Output;

/// Writes those of a session, under the numbers that they have there, from 1 on (0 is that of the table of a process's
/// end): those of a child begin where its parent's ended. What was wrong with them.
pub(crate) fn write(directory: &Path, process: ProcessIndex, output: &mut Output) -> Vec<String> {
    let files = inspect::list_named(directory);
    if files.is_empty() {
        return Vec::new();
    }
    let session = match inspect::at(directory).and_then(|path| path.open()) {
        Ok(session) => session,
        Err(e) => return vec![format!("the named snapshots are lost: {e:#}")],
    };
    let mut problems = Vec::new();
    for file in files {
        match file.read(&session) {
            Ok(snapshot) => problems.extend(output.live(process, &snapshot, file.id, LiveRole::Snapshot).1),
            Err(e) => problems.push(format!("the snapshot {} is lost: {e:#}", file.name)),
        }
    }
    problems
}
