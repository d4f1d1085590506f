//! Times in which nothing was recorded of a process, in words.

use heapscribe_analyze::answer::{Answer, Process};
use heapscribe_units::{count, duration};

/// Times of a process that are named.
const PERIODS_SHOWN: usize = 3;
/// Processes that have a line.
const PROCESSES_SHOWN: usize = 5;

/// How long these times of a process are together, ns; `None` where there are none.
pub(crate) fn total_ns(off: &[(u64, u64)]) -> Option<u64> {
    let all = off.iter().map(|(from, to)| to.saturating_sub(*from));
    (!off.is_empty()).then(|| all.fold(0, u64::saturating_add))
}

/// Why figures are open, by how long each process that was not always recorded was not, ns: `recording was off for
/// 300 ms`.
pub(crate) fn cause(off_ns: &[u64]) -> Option<String> {
    match off_ns {
        [] => None,
        [one] => Some(format!("recording was off for {}", duration(*one))),
        all => {
            Some(format!("recording was off in {} processes, each for some time", count(all.len() as u64)))
        }
    }
}

/// `Recording was off for 300 ms of process 7, from 1.20 s to 1.50 s after the start.`
pub fn lines(answer: &Answer) -> Vec<String> {
    let off: Vec<_> = answer.processes.iter().filter(|process| !process.off.is_empty()).collect();
    let mut lines: Vec<String> = off.iter().take(PROCESSES_SHOWN).map(|process| line(process)).collect();
    let more = off.len().saturating_sub(PROCESSES_SHOWN);
    if more > 0 {
        lines.push(format!("Recording was off at times in {} more processes.", count(more as u64)));
    }
    lines
}

fn line(process: &Process) -> String {
    let period = |(from, to): &(u64, u64)| format!("{} to {}", duration(*from), duration(*to));
    let shown: Vec<String> = process.off.iter().take(PERIODS_SHOWN).map(period).collect();
    let more = process.off.len().saturating_sub(PERIODS_SHOWN);
    let more = if more > 0 { format!(" and {} more times", count(more as u64)) } else { String::new() };
    let (total, pid) = (duration(total_ns(&process.off).unwrap_or(0)), process.pid);
    format!(
        "Recording was off for {total} of process {pid}: from {}{more} after the start.",
        shown.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::losses;

    #[test]
    fn times_are_summed_and_the_first_are_named() {
        const MS: u64 = 1_000_000;
        let process = |pid, off: &[(u64, u64)]| Process {
            pid,
            off: off.iter().map(|(from, to)| (from * MS, to * MS)).collect(),
            ..Process::default()
        };
        let mut answer =
            Answer { processes: vec![process(7, &[(1200, 1500)]), process(8, &[])], ..Answer::default() };
        let cause = |answer: &Answer| losses::causes(answer).pop();
        assert_eq!(cause(&answer).as_deref(), Some("recording was off for 300 ms"));
        let one = "Recording was off for 300 ms of process 7: from 1.20 s to 1.50 s after the start.";
        assert_eq!(lines(&answer), [one]);
        answer.processes[1] = process(8, &[(1, 2), (3, 4), (5, 6), (7, 8)]);
        assert_eq!(cause(&answer).as_deref(), Some("recording was off in 2 processes, each for some time"));
        let four = "Recording was off for 4.00 ms of process 8: from 1.00 ms to 2.00 ms, 3.00 ms to 4.00 ms, 5.00 ms to \
                    6.00 ms and 1 more times after the start.";
        assert_eq!(lines(&answer), [one, four]);
    }
}
