//! Who held what at a moment: the sum of all that came and went up to it, in any order. What came and
//! went *after* it, taken from what was held at the end, gives the same, so the shorter side is decoded.

use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;
use rayon::prelude::*;

use crate::input::{ChunkFacts, Clock, EventsInOrder, History};
use crate::sums::Row;
use crate::table::Table;

/// Blocks and bytes, or how many more or fewer; below zero when allocations are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Held {
    pub(crate) blocks: i64,
    pub(crate) bytes: i64,
}

impl Held {
    pub(crate) fn add(&mut self, other: &Held) {
        self.blocks += other.blocks;
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }

    /// What a stack holds at the end.
    pub(crate) fn at_end(row: &Row) -> Held {
        Held {
            blocks: row.allocations.wrapping_sub(row.frees) as i64,
            bytes: row.allocated_bytes.wrapping_sub(row.freed_bytes) as i64,
        }
    }
}

/// Who held what of one process just after all events at `ns`, by stack.
pub(crate) fn held_at<H: History>(
    history: &H,
    chunks: &[(usize, ChunkFacts)],
    clock: &Clock,
    ns: u64,
    end: &Table<Row>,
) -> Vec<(StackId, Held)> {
    let after = clock.first_tick_at(ns.saturating_add(1));
    let touches_before = |c: &ChunkFacts| c.begin_ticks < after;
    let touches_after = |c: &ChunkFacts| c.last_ticks >= after;
    let cost = |touches: &dyn Fn(&ChunkFacts) -> bool| -> u64 {
        chunks.iter().filter(|(_, c)| touches(c)).map(|(_, c)| c.events).sum()
    };
    if cost(&touches_after) < cost(&touches_before) {
        let mut held = net(history, chunks, |c| touches_after(c), |ticks| ticks >= after);
        let rows = end.rows().iter().map(|(stack, row)| (*stack, Held::at_end(row)));
        let rows: Vec<_> = rows.collect();
        rows.into_iter()
            .map(|(stack, at_end)| {
                let change = *held.row(stack);
                let bytes = at_end.bytes.wrapping_sub(change.bytes);
                (stack, Held { blocks: at_end.blocks - change.blocks, bytes })
            })
            .collect()
    } else {
        net(history, chunks, |c| touches_before(c), |ticks| ticks < after).into_sorted()
    }
}

/// Sums what came less what went, by stack, over the events whose time is asked for.
fn net<H: History>(
    history: &H,
    chunks: &[(usize, ChunkFacts)],
    wants_chunk: impl Fn(&ChunkFacts) -> bool + Sync,
    wants: impl Fn(u64) -> bool + Sync,
) -> Table<Held> {
    chunks
        .par_iter()
        .with_min_len(16)
        .filter(|(_, chunk)| wants_chunk(chunk))
        .fold(<(H::Scratch, Table<Held>)>::default, |(mut scratch, mut held), (number, chunk)| {
            if let Ok(events) = history.events(*number, &mut scratch) {
                add_chunk(&mut held, chunk, events, &wants);
            }
            (scratch, held)
        })
        .map(|(_, held)| held)
        .reduce(Table::default, |mut a, b| {
            a.merge(b, Held::add);
            a
        })
}

fn add_chunk(
    held: &mut Table<Held>,
    chunk: &ChunkFacts,
    events: impl EventsInOrder,
    wants: &impl Fn(u64) -> bool,
) {
    let mut ticks = chunk.begin_ticks;
    for item in events {
        // What is no event ends the chunk, and the first pass has said so.
        let Ok((dt, event)) = item else { return };
        ticks = ticks.wrapping_add(dt);
        if wants(ticks) {
            let mut change = |stack, blocks, bytes| held.row(stack).add(&Held { blocks, bytes });
            match event {
                Event::Alloc { size_bytes, stack, .. } | Event::UnknownRealloc { size_bytes, stack, .. } => {
                    change(stack, 1, size_bytes as i64);
                }
                Event::Free { block, .. } => {
                    change(block.stack, -1, (block.size_bytes as i64).wrapping_neg());
                }
                Event::Realloc { old, size_bytes, stack, .. } => {
                    change(old.stack, -1, (old.size_bytes as i64).wrapping_neg());
                    change(stack, 1, size_bytes as i64);
                }
                Event::Failed { .. }
                | Event::UnknownFree { .. }
                | Event::Rate { .. }
                | Event::Lost { .. } => {}
            }
        }
    }
}
