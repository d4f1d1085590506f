//! What a report does not know, in words: dropped by reason, without a name, damaged. Printed even when it
//! is nothing, because only then silence means something.

use std::io;

use heapscribe_analyze::answer::{Answer, Dropped};
use heapscribe_wire::head::Drop;

use super::{Out, estimate, heading};
use crate::losses::lost_events;
use heapscribe_symbols::LookupFailure;
use heapscribe_symbols::Unnamed;
use heapscribe_units::{count, counted};

/// The section on what is missing.
pub fn section(out: Out<'_>, answer: &Answer, unnamed: &[Unnamed]) -> io::Result<()> {
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
        writeln!(out, "  In no file: {} of the stacks.", counted(answer.unresolved_frames, "frame"))?;
    }
    if answer.stack_check.verified > 0 {
        let check = answer.stack_check;
        let (taken, other) = (counted(check.verified, "stack"), count(check.different));
        writeln!(out, "  Taken twice and compared: {taken}, of which {other} came out different.")?;
    }
    names(out, unnamed)?;
    for problem in &answer.problems {
        writeln!(out, "  {problem}.")?;
    }
    Ok(())
}

/// What recorders left out, and why.
pub fn dropped(out: Out<'_>, dropped: &[Dropped]) -> io::Result<()> {
    for dropped in dropped.iter().filter(|d| d.count > 0) {
        match Drop::from_number(dropped.reason) {
            Some(reason) => {
                writeln!(out, "  {}: {} ({}).", meaning(reason), count(dropped.count), reason.name())?;
            }
            None => writeln!(out, "  Other, reason {}: {}.", dropped.reason, count(dropped.count))?,
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

fn meaning(reason: Drop) -> &'static str {
    match reason {
        Drop::LogFull => "Events lost because the log was full",
        Drop::LogMemory => "Events lost for want of memory for the log",
        Drop::Reentered => "Events lost inside signal handlers or the heap itself",
        Drop::NoSession => "Events lost before recording could begin",
        Drop::StackTable => "Events without a stack because the table of stacks was full",
        Drop::LiveTable => "Blocks not followed because the table of blocks was full",
        Drop::StackDepth => "Stacks cut because they are too deep",
        Drop::StackRule => "Stacks cut at code whose unwinding rule is not supported",
        Drop::StackNoInfo => "Stacks cut at code without unwinding information",
        Drop::StackBounds => "Stacks cut at a frame outside of its stack",
        Drop::ModuleTable => "Files of code not noted",
        Drop::UnknownBlock => "Blocks freed that were not known, born before the recording or in a parent",
        Drop::ReplacedBlock => "Blocks whose free was not seen, found when their place was used again",
        Drop::RateTable => "Sampling rates beyond the number that a process can have",
        Drop::RegisteredFrames => "Unwinding information of generated code for which there was no room",
        Drop::Held => "Calls not recorded because readers of the live heap held them back for too long",
        Drop::NameTable => "Marks and sections without a name, or beyond the number that a process can have",
        Drop::SectionDepth => "Sections not followed because they are inside too many others",
        Drop::Snapshot => "Named snapshots that were refused or could not be written",
        Drop::Untimed => {
            "Calls without their time in the heap, because others came meanwhile on their thread"
        }
        Drop::ThreadTable => "Threads beyond the number that can be told apart",
    }
}
