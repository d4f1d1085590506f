//! The part of a process's answer that needs no analysis of its events.

use crate::answer::{Heap, Process};
use crate::input::{HeapInfo, HeapSample, ProcessFacts};

/// The heap under a process, by its samples.
fn heap(info: &HeapInfo, samples: &[HeapSample]) -> Option<Heap> {
    let per_mille = samples.iter().map(|sample| sample.counts.fragmentation_per_mille());
    Some(Heap {
        info: info.clone(),
        last: samples.last()?.counts,
        fragmentation_peak_per_mille: per_mille.max()?,
        samples: samples.len() as u64,
    })
}

/// The part of a process that needed no analysis.
pub(super) fn known(facts: &ProcessFacts, span: Option<(u64, u64)>, begin_ns: u64) -> Process {
    let moment = |known: u64, seen: Option<u64>| {
        let mono_ns = if known == 0 { seen.unwrap_or(0) } else { known };
        mono_ns.saturating_sub(begin_ns)
    };
    Process {
        pid: facts.pid,
        parent_pid: facts.parent_pid,
        parent: facts.parent,
        is_fork: facts.is_fork,
        exe: facts.exe.clone(),
        command: facts.command.clone(),
        begin_ns: moment(facts.begin_mono_ns, span.map(|s| s.0)),
        end_ns: moment(facts.end_mono_ns, span.map(|s| s.1)),
        heap: facts.heap.as_ref().and_then(|(info, samples)| heap(info, samples)),
        resident: facts.resident.clone(),
        rss_peak_bytes: facts.rss.iter().map(|sample| sample.rss_bytes).max().unwrap_or(0),
        ended: facts.ended,
        is_unfinished: facts.is_unfinished,
        gap_at: facts.gap_at,
        evicted: facts.evicted,
        off: facts.off.iter().map(|(from, to)| (moment(*from, None), moment(*to, None))).collect(),
        recorder_bytes: facts.recorder_bytes,
        ..Process::default()
    }
}
