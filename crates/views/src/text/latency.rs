//! How long calls took, and the longest of them.

use std::cmp::Reverse;
use std::io;

use heapscribe_analyze::answer::{Answer, CallKind, CallLatency, NodeId, WorstCall};

use super::out::Out;
use super::stack_list::StackPrinter;
use heapscribe_symbols::lossy;
use heapscribe_units::{bytes, count, duration};

/// The longest calls of all kinds, the longest first.
pub fn worst(answer: &Answer, top: usize) -> Vec<&WorstCall> {
    let mut all: Vec<&WorstCall> = answer.latency.iter().flat_map(|kind| &kind.worst).collect();
    all.sort_by_key(|call| (Reverse(call.took_ns), call.time_ns, call.process, call.thread));
    all.truncate(top);
    all
}

/// The stacks that are printed.
pub fn wanted(answer: &Answer, top: usize) -> impl Iterator<Item = NodeId> {
    worst(answer, top).into_iter().map(|call| call.node)
}

/// The section; nothing when no call was timed.
pub fn print(out: Out<'_>, answer: &Answer, top: usize, stacks: &mut StackPrinter<'_>) -> io::Result<()> {
    if answer.latency.is_empty() {
        return Ok(());
    }
    stacks.list(out, "Latency of allocation calls")?;
    writeln!(out, "  Time inside the heap; percentiles are rounded up by at most 3 %.")?;
    if answer.sampling.is_some() {
        writeln!(out, "  Only sampled calls: large blocks are overrepresented.")?;
    }
    let columns = ["min", "mean", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "max"];
    write!(out, "  {:<8}{:>12}", "", "calls")?;
    columns.iter().try_for_each(|name| write!(out, " {name:>9}"))?;
    writeln!(out)?;
    answer.latency.iter().try_for_each(|kind| row(out, kind))?;
    writeln!(out, "  The longest calls:")?;
    for (i, call) in worst(answer, top).into_iter().enumerate() {
        stacks.entry(out, i + 1, &figures(answer, call), call.node)?;
    }
    Ok(())
}

fn row(out: Out<'_>, kind: &CallLatency) -> io::Result<()> {
    write!(out, "  {:<8}{:>12}", kind.kind.name(), count(kind.count))?;
    let figures = [
        kind.min_ns,
        kind.mean_ns.round() as u64,
        kind.p50_ns,
        kind.p90_ns,
        kind.p99_ns,
        kind.p99_9_ns,
        kind.p99_99_ns,
        kind.max_ns,
    ];
    figures.iter().try_for_each(|ns| write!(out, " {:>9}", duration(*ns)))?;
    writeln!(out)
}

/// How long, which call, whose and when.
fn figures(answer: &Answer, call: &WorstCall) -> String {
    let is_free = CallKind::of(call.call) == Some(CallKind::Free);
    let of = match (is_free, call.size_bytes) {
        (true, 0) => String::new(),
        (true, size) => format!(" of {} allocated here", bytes(size)),
        (false, size) => format!(" of {}", bytes(size)),
    };
    format!(
        "{}: {}{of}, {}, {} after the start",
        duration(call.took_ns),
        call.call.name(),
        thread(answer, call.process, call.thread),
        duration(call.time_ns)
    )
}

/// A thread by its name, and of several processes by whose it is.
pub(super) fn thread(answer: &Answer, process: usize, id: u32) -> String {
    let thread = answer.threads.iter().find(|t| t.process == process && t.id == id);
    let named = match thread {
        Some(thread) => format!("thread {} ({})", thread.tid, lossy(&thread.name)),
        None => format!("thread number {id}"),
    };
    match answer.processes.get(process) {
        Some(process) if answer.processes.len() > 1 => format!("{named} of process {}", process.pid),
        _ => named,
    }
}
