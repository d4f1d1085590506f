//! What `record` prints at the end: a few lines, and the next command.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use heapscribe_analyze::answer::Range;
use heapscribe_formats::{Drainer, Evicted};
use heapscribe_wire::head::{DROP_COUNTERS, LossReason};

use crate::record_peak::{self, Reported, ShownPeak};
use heapscribe_collect::watch::SnapshotCounts;
use heapscribe_collect::{CrowdedRing, Summary, Written};
use heapscribe_units as units;
use heapscribe_views::losses::{BlindTimes, NO_POOL_ALLOC, lose_allocations, unseen_allocations};
use heapscribe_views::text::{bounds, heap};
use heapscribe_views::unrecorded;

/// The summary's lines, five of a recording in which nothing is to be said. Of a recording that did not begin with every
/// block the sums are of what was recorded, which is not what happened. A trace that was thrown away (`/dev/null`) has
/// no next command.
pub(crate) fn summary(s: &Summary, trace: &Path, is_cut: bool, is_full: bool, is_verbose: bool) -> String {
    let is_whole = !is_cut && s.written.is_empty();
    let mut processes = units::counted(s.processes, "process image");
    if s.ignored > 0 {
        processes.push_str(&format!(" ({} of other programs ignored)", units::count(s.ignored)));
    }
    let reported = record_peak::reported(s, trace, s.written.is_empty());
    let mut lines = if is_full && !s.is_sampled {
        let peak = reported.as_ref().map(|of| of.peak).or_else(|| record_peak::of(s, trace, is_whole));
        exact(s, &processes, peak, reported.as_ref())
    } else {
        recorded(s, &processes)
    };
    // A trace that could not even be ended does not say what it lacks.
    let not_written = LossReason::NotWritten as usize;
    lines.push(match &reported {
        Some(of) if of.drops[not_written] >= s.drops[not_written] => lost(of.lost_events, &of.drops),
        _ => dropped(s),
    });
    let unrecorded = unrecorded::lines(&s.unrecorded, Some(s.programs));
    lines.extend(unrecorded.into_iter().map(|line| format!("not recorded: {line}")));
    lines.extend(off(s));
    lines.extend(unknown(s));
    lines.extend(s.evicted.map(|evicted| ring(s, &evicted)));
    lines.extend(s.evicted.zip(s.crowded_ring).and_then(|(evicted, ring)| crowded(&evicted, ring)));
    if s.heaps.count() > 0 {
        lines.push(heap::ended(&s.heaps));
    }
    if s.damaged_bytes > 0 {
        lines.push(format!("damaged: {} of the buffer could not be read", units::bytes(s.damaged_bytes)));
    }
    if is_verbose || has_struggled(&s.drainer) {
        lines.push(format!("drainer: {}", drainer(&s.drainer)));
    }
    lines.push(format!(
        "trace: {}, {}{}",
        trace.display(),
        units::bytes(s.trace_bytes),
        if is_cut { ", truncated" } else { "" }
    ));
    lines.extend(further(&s.written));
    lines.extend(snapshots(s.snapshots));
    lines.extend(retained("killed: the live blocks", &s.killed_sessions));
    lines.extend(retained("ended unseen, perhaps killed: the live blocks", &s.unseen_sessions));
    if trace.is_file() || trace.is_dir() {
        lines.push(format!("next: heapscribe report {}", trace.display()));
    }
    lines.join("\n")
}

/// How many snapshots are there, and how many were taken if some were deleted or replaced by newer ones.
fn snapshots(counts: SnapshotCounts) -> Option<String> {
    let SnapshotCounts { taken, files } = counts;
    let of = if taken == files { String::new() } else { format!(" of {} taken", units::count(taken)) };
    let are = if files == 1 { "is" } else { "are" };
    (taken > 0).then(|| format!("snapshots: {}{of} {are} next to the trace", units::count(files)))
}

/// Where sessions are that were retained.
fn retained(what: &str, sessions: &[PathBuf]) -> Option<String> {
    let path = sessions.first()?.display();
    let others = match sessions.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{what} are in {path}{others}; heapscribe snapshot {path}"))
}

/// How many events are missing, and why, and what else is not whole.
pub(crate) fn dropped(s: &Summary) -> String {
    lost(s.lost_events(), &s.drops)
}

fn lost(events: u64, drops: &[u64; DROP_COUNTERS]) -> String {
    let of = |loses_events: bool| {
        let reasons = LossReason::ALL.iter().filter(|&&reason| drops[reason as usize] > 0);
        reasons.filter(move |reason| reason.loses_events() == loses_events)
    };
    let count = |reason: &LossReason| units::count(drops[*reason as usize]);
    let why: Vec<_> = of(true).map(|reason| format!("{} {}", count(reason), reason.name())).collect();
    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(", ")) };
    let others = of(false).filter(|&&reason| reason != LossReason::UnknownBlock);
    let others: Vec<_> = others.map(|reason| incomplete(*reason, drops[*reason as usize])).collect();
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    format!("dropped: {}{why}{others}", units::counted(events, "event"))
}

