//! What `ms_print` and massif-visualizer read: the heap over time as massif writes it, with the stacks of the peak and of
//! the end.
//!
//! ```text
//!   desc: ...        cmd: ...        time_unit: ms
//!   snapshot=N time=MS mem_heap_B=N mem_heap_extra_B=0 mem_stacks_B=0 heap_tree=empty|peak|detailed
//!   n2: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
//!    n0: 600 0x4005D0: load (shop.c:12)
//!    n0: 400 in 7 places, all below massif's threshold (0.10%)
//! ```
//! A tree begins with who allocated and goes on to the callers. What an allocator adds to a block is not known, so that
//! `mem_heap_extra_B` is 0, as with `--heap-admin=0`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::answer::Stack;
use heapscribe_symbols::NamedFrame;

use super::stacks::ExportedStacks;
use crate::text::tables::estimated;

/// Frames of a stack that are written; ms_print descends into each, and Perl warns from 100 on.
const DEPTH_MAX: usize = 90;
/// Calls of less than one in so many bytes of a tree are written as one line.
const PARTS: u64 = 1000;

/// A moment, in ms of the recording, and what was live.
struct Moment {
    ns: u64,
    bytes: u64,
    tree: Tree,
}

/// What is written of a moment's stacks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tree {
    Empty,
    Peak,
    End,
}

/// Writes the heap over time between these moments, ns.
///
/// # Errors
/// Those of the writer.
pub fn write(stacks: &ExportedStacks<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "desc: {}", estimated(stacks.answer, "recorded by heapscribe"))?;
    writeln!(out, "cmd: {}", line_of(&stacks.command()))?;
    writeln!(out, "time_unit: ms")?;
    for (number, moment) in moments(stacks).iter().enumerate() {
        let ms = moment.ns / 1_000_000;
        writeln!(out, "#-----------\nsnapshot={number}\n#-----------\ntime={ms}")?;
        writeln!(out, "mem_heap_B={}\nmem_heap_extra_B=0\nmem_stacks_B=0", moment.bytes)?;
        match moment.tree {
            Tree::Empty => writeln!(out, "heap_tree=empty")?,
            Tree::Peak => write_tree(stacks, "peak", moment.bytes, |stack| stack.at_peak, out)?,
            Tree::End => write_tree(stacks, "detailed", moment.bytes, |stack| stack.leaked, out)?,
        }
    }
    Ok(())
}

/// The begin, the end of each step, the peak among them, and the end.
fn moments(stacks: &ExportedStacks<'_>) -> Vec<Moment> {
    let answer = stacks.answer;
    let timeline = &answer.timeline;
    let end_ns = answer.duration_ns;
    let plain = |(n, step): (usize, &heapscribe_analyze::answer::Step)| Moment {
        ns: timeline.begin_ns.saturating_add(timeline.step_ns.saturating_mul(n as u64 + 1)),
        bytes: step.heap_end_bytes,
        tree: Tree::Empty,
    };
    let steps = timeline.steps.iter().enumerate().map(plain).filter(|moment| moment.ns < end_ns);
    let mut all = vec![Moment { ns: timeline.begin_ns, bytes: 0, tree: Tree::Empty }];
    all.extend(steps);
    if answer.peak.bytes > 0 {
        all.push(Moment { ns: answer.peak.time_ns, bytes: answer.peak.bytes, tree: Tree::Peak });
    }
    all.push(Moment { ns: end_ns.max(1_000_000), bytes: answer.leaked.bytes, tree: Tree::End });
    all.sort_by_key(|moment| (moment.ns, moment.tree));
    all
}

/// A call and who called it, by name.
#[derive(Default)]
struct Call {
    bytes: u64,
    callers: BTreeMap<String, Call>,
}

fn write_tree(
    stacks: &ExportedStacks<'_>,
    kind: &str,
    bytes: u64,
    amount: fn(&Stack) -> Amount,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut root = Call::default();
    for stack in stacks.answer.stacks.iter().filter(|stack| amount(stack).bytes > 0) {
        let held = amount(stack).bytes;
        let mut at = &mut root;
        at.bytes += held;
        for frame in stacks.frames(stack.node).iter().take(DEPTH_MAX) {
            at = at.callers.entry(label(frame)).or_default();
            at.bytes += held;
        }
    }
    writeln!(out, "heap_tree={kind}")?;
    let title = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
    write_call(&root, title, 0, bytes / PARTS, out)
}

/// Writes a call and its callers, the largest first.
fn write_call(call: &Call, label: &str, depth: usize, least: u64, out: &mut dyn Write) -> io::Result<()> {
    let (mut shown, small): (Vec<_>, Vec<_>) = call.callers.iter().partition(|(_, of)| of.bytes >= least);
    shown.sort_by(|(a, of_a), (b, of_b)| of_b.bytes.cmp(&of_a.bytes).then_with(|| a.cmp(b)));
    let children = shown.len() + usize::from(!small.is_empty());
    writeln!(out, "{:depth$}n{children}: {} {label}", "", call.bytes)?;
    for (label, of) in shown {
        write_call(of, label, depth + 1, least, out)?;
    }
    if !small.is_empty() {
        let (places, bytes) = (small.len(), small.iter().map(|(_, of)| of.bytes).sum::<u64>());
        let plural = if places == 1 { "" } else { "s" };
        let share = 100.0 / PARTS as f64;
        writeln!(
            out,
            "{:1$}n0: {bytes} in {places} place{plural}, all below massif's threshold ({share:.2}%)",
            "",
            depth + 1
        )?;
    }
    Ok(())
}

/// `0x4005D0: load (shop.c:12)`. Equal places are one.
fn label(frame: &NamedFrame) -> String {
    let place = match (frame.place(), &frame.module) {
        (Some(place), _) => format!(" ({})", place.rsplit('/').next().unwrap_or(&place)),
        (None, Some(module)) => format!(" (in {module})"),
        (None, None) => String::new(),
    };
    line_of(&format!("{:#X}: {}{place}", frame.offset, frame.name()).replacen("0X", "0x", 1))
}

/// A line, and nothing that ms_print takes for a comment: `{closure#0}` has a hash.
fn line_of(text: &str) -> String {
    text.replace('\n', " ").replace('#', ":")
}
