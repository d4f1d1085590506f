//! What a report does not know, in words: dropped by reason, without a name, damaged. Printed even when it
//! is nothing, because only then silence means something.

use std::io;

use heapscribe_analyze::answer::{Answer, Dropped};
use heapscribe_wire::head::LossReason;

use super::{Out, estimate, heading};
use crate::losses::{
    BlindTimes, Missing, NO_POOL_ALLOC, lose_allocations, lost_events, lost_events_shown, unseen_allocations,
};
use crate::{interpreters, off, unrecorded};
use heapscribe_symbols::LookupFailure;
use heapscribe_symbols::Unnamed;
use heapscribe_units::{count, counted, short_bytes};

/// How lines on programs begin that are not in the trace.
const NOT_RECORDED: &str = "Not recorded, so in no figure here";

/// The section on what is missing.
pub fn section(out: Out<'_>, answer: &Answer, unnamed: &[Unnamed]) -> io::Result<()> {
    heading(out, "What is missing")?;
    not_recorded(out, answer)?;
    rest(out, answer, unnamed)
}

/// What no figure knows of, of any size: events, times and programs.
pub(super) fn not_recorded(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    events_lost(out, answer)?;
    for line in off::lines(answer) {
        writeln!(out, "  {line}")?;
    }
    if !answer.evicted.is_counted() {
        writeln!(out, "  How many events there were before the rest that this trace has is not known.")?;
    }
    for line in unrecorded::lines(&answer.unrecorded, None) {
        writeln!(out, "  {NOT_RECORDED}: {line}.")?;
    }
    Ok(())
}

fn events_lost(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    writeln!(out, "  Events lost: {}.", lost_and_why(answer))
}

/// How many events were lost, and why that is not all where nobody counted them.
pub(super) fn lost_and_why(answer: &Answer) -> String {
    let shown = lost_events_shown(answer);
    match Missing::of(answer).uncounted_briefly() {
        None => shown,
        Some(why) => format!("{shown}, as {why}"),
    }
}

/// The same in as few lines as there can be.
pub(super) fn not_recorded_briefly(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    events_lost(out, answer)?;
    if let Some(off) = Missing::of(answer).off() {
        writeln!(out, "  Besides, {off}.")?;
    }
    match answer.unrecorded.count() {
        0 => Ok(()),
        programs => writeln!(out, "  {NOT_RECORDED}: {}.", counted(programs, "program")),
    }
}

/// What is missing from figures that are there.
pub(super) fn rest(out: Out<'_>, answer: &Answer, unnamed: &[Unnamed]) -> io::Result<()> {
    dropped(out, &answer.dropped, &Missing::of(answer).unseen_allocations(), answer.pools.unknown)?;
    if let Some(sampling) = &answer.sampling {
        estimate::unseen(out, sampling)?;
    }
    if answer.unknown_stacks > 0 {
        writeln!(out, "  Without a stack: {}.", counted(answer.unknown_stacks, "allocation"))?;
    }
    for line in interpreters::lines(answer) {
        writeln!(out, "  {line}.")?;
    }
    if answer.unresolved_frames > 0 {
        let frames = counted(answer.unresolved_frames, "frame");
        writeln!(out, "  Outside of all modules: {frames} of the stacks.")?;
    }
    if answer.stack_check.verified > 0 {
        let check = answer.stack_check;
        let (taken, other) = (counted(check.verified, "stack"), count(check.different));
        writeln!(out, "  Stacks verified by a second unwind: {taken}, of which {other} differed.")?;
    }
    names(out, unnamed)?;
    for problem in &answer.problems {
        writeln!(out, "  {problem}.")?;
    }
    Ok(())
}

/// Why there is nothing to report, where no call of the heap was recorded.
pub fn nothing(a: &Answer) -> Option<String> {
    if a.totals.calls.all() > 0 || !a.pools.is_empty() || !a.evicted.is_empty() {
        return None;
    }
    let lost = lost_events(a);
    Some(match &a.sampling {
        _ if lost > 0 => format!("All events were lost, {}", count(lost)),
        _ if a.processes.is_empty() && !a.problems.is_empty() => {
            "The trace was not finished, was cut or is damaged, and no call can be read of it. What was not written yet is \
             in the session directory: `heapscribe recover DIR -o TRACE` writes it to a trace"
                .to_owned()
        }
        Some(sampling) => format!(
            "No sample was taken. A program that allocates less than {} goes without one in more than 5 of \
             100 recordings",
            short_bytes(sampling.unseen_below_bytes())
        ),
        None if !a.unrecorded.is_empty() => "No call of the heap was recorded".to_owned(),
        None if a.processes.is_empty() => {
            "No process made a call of the heap with the recorder in it. `record` says why, as far as it \
             knows: the program is static or setuid, has a heap of its own or clears its environment"
                .to_owned()
        }
        None if a.processes.iter().any(|process| process.is_unfinished || process.gap_at.is_some()) => {
            "The trace is damaged, was cut or was not finished, and has no calls of the heap as far as it can be read"
                .to_owned()
        }
        None => "The processes made no calls of the heap while recording was on".to_owned(),
    })
}

