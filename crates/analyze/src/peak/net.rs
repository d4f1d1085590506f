//! What stacks hold more or less after some events than before them.

use std::collections::BTreeMap;

use heapscribe_formats::Evicted;
use heapscribe_wire::ids::StackId;

use crate::counters::StackRow;
use crate::events::{BlockChange, Changes};
use crate::sampling::{Moments, SampledLives, Samples};
use crate::stacks::StackTable;
use crate::sums::ProcessSums;

/// Blocks and bytes, or how many more or fewer; below zero when allocations are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Held {
    pub(crate) blocks: i64,
    pub(crate) bytes: i64,
}

impl Held {
    pub(crate) fn add(&mut self, other: &Held) {
        self.blocks = self.blocks.wrapping_add(other.blocks);
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }

    pub(super) fn remove(&mut self, other: &Held) {
        self.blocks = self.blocks.wrapping_sub(other.blocks);
        self.bytes = self.bytes.wrapping_sub(other.bytes);
    }

    /// Adds what an event changes.
    pub(super) fn change(&mut self, changes: &Changes) {
        let held = |change: &BlockChange| Held {
            blocks: change.weight.blocks as i64,
            bytes: change.weight.bytes as i64,
        };
        changes.freed.iter().for_each(|freed| self.remove(&held(freed)));
        changes.allocated.iter().for_each(|allocated| self.add(&held(allocated)));
    }

    /// What the events that a ring evicted left live.
    pub(crate) fn left_by(evicted: &Evicted) -> Held {
        Held {
            blocks: evicted.allocated_blocks.wrapping_sub(evicted.freed_blocks) as i64,
            bytes: evicted.live_bytes(),
        }
    }

    /// What a stack holds at the end.
    pub(crate) fn at_end(row: &StackRow) -> Held {
        Held {
            blocks: row.allocations.wrapping_sub(row.frees) as i64,
            bytes: row.allocated_bytes.wrapping_sub(row.freed_bytes) as i64,
        }
    }
}

/// Sums of changes, by stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Net {
    pub(crate) held: StackTable<Held>,
    pub(crate) sampled: Samples<Moments>,
}

impl Net {
    /// Adds what an event changes.
    #[inline(always)]
    pub(super) fn change(&mut self, changes: &Changes) {
        if let Some(freed) = &changes.freed {
            self.free(freed);
        }
        if let Some(allocated) = &changes.allocated {
            self.alloc(allocated);
        }
    }

    #[inline(always)]
    fn alloc(&mut self, change: &BlockChange) {
        let (blocks, bytes) = (change.weight.blocks as i64, change.weight.bytes as i64);
        self.held.row(change.stack).add(&Held { blocks, bytes });
        if change.sampled {
            self.alloc_sampled(change);
        }
    }

    #[inline(always)]
    fn free(&mut self, change: &BlockChange) {
        let (blocks, bytes) = (change.weight.blocks as i64, change.weight.bytes as i64);
        self.held.row(change.stack).remove(&Held { blocks, bytes });
        if change.sampled {
            self.free_sampled(change);
        }
    }

    #[cold]
    fn alloc_sampled(&mut self, change: &BlockChange) {
        self.sampled.note(change.stack, change.size_bytes, change.weight, Moments::add);
    }

    #[cold]
    fn free_sampled(&mut self, change: &BlockChange) {
        self.sampled.note(change.stack, change.size_bytes, change.weight, Moments::remove);
    }

    /// Adds another.
    pub(super) fn merge(mut self, other: Net) -> Net {
        self.held.merge(other.held, Held::add);
        self.sampled.merge(other.sampled, Moments::add);
        self
    }

    /// Takes another out, whose events are among these.
    pub(super) fn remove(&mut self, other: &Net) {
        for (stack, held) in other.held.rows() {
            self.held.row(*stack).remove(held);
        }
        for (stack, moments) in other.sampled.stacks.rows() {
            self.sampled.stacks.row(*stack).remove(moments);
        }
        for (class, moments) in &other.sampled.classes {
            self.sampled.classes.entry(*class).or_default().remove(moments);
        }
    }

    /// Adds those of a group of chunks.
    pub(super) fn add(&mut self, rows: &NetRows) {
        for (stack, held) in &rows.held {
            self.held.row(*stack).add(held);
        }
        for (stack, moments) in &rows.sampled {
            self.sampled.stacks.row(*stack).add(moments);
        }
        for (class, moments) in &rows.classes {
            self.sampled.classes.entry(*class).or_default().add(moments);
        }
    }
}

/// The same to be stored: only the stacks that hold more or less than before.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetRows {
    held: Vec<(StackId, Held)>,
    sampled: Vec<(StackId, Moments)>,
    classes: BTreeMap<u32, Moments>,
}

impl NetRows {
    /// Of the chunks that were summed.
    pub(super) fn of(sums: &ProcessSums) -> NetRows {
        let held = sums.stacks.rows().iter().map(|(stack, row)| (*stack, Held::at_end(row)));
        let sampled = sums.sampled.stacks.rows().iter().map(|(stack, lives)| (*stack, lives.at_end()));
        let of_class = |(class, lives): (&u32, &SampledLives)| (*class, lives.at_end());
        NetRows {
            held: held.filter(|(_, held)| *held != Held::default()).collect(),
            sampled: sampled.filter(|(_, moments)| *moments != Moments::default()).collect(),
            classes: sums.sampled.classes.iter().map(of_class).collect(),
        }
    }
}
