//! Why what was live at the last event may not have leaked: each cause in its own words, as a process that runs on is no
//! damage, and a damaged file no process that runs on.

use heapscribe_analyze::answer::{Answer, Ended, Process};

/// The first cause that holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum OpenEnd {
    /// The file is damaged, and nobody knows how many events were there.
    Damaged,
    /// The trace was not finished.
    Unfinished,
    /// The process was still running when the recording ended.
    Running,
    /// The recording does not say how it ended.
    Unknown,
}

impl OpenEnd {
    /// Of a process; none when it was seen to its end.
    pub(crate) fn of(process: &Process) -> Option<OpenEnd> {
        match process.ended {
            ended if ended.is_end() => None,
            _ if process.gap_at.is_some() => Some(OpenEnd::Damaged),
            _ if process.is_unfinished => Some(OpenEnd::Unfinished),
            Ended::Abandoned => Some(OpenEnd::Running),
            _ => Some(OpenEnd::Unknown),
        }
    }

    /// Of all processes together.
    pub(crate) fn of_any(answer: &Answer) -> Option<OpenEnd> {
        answer.processes.iter().filter_map(OpenEnd::of).min()
    }

    /// As a remark behind a figure of the first screen.
    pub(crate) fn remark(self) -> &'static str {
        match self {
            OpenEnd::Damaged => " (as far as the damaged file can be read)",
            OpenEnd::Unfinished => " (so far: the end of the trace is missing)",
            OpenEnd::Running => " (so far: some processes were still running)",
            OpenEnd::Unknown => " (so far: how some processes ended is not known)",
        }
    }

    /// As a sentence of the report.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            OpenEnd::Damaged => "The file is damaged, so some of these blocks may have been freed.",
            OpenEnd::Unfinished => {
                "The end of the trace is missing, so some of these blocks may have been freed."
            }
            OpenEnd::Running => {
                "Some processes were still running, so some of these blocks may still have been in use."
            }
            OpenEnd::Unknown => {
                "How some processes ended is not known, so some of these blocks may still have been in use."
            }
        }
    }

    /// As a reason not to decide a rule.
    pub(crate) fn gap(self) -> &'static str {
        match self {
            OpenEnd::Damaged => "the file is damaged, so live blocks may have been freed",
            OpenEnd::Unfinished => "the end of the trace is missing, so live blocks may have been freed",
            OpenEnd::Running => {
                "the recording ended before the process did, so live blocks may have been freed later"
            }
            OpenEnd::Unknown => {
                "how the process ended is not known, so live blocks may still have been in use"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ended: Ended, is_unfinished: bool, gap_at: Option<u64>, expected: Option<OpenEnd>) {
        let process = Process { ended, is_unfinished, gap_at, ..Process::default() };
        assert_eq!(OpenEnd::of(&process), expected, "{ended:?} {is_unfinished} {gap_at:?}");
    }

    #[test]
    fn damage_is_no_process_that_runs_on() {
        check(Ended::Exited, false, Some(7), None);
        check(Ended::Unknown, true, Some(7), Some(OpenEnd::Damaged));
        check(Ended::Unknown, true, None, Some(OpenEnd::Unfinished));
        check(Ended::Abandoned, false, None, Some(OpenEnd::Running));
        check(Ended::Unknown, false, None, Some(OpenEnd::Unknown));
    }

    #[test]
    fn of_several_processes_the_worst_cause_is_named() {
        let of = |ended, is_unfinished| Process { ended, is_unfinished, ..Process::default() };
        let processes = vec![of(Ended::Abandoned, false), of(Ended::Exited, false), of(Ended::Unknown, true)];
        let mut answer = Answer { processes, ..Answer::default() };
        assert_eq!(OpenEnd::of_any(&answer), Some(OpenEnd::Unfinished));
        answer.processes.pop();
        assert_eq!(OpenEnd::of_any(&answer), Some(OpenEnd::Running));
        answer.processes.remove(0);
        assert_eq!(OpenEnd::of_any(&answer), None);
    }
}
