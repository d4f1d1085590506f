//! What programs mapped themselves, past the heap.

use std::io;

use heapscribe_analyze::answer::{Answer, MappedStack, Mappings, NodeId, Process};

use super::findings::wrapped;
use super::stack_list::StackPrinter;
use super::{Out, tables};
use heapscribe_units::{count, counted, duration, percent, short_bytes};

/// The stacks that are printed.
pub(super) fn wanted(answer: &Answer, top: usize) -> impl Iterator<Item = NodeId> + '_ {
    let all = answer.processes.iter().filter_map(|process| process.mappings.as_ref());
    all.flat_map(move |of| of.stacks.iter().take(top).map(|of| of.node))
}

/// The section; nothing where no call was recorded.
pub(super) fn print(
    out: Out<'_>,
    answer: &Answer,
    (top, width): (usize, usize),
    stacks: &mut StackPrinter<'_>,
) -> io::Result<()> {
    let mut all = answer.processes.iter().filter_map(|of| Some((of, of.mappings.as_ref()?))).peekable();
    if all.peek().is_none() {
        return Ok(());
    }
    stacks.list(out, "Mapped by the program itself (in no figure of the heap)")?;
    for (process, mappings) in all {
        for text in sentences(process, mappings) {
            wrapped(&format!("  {text}"), width, 2).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        for (i, of) in mappings.stacks.iter().take(top).enumerate() {
            stacks.entry(out, i + 1, &figures(mappings, of), of.node)?;
        }
        tables::more(out, mappings.stacks.len(), mappings.stacks.len().min(top), "stack")?;
    }
    Ok(())
}

fn sentences(process: &Process, of: &Mappings) -> Vec<String> {
    let name = format!("{} ({})", tables::program(process), process.pid);
    if of.unfollowed_calls > 0 {
        let calls = count(of.unfollowed_calls);
        return vec![format!("{name} made {calls} calls that map and unmap: too many to follow.")];
    }
    let at_break = match of.break_bytes {
        0 => String::new(),
        bytes => format!(", {} of it by brk and sbrk", short_bytes(bytes)),
    };
    let mut all = vec![format!(
        "{name}: {} live at the end{at_break}; at most {}, {} after the start. {} mapped {}.",
        short_bytes(of.live_bytes),
        short_bytes(of.peak_bytes),
        duration(of.peak_ns),
        counted(of.mapped.blocks, "call"),
        short_bytes(of.mapped.bytes)
    )];
    if of.reserved_bytes > 0 {
        all.push(format!("Besides {} of address space without rights.", short_bytes(of.reserved_bytes)));
    }
    if of.is_incomplete {
        all.push("Some calls are missing, so these figures may be wrong.".to_owned());
    }
    all
}

fn figures(all: &Mappings, of: &MappedStack) -> String {
    format!(
        "{}: {} at most, {} at the end; {} of {}",
        percent(of.at_peak_bytes, all.peak_bytes),
        short_bytes(of.at_peak_bytes),
        short_bytes(of.live_bytes),
        counted(of.mapped.blocks, "call"),
        short_bytes(of.mapped.bytes)
    )
}
