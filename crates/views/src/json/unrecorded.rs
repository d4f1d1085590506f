//! Programs, and times of a process, that are in no figure, as objects.

use heapscribe_formats::{Unrecorded, UnrecordedProgram, UnrecordedReason};
use heapscribe_symbols::lossy;

use crate::unrecorded::why;

/// Programs that were started and not recorded.
#[derive(serde::Serialize)]
pub struct UnrecordedJson {
    count: u64,
    programs: Vec<UnrecordedProgramJson>,
    others: Vec<UnrecordedOthersJson>,
}

#[derive(serde::Serialize)]
struct UnrecordedProgramJson {
    pid: u32,
    program: String,
    reason: &'static str,
    why: &'static str,
}

#[derive(serde::Serialize)]
struct UnrecordedOthersJson {
    count: u64,
    reason: &'static str,
    why: &'static str,
}

impl From<&Unrecorded> for UnrecordedJson {
    fn from(unrecorded: &Unrecorded) -> Self {
        let program = |program: &UnrecordedProgram| UnrecordedProgramJson {
            pid: program.pid,
            program: lossy(&program.name),
            reason: program.reason.name(),
            why: why(program.reason, true),
        };
        let others = |&(reason, count): &(UnrecordedReason, u64)| UnrecordedOthersJson {
            count,
            reason: reason.name(),
            why: why(reason, count == 1),
        };
        UnrecordedJson {
            count: unrecorded.count(),
            programs: unrecorded.programs.iter().map(program).collect(),
            others: unrecorded.others.iter().map(others).collect(),
        }
    }
}

/// A time in which nothing was recorded.
#[derive(serde::Serialize)]
pub struct PeriodJson {
    from_ns: u64,
    to_ns: u64,
}

impl From<&(u64, u64)> for PeriodJson {
    fn from(&(from_ns, to_ns): &(u64, u64)) -> Self {
        PeriodJson { from_ns, to_ns }
    }
}
