//! The sampled blocks of stacks and of classes of sizes: what became of them.

use std::collections::{BTreeMap, HashMap};

use heapscribe_wire::ids::StackId;

use super::estimates::PartOf;
use super::weight::{Moments, Weight};
use crate::stacks::StackTable;

/// The sampled blocks of a stack or of a class of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SampledLives {
    pub(crate) allocated: Moments,
    pub(crate) freed: Moments,
    pub(crate) temporary: Moments,
    /// Live at the end beyond what was allocated and freed: others, whose allocation is not among the events.
    pub(crate) others_live: Moments,
}

impl SampledLives {
    /// Adds others.
    pub(crate) fn merge(&mut self, other: &SampledLives) {
        self.allocated.add(&other.allocated);
        self.freed.add(&other.freed);
        self.temporary.add(&other.temporary);
        self.others_live.add(&other.others_live);
    }

    /// All of them, of which the others are parts.
    pub(crate) fn all(&self) -> Moments {
        let mut all = self.allocated;
        all.add(&self.others_live);
        all
    }

    /// Those of a part.
    pub(crate) fn part(&self, part: Moments) -> PartOf {
        PartOf { part, whole: self.all() }
    }

    /// Those that were never freed.
    pub(crate) fn at_end(&self) -> Moments {
        let mut live = self.allocated;
        live.remove(&self.freed);
        live.add(&self.others_live);
        live
    }

    /// Has those live at the end that a table says.
    fn live(&mut self, at_end: &Moments) {
        self.others_live = *at_end;
        self.others_live.remove(&self.allocated);
        self.others_live.add(&self.freed);
    }
}

/// Sums over sampled blocks, by stack and by size: blocks of one class stand for about as many each, so
/// that the range of a total is put together from those of its classes.
#[derive(Clone, Debug)]
pub(crate) struct Samples<T> {
    pub(crate) stacks: StackTable<T>,
    /// By the number of bits of the size.
    pub(crate) classes: BTreeMap<u32, T>,
}

impl<T> Default for Samples<T> {
    fn default() -> Self {
        Samples { stacks: StackTable::default(), classes: BTreeMap::new() }
    }
}

impl<T: Default> Samples<T> {
    /// Notes a block.
    pub(crate) fn note(
        &mut self,
        stack: StackId,
        size_bytes: u64,
        weight: Weight,
        note: fn(&mut T, &Moments),
    ) {
        let moments = Moments::of(size_bytes, weight);
        note(self.stacks.row(stack), &moments);
        note(self.classes.entry(64 - size_bytes.leading_zeros()).or_default(), &moments);
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: Samples<T>, add: fn(&mut T, &T)) {
        self.stacks.merge(other.stacks, add);
        for (class, theirs) in &other.classes {
            add(self.classes.entry(*class).or_default(), theirs);
        }
    }
}

impl Samples<SampledLives> {
    /// Has those live at the end that a table says.
    pub(crate) fn live_at_end(&mut self, table: &Samples<Moments>) {
        for (stack, _) in table.stacks.rows() {
            self.stacks.row(*stack);
        }
        let of_table: HashMap<StackId, Moments> = table.stacks.rows().iter().copied().collect();
        for (stack, lives) in self.stacks.rows_mut() {
            lives.live(&of_table.get(stack).copied().unwrap_or_default());
        }
        for class in table.classes.keys() {
            self.classes.entry(*class).or_default();
        }
        for (class, lives) in &mut self.classes {
            lives.live(&table.classes.get(class).copied().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::limits::BIRTH_BITS;

    use super::*;
    use crate::sampling::weight::Birth;

    #[test]
    fn what_was_allocated_and_freed_is_nothing() {
        let one = |birth| Moments::of(24, Weight::of(24, 512 << 10, Birth { thread: 1, ticks: birth }));
        let mut of_stack = SampledLives { allocated: one(5), ..SampledLives::default() };
        of_stack.allocated.add(&one(6));
        of_stack.freed.add(&one(5 + (1 << BIRTH_BITS)));
        assert_eq!(of_stack.at_end(), one(6));
        of_stack.freed.add(&one(6));
        assert_eq!(of_stack.at_end(), Moments::default());
    }
}
