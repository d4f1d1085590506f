//! Blocks of pools that programs manage themselves: what they allocated, had at the most and never freed.

use std::io;

use heapscribe_analyze::answer::{Amount, Answer, PoolStack, Pools};
use heapscribe_formats::Evicted;

use super::bounds::{self, Shown};
use super::estimate;
use super::out::Out;
use super::stack_list::StackPrinter;
use crate::annotations::of_pools;
use heapscribe_units::{counted, duration};

/// Heading of what is said about them, in a snapshot too.
pub(super) const HEADING: &str = "Pools (blocks that the program allocates itself, in no other figure)";

/// All of it; nothing when there are none.
pub(super) fn print(
    out: Out<'_>,
    answer: &Answer,
    top: usize,
    stacks: &mut StackPrinter<'_>,
) -> io::Result<()> {
    let p = &answer.pools;
    if p.is_empty() {
        return Ok(());
    }
    stacks.list(out, HEADING)?;
    let (sampling, bounds) = (p.sampling.as_ref(), p.bounds.as_ref());
    let shown = |seen, estimate, bounds| Shown { seen, estimate, bounds }.amount();
    let allocated = shown(p.allocated, sampling.map(|s| &s.allocated), bounds.map(|b| &b.allocated));
    writeln!(out, "  Allocated: {allocated}.")?;
    writeln!(out, "  Peak: {}.", peak(p))?;
    let leaked = shown(p.leaked, sampling.map(|s| &s.leaked), bounds.map(|b| &b.leaked));
    writeln!(out, "  Never freed: {leaked}.")?;
    if p.unknown > 0 {
        writeln!(out, "  Freed without an allocation: {}.", counted(p.unknown, "block"))?;
    }
    for (i, stack) in of_pools(answer, top).into_iter().enumerate() {
        stacks.entry(out, i + 1, &of_stack(stack, &answer.evicted), stack.node)?;
    }
    Ok(())
}

/// The most bytes at a time, and when; where it may have been at another time, when it was by what was recorded.
fn peak(p: &Pools) -> String {
    let (seen, time) = (p.peak_bytes, duration(p.peak_ns));
    match p.bounds.map(|bounds| bounds.peak_bytes).filter(|peak| !peak.is_exact()) {
        None => {
            let peak = estimate::bytes(seen, p.sampling.as_ref().map(|sampling| &sampling.peak));
            format!("{peak}, {time} after the start")
        }
        Some(range) => format!("{}; {}", bounds::bytes(&range), bounds::recorded_peak(seen, &time)),
    }
}

/// What one stack did. In a ring, or the rest of a recording, only the events that it has say what was allocated, and the
/// table of live blocks knows of others what was never freed: it is no part of that.
fn of_stack(stack: &PoolStack, evicted: &Evicted) -> String {
    let amount = |amount: Amount, sure| {
        format!(
            "{} in {}",
            estimate::row_bytes(amount.bytes, sure),
            estimate::row_blocks(amount.blocks, sure)
        )
    };
    let sampling = stack.sampling.as_ref();
    let all = amount(stack.allocated, sampling.map(|sampling| &sampling.allocated));
    let left = match stack.leaked_bounds.filter(|bounds| !bounds.is_exact()) {
        Some(bounds) => bounds::amount(&bounds),
        None => amount(stack.leaked, sampling.map(|sampling| &sampling.leaked)),
    };
    match (evicted.is_empty(), evicted.is_of_ring()) {
        (true, _) => format!("{all}, of which never freed {left}"),
        (false, true) => format!("{left} never freed; in the ring {all}"),
        (false, false) => format!("{left} never freed; in the rest {all}"),
    }
}
