//! What a report does not know, in words: dropped by reason, without a name, damaged. Said even when it
//! is nothing, because only then silence means something.

use std::io;

use heapscribe_analyze::answer::{Answer, Dropped};
use heapscribe_wire::head::Drop;

use super::number::{count, counted};
use super::{Out, estimate, heading};
use crate::frames::Unnamed;
use crate::symbols::Trouble;

/// The section on what is missing.
pub(crate) fn section(out: Out<'_>, answer: &Answer, unnamed: &[Unnamed]) -> io::Result<()> {
    heading(out, "What is missing")?;
    writeln!(out, "  Events lost: {}.", count(lost_events(answer)))?;
    dropped(out, &answer.dropped)?;
    if let Some(sampling) = &answer.sampling {
        estimate::unseen(out, sampling)?;
    }
    if answer.unknown_stacks > 0 {
        writeln!(out, "  Without a stack: {}.", counted(answer.unknown_stacks, "allocation"))?;
    }
    if answer.unresolved_frames > 0 {
        writeln!(
            out,
            "  Outside of all modules: {} of the stacks.",
            counted(answer.unresolved_frames, "frame")
        )?;
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

/// What recorders left out, and why.
pub(crate) fn dropped(out: Out<'_>, dropped: &[Dropped]) -> io::Result<()> {
    for dropped in dropped.iter().filter(|d| d.count > 0) {
        match Drop::from_number(dropped.reason) {
            Some(reason) => {
                writeln!(out, "  {}: {} ({}).", meaning(reason), count(dropped.count), reason.name())?;
            }
            None => writeln!(out, "  Unknown reason {}: {}.", dropped.reason, count(dropped.count))?,
        }
    }
    Ok(())
}

/// Files whose functions have no names or no lines. That the system's libraries have no lines is common.
pub(crate) fn names(out: Out<'_>, unnamed: &[Unnamed]) -> io::Result<()> {
    for module in unnamed.iter().filter(|m| m.trouble != Trouble::NoDebugInfo) {
        writeln!(out, "  No names: {} {}.", module.module, module.trouble)?;
    }
    let no_lines = unnamed.iter().filter(|m| m.trouble == Trouble::NoDebugInfo);
    let files: Vec<_> = no_lines.map(|m| m.module.rsplit('/').next().unwrap_or(&m.module)).collect();
    if files.is_empty() { Ok(()) } else { writeln!(out, "  No debug information: {}.", files.join(", ")) }
}

/// Events that are not in the trace: what the recorder counted, or at least what the trace itself tells.
pub(crate) fn lost_events(answer: &Answer) -> u64 {
    let loses = |reason| Drop::from_number(reason).is_some_and(Drop::loses_events);
    let counted: u64 =
        answer.dropped.iter().filter(|d| loses(d.reason)).map(|d| d.count).fold(0, u64::saturating_add);
    counted.max(answer.totals.lost_events)
}

fn meaning(reason: Drop) -> &'static str {
    match reason {
        Drop::LogFull => "Events lost because the buffer was full",
        Drop::LogMemory => "Events lost because memory for the buffer was short",
        Drop::Reentered => "Events lost inside signal handlers or the heap itself",
        Drop::NoSession => "Events lost before recording could begin",
        Drop::StackTable => "Events without a stack because the stack table was full",
        Drop::LiveTable => "Blocks not followed because the block table was full",
        Drop::StackDepth => "Stacks truncated because they are too deep",
        Drop::StackRule => "Stacks truncated at code whose unwinding rule is not supported",
        Drop::StackNoInfo => "Stacks truncated at code without unwinding information",
        Drop::StackBounds => "Stacks truncated at a frame outside of the stack",
        Drop::ModuleTable => "Modules not recorded",
        Drop::UnknownBlock => {
            "Frees of unknown blocks, allocated before the recording or in a parent process"
        }
        Drop::ReplacedBlock => "Blocks whose free was missed, noticed when their address was used again",
        Drop::RateTable => "Sampling rates beyond the limit per process",
        Drop::RegisteredFrames => {
            "Unwinding information of generated code left out because its table was full"
        }
        Drop::Held => "Calls not recorded because snapshots paused them for too long",
        Drop::NameTable => "Marks and sections without a name, or beyond the limit per process",
        Drop::SectionDepth => "Sections not followed because they are nested too deep",
        Drop::Snapshot => "Named snapshots that were rejected or could not be written",
        Drop::Untimed => "Calls without a latency because of nested calls on their thread",
        Drop::ThreadTable => "Threads beyond the limit per process",
    }
}