/// Behind by so much, a drainer is worth a line.
const BEHIND_NS: u64 = 1_000_000_000;

/// Whether the drainer did not keep up at some time.
fn has_struggled(d: &Drainer) -> bool {
    d.hurried_chunks > 0 || d.full_logs > 0 || d.waiting_ns > BEHIND_NS
}

/// Files of further processes that have a line.
const FILES_SHOWN: usize = 5;

/// Files of memtrace beside the first, those with most objects, and what is not whole in any.
fn further(written: &[Written]) -> Vec<String> {
    let mut others: Vec<&Written> = written.iter().skip(1).collect();
    others.sort_by_key(|file| Reverse(file.objects));
    let shown = others.iter().take(FILES_SHOWN).map(|file| {
        let objects = units::counted(file.objects, "object");
        format!("also: {}, {objects} of process {}", file.path.display(), file.pid)
    });
    let more = others.len().saturating_sub(FILES_SHOWN);
    let more = (more > 0).then(|| format!("also: {} more", units::counted(more as u64, "file")));
    let problems = written.iter().flat_map(|file| {
        file.problems
            .iter()
            .chain(&file.left_out)
            .map(|problem| format!("{}: {problem}", file.path.display()))
    });
    shown.chain(more).chain(problems.take(FILES_SHOWN)).collect()
}

/// What happened; between what figures lie that something has touched, as a report says it or as it is known without.
fn exact(s: &Summary, processes: &str, peak: Option<ShownPeak>, reported: Option<&Reported>) -> Vec<String> {
    let is_part = s.is_rest || s.lost_events() > 0 || s.off.0 > 0;
    let mut lines = vec![format!(
        "{processes}, {}, {} of {} {}",
        units::counted(s.calls, "call"),
        units::counted(s.allocations, "allocation"),
        units::bytes(s.allocated_bytes),
        if is_part { "recorded" } else { "in total" }
    )];
    let unfreed = reported.map_or_else(|| bounds::amount(&s.unfreed), |of| of.unfreed.clone());
    let not_freed = format!("not freed: {unfreed}");
    let Some(peak) = peak.filter(|peak| peak.bytes != Range::exact(0)) else {
        lines.push(not_freed);
        return lines;
    };
    let of = if s.processes > 1 { " (of all processes together)" } else { "" };
    let by_losses = s.peak_bounds(peak.bytes.low).filter(|_| reported.is_none());
    let bytes = match by_losses.unwrap_or(peak.bytes) {
        Range { low: 0, high: None } => format!("unknown; recorded were {}", units::bytes(peak.seen_bytes)),
        range => bounds::bytes(&range),
    };
    // The time is of what was recorded, which a lower bound is not.
    let is_elsewhere = peak.bytes.low < peak.seen_bytes && peak.bytes != (Range { low: 0, high: None });
    let after = peak.time_ns.map(|ns| match (is_elsewhere, units::duration(ns)) {
        (true, time) => format!("; {}", bounds::recorded_peak(peak.seen_bytes, &time)),
        (false, time) => format!(", {time} after the start"),
    });
    lines.push(format!("peak: {bytes}{of}{}; {not_freed}", after.unwrap_or_default()));
    lines
}

/// What was recorded of it.
fn recorded(s: &Summary, processes: &str) -> Vec<String> {
    let (calls, blocks) = (units::counted(s.calls, "call"), units::counted(s.allocations, "block"));
    let is_off = s.off.0 > 0 && !s.is_sampled;
    let others = match (s.is_rest, is_off) {
        (true, _) => "what was before them is not known",
        (false, true) => "the rest is not known",
        (false, false) => "the report estimates the rest",
    };
    vec![format!("{processes}, {calls} and {blocks} recorded; {others}")]
}

/// For how long nothing was recorded.
fn off(s: &Summary) -> Option<String> {
    let (processes, ns) = s.off;
    let all = if processes > 1 { " in all" } else { "" };
    (processes > 0).then(|| {
        format!(
            "off: for {}{all} nothing was recorded of {}",
            units::duration(ns),
            units::counted(processes, "process")
        )
    })
}

/// What of it a ring did not keep.
fn ring(s: &Summary, evicted: &Evicted) -> String {
    if evicted.is_empty() {
        return "ring: holds the whole recording".to_owned();
    }
    let of = units::duration(evicted.until_mono_ns.saturating_sub(s.first_mono_ns));
    format!(
        "ring: evicted {} of the first {of}, {} of them allocations of {} in total",
        units::counted(evicted.events, "event"),
        units::count(evicted.allocated_blocks),
        units::bytes(evicted.allocated_bytes)
    )
}

/// What took the room of the events that it evicted.
fn crowded(evicted: &Evicted, ring: CrowdedRing) -> Option<String> {
    (!evicted.is_empty()).then(|| {
        format!(
            "ring: stacks, modules and names took {} of it, and as much again to become a trace; \
             --ring {}MiB has more room for events",
            units::bytes(ring.definitions_bytes),
            ring.enough_bytes() >> 20
        )
    })
}

