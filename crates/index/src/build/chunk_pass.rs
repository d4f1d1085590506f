//! One chunk: each event is added to the sums of the leaf in which it lies.

use heapscribe_analyze::Cutter;
use heapscribe_analyze::events::{Scale, Weight};
use heapscribe_analyze::input::{ChunkFacts, EventsInOrder};
use heapscribe_analyze::moments::NoteKind;
use heapscribe_wire::ids::{NameId, RateId, StackId};
use heapscribe_wire::record::{BadEvent, Block, Event, Note};

use super::local_sums::LocalSums;
use super::notes::{ChunkNotes, LocalNote};
use crate::amount::Amount;
use crate::key::SizeClass;
use crate::slots::LocalKey;
use crate::ticks::LeafTicks;

/// A chunk on its way.
pub(super) struct ChunkPass<'a, F> {
    leaves: &'a LeafTicks,
    sums: &'a mut LocalSums,
    /// Takes the sums of a leaf when the chunk leaves it.
    leave: F,
    thread: u32,
    scale: Scale,
    ticks: u64,
    last_alloc: u64,
    leaf: u32,
    /// First ticks of that leaf, and first ticks after it.
    leaf_ticks: (u64, u64),
    /// Takes what is changed of the heap over time.
    cutter: Cutter<'a>,
    notes: &'a mut ChunkNotes,
}

impl<'a, F: FnMut(u32, &mut LocalSums)> ChunkPass<'a, F> {
    /// Before the first event.
    pub(super) fn new(
        facts: &ChunkFacts,
        leaves: &'a LeafTicks,
        (sums, notes): (&'a mut LocalSums, &'a mut ChunkNotes),
        cutter: Cutter<'a>,
        leave: F,
    ) -> Self {
        let leaf = leaves.leaf(facts.begin_ticks);
        ChunkPass {
            leaves,
            sums,
            leave,
            thread: facts.thread,
            scale: Scale::new(facts.thread),
            ticks: facts.begin_ticks,
            last_alloc: facts.last_alloc_ticks,
            leaf,
            leaf_ticks: leaves.range(leaf),
            cutter,
            notes,
        }
    }

    /// Takes all events, up to the first that is none.
    pub(super) fn run(
        mut self,
        events: impl EventsInOrder,
        mean_of: &dyn Fn(RateId) -> u64,
    ) -> Result<(), BadEvent> {
        let mut outcome = Ok(());
        for item in events {
            match item {
                Ok((dt, event)) => self.take(dt, &event, mean_of),
                Err(bad) => {
                    outcome = Err(bad);
                    break;
                }
            }
        }
        (self.leave)(self.leaf, self.sums);
        self.cutter.close();
        outcome
    }

    #[inline(always)]
    fn take(&mut self, dt: u64, event: &Event, mean_of: &dyn Fn(RateId) -> u64) {
        match *event {
            Event::Rate { rate } => {
                // Repeated while it is in force: there were blocks in between that were not sampled.
                self.last_alloc = if rate == self.scale.rate { 0 } else { self.last_alloc };
                self.scale.follow(event, mean_of);
                return;
            }
            Event::Took { .. } => return,
            _ => {}
        }
        self.ticks = self.ticks.wrapping_add(dt);
        if self.ticks >= self.leaf_ticks.1 {
            self.next_leaf();
        }
        if event.is_pool() {
            return; // inside a block of the heap, which is counted
        }
        self.cutter.at(self.ticks);
        match *event {
            Event::Alloc { size_bytes, stack, .. } => self.alloc(stack, size_bytes),
            Event::Free { ref block, .. } => self.free(block),
            Event::Realloc { ref old, size_bytes, stack, .. } => {
                self.free(old);
                self.alloc(stack, size_bytes);
            }
            Event::UnknownRealloc { size_bytes, stack, .. } => {
                // A block whose former life is not known was not chosen by chance.
                self.born(stack, size_bytes, Weight::one(size_bytes));
            }
            Event::Note { note, name } => self.note(note, name),
            Event::Lost { count, reason } => self.lost(reason, count),
            _ => {}
        }
    }

    #[cold]
    fn next_leaf(&mut self) {
        (self.leave)(self.leaf, self.sums);
        self.leaf = self.leaves.leaf(self.ticks);
        self.leaf_ticks = self.leaves.range(self.leaf);
    }

    #[cold]
    fn lost(&mut self, reason: u8, count: u64) {
        self.last_alloc = 0; // another may be among what is missing
        self.notes.lost.push((reason, count));
    }

    #[cold]
    fn note(&mut self, note: Note, name: NameId) {
        let note = NoteKind::of(note).map(|kind| LocalNote { name, ticks: self.ticks, kind });
        self.notes.notes.extend(note);
    }

    #[inline(always)]
    fn alloc(&mut self, stack: StackId, size_bytes: u64) {
        self.born(stack, size_bytes, self.scale.of_new(size_bytes, self.ticks));
    }

    #[inline(always)]
    fn born(&mut self, stack: StackId, size_bytes: u64, weight: Weight) {
        self.last_alloc = self.ticks;
        self.cutter.alloc(weight);
        let key = LocalKey { stack, thread: self.thread, size: SizeClass::of(size_bytes) };
        self.sums.born(key, Amount::new(weight.blocks, weight.bytes));
    }

    #[inline(always)]
    fn free(&mut self, block: &Block) {
        let weight = self.scale.of_old(block, self.ticks);
        self.cutter.free(weight);
        let born = self.ticks.wrapping_sub(block.age_ticks);
        let is_own = block.birth_thread.is_none();
        let is_temporary = is_own && self.last_alloc != 0 && born == self.last_alloc;
        let thread = block.birth_thread.map_or(self.thread, |thread| thread.0);
        let key = LocalKey { stack: block.stack, thread, size: SizeClass::of(block.size_bytes) };
        let amount = Amount::new(weight.blocks, weight.bytes);
        if born >= self.leaf_ticks.0 {
            self.sums.died_young(key, amount, is_temporary);
        } else {
            self.sums.died_old(key, amount, is_temporary, self.leaves.place(born));
        }
    }
}
