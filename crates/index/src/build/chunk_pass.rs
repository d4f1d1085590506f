//! One chunk: each event is added to the sums of the leaf in which it lies.

use heapscribe_analyze::Cutter;
use heapscribe_analyze::events::{Scale, Weight};
use heapscribe_analyze::input::{ChunkFacts, EventsInOrder};
use heapscribe_analyze::moments::NoteKind;
use heapscribe_wire::ids::{NameId, RateId, StackId};
use heapscribe_wire::record::{BadEvent, Block, Event, Note};

use super::local_sums::LocalSums;
use super::notes::{ChunkNotes, LocalNote};
use crate::ages::AgeTicks;
use crate::amount::Amount;
use crate::key::SizeClass;
use crate::slots::LocalKey;
use crate::ticks::LeafTicks;

/// A chunk on its way.
pub(super) struct ChunkPass<'a, F> {
    leaves: &'a LeafTicks,
    ages: &'a AgeTicks,
    sums: &'a mut LocalSums,
    /// Takes the sums of a leaf when the chunk leaves it.
    leave: F,
    thread: u32,
    scale: Scale,
    ticks: u64,
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
        (leaves, ages): (&'a LeafTicks, &'a AgeTicks),
        (sums, notes): (&'a mut LocalSums, &'a mut ChunkNotes),
        cutter: Cutter<'a>,
        leave: F,
    ) -> Self {
        let leaf = leaves.leaf(facts.begin_ticks);
        ChunkPass {
            leaves,
            ages,
            sums,
            leave,
            thread: facts.thread,
            scale: Scale::new(facts.thread),
            ticks: facts.begin_ticks,
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
        let outcome = match self.all::<false, _>(events, mean_of) {
            Ok(Some(rest)) => self.all_rated(rest, mean_of),
            outcome => outcome.map(drop),
        };
        (self.leave)(self.leaf, self.sums);
        self.cutter.close();
        outcome
    }

    /// Takes events up to the first that is none or, without `RATES`, with the first rate: what follows is returned.
    #[inline(always)]
    fn all<const RATES: bool, E: EventsInOrder>(
        &mut self,
        mut events: E,
        mean_of: &dyn Fn(RateId) -> u64,
    ) -> Result<Option<E>, BadEvent> {
        while let Some(item) = events.next() {
            match item? {
                (_, event @ Event::Rate { .. }) => {
                    self.scale.follow(&event, mean_of);
                    if !RATES {
                        return Ok(Some(events));
                    }
                }
                (_, Event::Took { .. }) => {}
                (dt, event) => self.take::<RATES>(dt, event),
            }
        }
        Ok(None)
    }

    /// A chunk with rates is rare, and its loop must not lie in the way of the others'.
    #[cold]
    #[inline(never)]
    fn all_rated(
        &mut self,
        events: impl EventsInOrder,
        mean_of: &dyn Fn(RateId) -> u64,
    ) -> Result<(), BadEvent> {
        self.all::<true, _>(events, mean_of).map(drop)
    }

    /// What blocks stand for is known without `RATES`, so that no weight is put together in memory: read back wider than
    /// it was written there, it held up the processor at every free.
    #[inline(always)]
    fn take<const RATES: bool>(&mut self, dt: u64, event: Event) {
        self.ticks = self.ticks.wrapping_add(dt);
        if self.ticks >= self.leaf_ticks.1 {
            self.next_leaf();
        }
        // A pool's are inside blocks of the heap, which are counted. Asked of an event before it is known which it is, it
        // would have to be put together in memory.
        match event {
            Event::Alloc { call, size_bytes, stack, .. } if !call.is_pool() => {
                self.cutter.at(self.ticks);
                self.alloc::<RATES>(stack, size_bytes);
            }
            Event::Free { call, block } if !call.is_pool() => {
                self.cutter.at(self.ticks);
                self.free::<RATES>(block);
            }
            Event::Realloc { call, old, size_bytes, stack } if !call.is_pool() => {
                self.cutter.at(self.ticks);
                self.free::<RATES>(old);
                self.alloc::<RATES>(stack, size_bytes);
            }
            other => self.take_other(other),
        }
    }

    /// What is seldom.
    #[cold]
    fn take_other(&mut self, event: Event) {
        if event.is_pool() {
            return;
        }
        self.cutter.at(self.ticks);
        match event {
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
        self.notes.lost.push((reason, count));
    }

    #[cold]
    fn note(&mut self, note: Note, name: NameId) {
        let note = NoteKind::of(note).map(|kind| LocalNote { name, ticks: self.ticks, kind });
        self.notes.notes.extend(note);
    }

    #[inline(always)]
    fn alloc<const RATES: bool>(&mut self, stack: StackId, size_bytes: u64) {
        let weight = if RATES { self.scale.of_new(size_bytes, self.ticks) } else { Weight::one(size_bytes) };
        self.born(stack, size_bytes, weight);
    }

    #[inline(always)]
    fn born(&mut self, stack: StackId, size_bytes: u64, weight: Weight) {
        self.cutter.alloc(weight);
        let key = LocalKey { stack, thread: self.thread, size: SizeClass::of(size_bytes) };
        self.sums.born(key, Amount::new(weight.blocks, weight.bytes));
    }

    #[inline(always)]
    fn free<const RATES: bool>(&mut self, block: Block) {
        let weight =
            if RATES { self.scale.of_old(&block, self.ticks) } else { Weight::one(block.size_bytes) };
        self.cutter.free(weight);
        let born = self.ticks.wrapping_sub(block.age_ticks);
        let thread = block.birth_thread.map_or(self.thread, |thread| thread.0);
        let key = LocalKey { stack: block.stack, thread, size: SizeClass::of(block.size_bytes) };
        let amount = Amount::new(weight.blocks, weight.bytes);
        let age = self.ages.class(block.age_ticks);
        if born >= self.leaf_ticks.0 {
            self.sums.died_young(key, amount, age);
        } else {
            self.sums.died_old(key, amount, age, self.leaves.place(born));
        }
    }
}
