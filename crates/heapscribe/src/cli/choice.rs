//! Flags that choose processes and threads of a trace, the same on every command that explains one.

use std::path::Path;

use clap::Args;
use heapscribe_analyze::input::Choice;
use heapscribe_diagnostics::Problem;

const HEADING: &str = "Processes and threads";

/// What of a trace is looked at.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ChoiceArgs {
    /// Only the process with this pid; can be given several times
    #[arg(long, value_name = "PID", help_heading = HEADING)]
    pub(crate) pid: Vec<u32>,

    /// Only processes whose program has this name (with * and ?), of the file or as it was typed; can be given several
    /// times
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(crate) process: Vec<String>,

    /// Only blocks that threads with this name or number allocated; can be given several times
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(crate) thread: Vec<String>,
}

impl ChoiceArgs {
    /// What is chosen.
    pub(crate) fn choice(&self) -> Choice {
        Choice { pids: self.pid.clone(), programs: self.process.clone(), threads: self.thread.clone() }
    }

    /// What is chosen, in words; nothing for all.
    pub(crate) fn in_words(&self) -> String {
        let pids: Vec<String> = self.pid.iter().map(u32::to_string).collect();
        let lists = [("pid", &pids), ("programs named", &self.process), ("threads named", &self.thread)];
        let some = lists.iter().filter(|(_, list)| !list.is_empty());
        some.map(|(what, list)| format!("{what} {}", list.join(" or "))).collect::<Vec<_>>().join(", ")
    }

    /// Refuses a choice for what has one process, such as a snapshot.
    pub(crate) fn reject(&self, trace: &Path, what: &str) -> Result<(), Problem> {
        if self.choice().is_all() {
            return Ok(());
        }
        let what = format!("{} is {what}, of which no processes or threads can be chosen", trace.display());
        Err(Problem::new(what, "remove --pid, --process and --thread"))
    }
}
