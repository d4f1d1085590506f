//! `arenas`: threads whose arenas keep more memory than the heap ever took. Each thread of glibc's heap allocates from an
//! arena of its own, and what one of them freed no other can use: threads that need much by turns need it once each.
//!
//! What one heap can have kept is what it took at its peak. What arenas can have kept is that of each thread: no more than
//! it allocated, and no more than was ever live.

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::{ARENAS_BYTES, ARENAS_PERCENT};
use super::owners::Owners;
use super::resident::{far, taken_bytes_max};
use crate::answer::{Answer, Process, Thread};

/// Looks for it.
pub(super) fn find(answer: &Answer, _: &Owners) -> Vec<Finding> {
    seen(answer).into_iter().collect()
}

/// The finding, if there is one.
pub(super) fn seen(answer: &Answer) -> Option<Finding> {
    let resident = far(answer)?;
    let one_heap_bytes = taken_bytes_max(answer);
    let beyond_bytes = resident.anonymous_bytes.saturating_sub(one_heap_bytes);
    if beyond_bytes < ARENAS_BYTES || !judge::is_part(beyond_bytes, ARENAS_PERCENT, resident.anonymous_bytes)
    {
        return None;
    }
    let (process, threads, kept_bytes_max) = (answer.processes.iter().enumerate())
        .map(|(number, process)| of_process(number, process, answer))
        .max_by_key(|(_, _, kept_bytes_max)| *kept_bytes_max)?;
    let is_enough = kept_bytes_max >= resident.anonymous_bytes.saturating_sub(ARENAS_BYTES);
    is_enough.then(|| Finding {
        kind: Kind::Arenas,
        severity: judge::of_bytes(beyond_bytes, answer),
        // Memory that is not the heap's may be as large.
        confidence: judge::confidence(answer).max(Level::Medium),
        evidence: Evidence::Arenas {
            process,
            threads,
            anonymous_bytes: resident.anonymous_bytes,
            time_ns: resident.time_ns,
            heap_bytes_max: one_heap_bytes,
            arenas_bytes_max: kept_bytes_max,
        },
        culprits: Vec::new(),
        more: 0,
    })
}

/// Its number, its threads that matter, and what their arenas can have kept in all: nothing of one thread alone.
fn of_process(number: usize, process: &Process, answer: &Answer) -> (usize, u64, u64) {
    let threads = answer.threads.iter().filter(|thread| thread.process == number);
    let kept = |thread: &Thread| thread.totals.allocated_bytes.min(process.peak.bytes);
    // An arena begins with 132 KiB.
    let kept: Vec<u64> = threads.map(kept).filter(|bytes| *bytes >= 128 << 10).collect();
    match kept.len() {
        0 | 1 => (number, kept.len() as u64, 0),
        many => (number, many as u64, kept.into_iter().fold(0, u64::saturating_add)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Peak, Resident, Totals};

    /// Of a process with a peak of 20 MiB, none of it live when 100 MiB are resident; `allocated` is in MiB, by thread.
    fn check(allocated: &[u64], anonymous_mib: u64, expected: Option<(u64, u64)>) {
        let thread = |mib: &u64| {
            let totals = Totals { allocated_bytes: mib << 20, ..Totals::default() };
            Thread { totals, ..Thread::default() }
        };
        let peak = Peak { bytes: 20 << 20, ..Peak::default() };
        let answer = Answer {
            resident: Some(Resident { time_ns: 1, anonymous_bytes: anonymous_mib << 20, heap_bytes: 0 }),
            processes: vec![Process { peak: peak.clone(), ..Process::default() }],
            peak,
            threads: allocated.iter().map(thread).collect(),
            ..Answer::default()
        };
        let found = find(&answer, &Owners::default());
        let found = found.first().map(|finding| match finding.evidence {
            Evidence::Arenas { threads, arenas_bytes_max, .. } => (threads, arenas_bytes_max >> 20),
            _ => panic!("{finding:?}"),
        });
        assert_eq!(found, expected, "{allocated:?} of {anonymous_mib} MiB");
    }

    #[test]
    fn threads_that_take_turns_keep_what_each_took() {
        check(&[90, 90, 90, 90, 90], 100, Some((5, 100)));
        // One thread, whatever it allocated, keeps no more than the peak.
        check(&[450], 100, None);
        // Five threads of which four allocate next to nothing.
        check(&[450, 0, 0, 0, 0], 100, None);
        // So much is not of the heap, even if all arenas kept what they could.
        check(&[90, 90, 90, 90, 90], 200, None);
        // One heap may have kept that.
        check(&[90, 90, 90, 90, 90], 30, None);
    }
}