/// What the recorder of a snapshot left out, and why.
pub fn dropped_before(out: Out<'_>, all: &[Dropped], was_sampled: bool) -> io::Result<()> {
    let was_table_full = all.iter().any(|d| d.reason == LossReason::LiveTable as u8 && d.count > 0);
    let has_unseen_events = lose_allocations(all.iter().map(|of| (of.reason, of.count)));
    let times = BlindTimes { was_sampled, was_table_full, has_unseen_events, was_off: false };
    dropped(out, all, &unseen_allocations(times), 0)
}

/// What recorders left out, and why, and where blocks were allocated whose frees alone were seen; so many of these were
/// of pools.
fn dropped(out: Out<'_>, dropped: &[Dropped], unseen: &str, of_pools: u64) -> io::Result<()> {
    for dropped in dropped.iter().filter(|d| d.count > 0) {
        match LossReason::from_number(dropped.reason) {
            Some(reason @ LossReason::UnknownBlock) => {
                let of_pools = of_pools.min(dropped.count);
                let pools = format!("Frees of pool blocks {NO_POOL_ALLOC}");
                let heap = format!("{} {unseen}", meaning(reason));
                for (what, frees) in [(heap, dropped.count - of_pools), (pools, of_pools)] {
                    if frees > 0 {
                        writeln!(out, "  {what}: {} ({}).", count(frees), reason.name())?;
                    }
                }
            }
            Some(reason) => {
                writeln!(out, "  {}: {} ({}).", meaning(reason), count(dropped.count), reason.name())?;
            }
            None => writeln!(out, "  Unknown reason {}: {}.", dropped.reason, count(dropped.count))?,
        }
    }
    Ok(())
}

/// Files whose functions have no names or no lines. That the system's libraries have no lines is common.
pub fn names(out: Out<'_>, unnamed: &[Unnamed]) -> io::Result<()> {
    for module in unnamed.iter().filter(|m| m.failure != LookupFailure::NoDebugInfo) {
        writeln!(out, "  No names: {} {}.", module.module, module.failure)?;
    }
    let no_lines = unnamed.iter().filter(|m| m.failure == LookupFailure::NoDebugInfo);
    let files: Vec<_> = no_lines.map(|m| m.module.rsplit('/').next().unwrap_or(&m.module)).collect();
    if files.is_empty() { Ok(()) } else { writeln!(out, "  No debug information: {}.", files.join(", ")) }
}

fn meaning(reason: LossReason) -> &'static str {
    match reason {
        LossReason::LogFull => "Events lost because the buffer was full",
        LossReason::LogMemory => "Events lost because memory for the buffer was short",
        LossReason::Reentered => "Events lost inside signal handlers or the heap itself",
        LossReason::NoSession => "Events lost before recording could begin",
        LossReason::StackTable => "Events without a stack because the stack table was full",
        LossReason::LiveTable => "Blocks not followed because the block table was full",
        LossReason::StackDepth => "Stacks with frames left out in the middle because they are too deep",
        LossReason::StackRule => "Stacks truncated at code whose unwinding rule is not supported",
        LossReason::StackNoInfo => "Stacks truncated at code without unwinding information",
        LossReason::StackBounds => "Stacks truncated at a frame outside of the stack",
        LossReason::ModuleTable => "Modules not recorded",
        LossReason::UnknownBlock => "Frees of blocks whose allocation was not seen:",
        LossReason::ReplacedBlock => {
            "Blocks whose free was missed, noticed when their address was used again"
        }
        LossReason::RateTable => "Sampling rates beyond the limit per process",
        LossReason::RegisteredFrames => {
            "Unwinding information of generated code left out because its table was full"
        }
        LossReason::InterpretedFrames => "Stacks without the interpreter's frames, which could not be read",
        LossReason::Held => "Calls not recorded because snapshots paused them for too long",
        LossReason::NameTable => "Marks and sections without a name, or beyond the limit per process",
        LossReason::SectionDepth => "Sections not followed because they are nested too deep",
        LossReason::Snapshot => "Named snapshots that were rejected or could not be written",
        LossReason::Forbidden => {
            "Events after the program gave up the clock or system calls that the recorder needs (seccomp)"
        }
        LossReason::NotWritten => "Events lost because the trace could not be written any further",
        LossReason::Damaged => "Events in damaged parts of the trace",
        LossReason::Untimed => "Calls without a latency because of nested calls on their thread",
        LossReason::ThreadTable => "Threads beyond the limit per process",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(frees: u64, of_pools: u64, expected: &str) {
        let all = [Dropped { reason: LossReason::UnknownBlock as u8, count: frees }];
        let mut out = Vec::new();
        dropped(&mut out, &all, "before the recording", of_pools).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn frees_in_pools_are_told_apart() {
        let heap =
            "  Frees of blocks whose allocation was not seen: before the recording: 2 (unknown_block).\n";
        let pool =
            "  Frees of pool blocks for which no heapscribe_pool_alloc was recorded: 1 (unknown_block).\n";
        check(2, 0, heap);
        check(1, 1, pool);
        check(3, 1, &format!("{heap}{pool}"));
        check(1, 7, pool);
    }
}