/// How the drainer kept up.
pub(crate) fn drainer(d: &Drainer) -> String {
    let used =
        format!("used {} of CPU, {} of memory", units::duration(d.cpu_ns), units::bytes(d.peak_rss_bytes));
    // What is left of a recording was recovered some time: nobody kept up with anything.
    let mut line = match (d.waiting_bytes, d.waiting_ns) {
        (0, 0) => used,
        (bytes, ns) => {
            format!("lagged at most {}, {} behind; {used}", units::bytes(bytes), units::duration(ns))
        }
    };
    if d.hurried_chunks > 0 {
        let chunks = units::counted(d.hurried_chunks, "chunk");
        line.push_str(&format!("; {chunks} not compressed to keep up"));
    }
    if d.full_logs > 0 {
        line.push_str(&format!("; a buffer was full {}", units::counted(d.full_logs, "time")));
    }
    line
}

/// Frees of blocks that nothing is known of: no event is lost by them.
fn unknown(s: &Summary) -> impl Iterator<Item = String> {
    let (of_heap, of_pools) = s.unknown();
    let times = BlindTimes {
        was_off: s.off.0 > 0,
        was_sampled: s.is_sampled,
        was_table_full: s.drops[LossReason::LiveTable as usize] > 0,
        has_unseen_events: lose_allocations((0..).zip(s.drops)),
    };
    let line = |blocks: u64, what: &str, why: &str| {
        (blocks > 0).then(|| format!("unknown: {} freed {why}", units::counted(blocks, what)))
    };
    let unseen = unseen_allocations(times);
    let of_heap = line(of_heap, "block", &format!("whose allocation was not seen: {unseen}"));
    of_heap.into_iter().chain(line(of_pools, "pool block", NO_POOL_ALLOC))
}

/// What was not recorded as a whole for a reason that loses no event.
fn incomplete(reason: LossReason, n: u64) -> String {
    let (what, how) = match reason {
        LossReason::LiveTable => ("block", "not followed"),
        LossReason::SectionDepth => ("section", "not followed"),
        LossReason::StackTable => ("event", "without a stack"),
        LossReason::StackDepth
        | LossReason::StackRule
        | LossReason::StackNoInfo
        | LossReason::StackBounds => ("stack", "cut"),
        LossReason::ModuleTable => ("module", "left out"),
        LossReason::ThreadTable => ("thread", "left out"),
        LossReason::RateTable => ("sampling rate", "left out"),
        LossReason::RegisteredFrames => ("unwinding table", "left out"),
        LossReason::NameTable => ("name", "left out"),
        LossReason::ReplacedBlock => ("free", "missed"),
        LossReason::Snapshot => ("snapshot", "not written"),
        LossReason::Untimed => ("call", "without a latency"),
        LossReason::InterpretedFrames => ("stack", "without the interpreter's frames"),
        _ => ("event", "left out"),
    };
    format!("{} {how} ({})", units::counted(n, what), reason.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(losses: &[(LossReason, u64)], events: u64, expected: &str) {
        let mut drops = [0; DROP_COUNTERS];
        losses.iter().for_each(|(reason, n)| drops[*reason as usize] = *n);
        assert_eq!(lost(events, &drops), expected);
    }

    #[test]
    fn what_loses_no_event_is_no_reason_for_lost_events() {
        use LossReason::{Held, InterpretedFrames, LiveTable, LogFull, StackNoInfo, UnknownBlock};
        check(&[], 0, "dropped: 0 events");
        let expected = "dropped: 0 events; 17,165 blocks not followed (live_table)";
        check(&[(LiveTable, 17_165), (UnknownBlock, 3)], 0, expected);
        let expected = "dropped: 0 events; 208 stacks without the interpreter's frames (interpreted_frames)";
        check(&[(InterpretedFrames, 208)], 0, expected);
        let expected = "dropped: 7 events (5 log_full, 2 held); 1 stack cut (stack_no_info)";
        check(&[(LogFull, 5), (Held, 2), (StackNoInfo, 1)], 7, expected);
    }

    #[test]
    fn snapshots_are_those_that_are_there() {
        for (taken, files, expected) in [
            (0, 0, None),
            (1, 1, Some("snapshots: 1 is next to the trace")),
            (3, 3, Some("snapshots: 3 are next to the trace")),
            (12, 5, Some("snapshots: 5 of 12 taken are next to the trace")),
        ] {
            assert_eq!(snapshots(SnapshotCounts { taken, files }).as_deref(), expected);
        }
    }

    #[test]
    fn only_what_was_killed_is_called_killed() {
        let path = |n: u32| PathBuf::from(format!("/dev/shm/{n}"));
        assert_eq!(retained("killed: the live blocks", &[]), None);
        let of = |sessions: &[PathBuf]| retained("killed: the live blocks", sessions).unwrap();
        assert_eq!(
            of(&[path(1)]),
            "killed: the live blocks are in /dev/shm/1; heapscribe snapshot /dev/shm/1"
        );
        let two = "killed: the live blocks are in /dev/shm/1 and 1 more; heapscribe snapshot /dev/shm/1";
        assert_eq!(of(&[path(1), path(2)]), two);
    }
}
