//! From ours to heaphook's logs, in either of their forms, so that its own scripts can draw them.
//!
//! Our traces have no addresses: a block gets one that no other has, a number times 16, and blocks that a
//! trace does not know get one that no block has.
//!
//! *Lost on the way*: times, threads, stacks, all processes but one, blocks of pools, what the program
//! annotated, memory samples; and what [`heapscribe_formats::heaplog`] has no room for.

use std::collections::HashMap;
use std::io::{self, Write};

use anyhow::Result;
use heapscribe_formats::heaplog::{Line, Operation, Style};
use heapscribe_formats::{Process, Scratch, Source, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::record::{Block, Call, Event};

use crate::block_identity::BlockIdentity;
use crate::in_order::{At, InOrder};

/// Where made-up addresses begin.
const FIRST_ADDRESS: u64 = 0x1000_0000;
/// How far they are apart.
const ADDRESS_STEP: u64 = 16;

/// Converts a process of a trace. Gives what is not whole, in words.
pub fn convert<S: Source, W: Write>(
    trace: &Trace<S>,
    process: &Process,
    style: Style,
    out: W,
) -> Result<Vec<String>> {
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    let mut is_sampled = false;
    let skipped = trace.definitions(process.index, &mut Scratch::default(), |_, definition| {
        is_sampled |= matches!(definition, Definition::Rate { .. });
    })?;
    problems.extend(skipped.iter().map(ToString::to_string));
    if is_sampled {
        problems.push("the log contains only the sampled blocks, and cannot mark them as such".to_owned());
    }
    let (mut addresses, mut order) = (Addresses::default(), InOrder::new(trace, process));
    let (clock, mut lines) = (trace.clock(process.index), Lines { out, style, now_ns: 0, now: Vec::new() });
    while let Some((at, event)) = order.next(trace) {
        match event {
            Event::Took { units } => lines.took(at.thread, clock.units_ns(units).round() as u64),
            _ => addresses.what(at, &event).map_or(Ok(()), |what| lines.put(at, what))?,
        }
    }
    lines.flush()?;
    problems.extend(order.problems);
    Ok(problems)
}

/// Lines on their way out. How long a call took comes after it, and at the same time calls of other threads
/// may come between.
struct Lines<W> {
    out: W,
    style: Style,
    now_ns: u64,
    /// Those of this time, with their threads.
    now: Vec<(u32, Line)>,
}

impl<W: Write> Lines<W> {
    fn put(&mut self, at: At, what: Operation) -> io::Result<()> {
        if at.ns != self.now_ns {
            self.write()?;
            self.now_ns = at.ns;
        }
        self.now.push((at.thread, Line { operation: what, took_ns: None }));
        Ok(())
    }

    fn took(&mut self, thread: u32, ns: u64) {
        if let Some((_, line)) = self.now.iter_mut().rfind(|(of, _)| *of == thread) {
            line.took_ns = Some(ns);
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.now.drain(..).for_each(|(_, line)| line.write(self.style, &mut bytes));
        self.out.write_all(&bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.out.flush()
    }
}

/// The addresses of live blocks.
#[derive(Default)]
struct Addresses {
    assigned: u64,
    by_birth: HashMap<BlockIdentity, u64>,
}

impl Addresses {
    /// The line of an event; `None` for what a log has no line for.
    fn what(&mut self, at: At, event: &Event) -> Option<Operation> {
        if event.is_pool() {
            return None;
        }
        Some(match *event {
            Event::Alloc { call, size_bytes, align_log2, .. } => {
                let address = self.assign(at);
                allocation(call, size_bytes, 1 << align_log2.min(63), address)
            }
            // Which block it was is not in a trace. Of none at all heaphook's scripts would make a new one.
            Event::Failed {
                call: Call::Realloc | Call::Reallocarray, size_bytes: size_bytes @ 1.., ..
            } => Operation::Realloc { old: self.next_address(), size_bytes, new: 0 },
            Event::Failed { call, size_bytes, .. } => allocation(call, size_bytes, 1, 0),
            Event::Free { call: Call::Realloc | Call::Reallocarray, block } => {
                Operation::Realloc { old: self.release(at, &block), size_bytes: 0, new: 0 }
            }
            Event::Free { block, .. } => Operation::Free { address: self.release(at, &block) },
            Event::Realloc { old, size_bytes, .. } => {
                let old = self.release(at, &old);
                Operation::Realloc { old, size_bytes, new: self.assign(at) }
            }
            Event::UnknownFree { .. } => Operation::Free { address: self.next_address() },
            Event::UnknownRealloc { size_bytes, .. } => {
                let old = self.next_address();
                Operation::Realloc { old, size_bytes, new: self.assign(at) }
            }
            Event::Rate { .. }
            | Event::Took { .. }
            | Event::Lost { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => return None,
        })
    }

    fn next_address(&mut self) -> u64 {
        self.assigned += 1;
        FIRST_ADDRESS.wrapping_add(self.assigned.wrapping_mul(ADDRESS_STEP))
    }

    fn assign(&mut self, at: At) -> u64 {
        let address = self.next_address();
        self.by_birth.insert(BlockIdentity { thread: at.thread, ticks: at.ticks }, address);
        address
    }

    fn release(&mut self, at: At, block: &Block) -> u64 {
        let birth = BlockIdentity::of(block, at.thread, at.ticks);
        self.by_birth.remove(&birth).unwrap_or_else(|| self.next_address())
    }
}

/// `realloc(NULL, n)` has a line of its own kind.
fn allocation(call: Call, size_bytes: u64, align: u64, address: u64) -> Operation {
    match call {
        Call::Realloc | Call::Reallocarray => Operation::Realloc { old: 0, size_bytes, new: address },
        _ => Operation::Alloc { call, size_bytes, align, address },
    }
}
