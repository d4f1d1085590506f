//! Large blocks of a stack: which of them lived for long, and which were freed only at the end. They have rows of their
//! own, as few stacks have any, and the rows of all stacks have to lie close together.
//!
//! A block lived for long when it was freed at such an age, or never and was allocated so long before the end. No chunk
//! knows what is never freed, but all of them together do: of the blocks that were allocated early enough, those that were
//! freed young are taken away.

use super::patterns::Life;
use crate::answer::Amount;

/// What the large blocks of one stack add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LargeSums {
    /// Allocated early enough to live for long.
    born_early: Amount,
    /// Of these, freed before they had.
    freed_young: Amount,
    /// Freed after they had lived for long.
    pub(crate) freed_old: Amount,
    /// Of these, freed at the end of their process's life, and not by a realloc.
    pub(crate) freed_late: Amount,
}

impl LargeSums {
    /// A block is allocated.
    pub(crate) fn alloc(&mut self, life: &Life, ticks: u64, amount: &Amount) {
        if life.is_early(ticks) {
            self.born_early.add(amount);
        }
    }

    /// A block of this age is freed, or replaced by a realloc.
    pub(crate) fn free(
        &mut self,
        life: &Life,
        age_ticks: u64,
        ticks: u64,
        amount: &Amount,
        is_realloc: bool,
    ) {
        if life.is_long(age_ticks) {
            self.freed_old.add(amount);
            if life.is_at_end(ticks) && !is_realloc {
                self.freed_late.add(amount);
            }
        } else if life.is_early(ticks.saturating_sub(age_ticks)) {
            self.freed_young.add(amount);
        }
    }

    /// Who lived for long, freed or not. Where allocations are missing these may be too few.
    pub(crate) fn long_lived(&self) -> Amount {
        Amount {
            blocks: self.born_early.blocks.saturating_sub(self.freed_young.blocks).max(self.freed_old.blocks),
            bytes: self.born_early.bytes.saturating_sub(self.freed_young.bytes).max(self.freed_old.bytes),
        }
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: &LargeSums) {
        self.born_early.add(&other.born_early);
        self.freed_young.add(&other.freed_young);
        self.freed_old.add(&other.freed_old);
        self.freed_late.add(&other.freed_late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a life from 1,000 to 2,000 by their births and deaths: who lived for 500 or longer.
    #[test]
    fn blocks_that_were_never_freed_lived_until_the_end() {
        let life = Life::new(1_000, 2_000);
        let one = Amount { blocks: 1, bytes: 10 };
        let lives = [
            (1_000, None, true),
            (1_500, None, true),
            (1_501, None, false),
            (1_000, Some(1_499), false),
            (1_000, Some(1_500), true),
            (1_400, Some(1_960), true),
            (1_600, Some(1_990), false),
        ];
        let mut all = LargeSums::default();
        for (birth, death, is_long) in lives {
            let mut sums = LargeSums::default();
            sums.alloc(&life, birth, &one);
            if let Some(death) = death {
                sums.free(&life, death - birth, death, &one, false);
            }
            let expected = if is_long { one } else { Amount::default() };
            assert_eq!(sums.long_lived(), expected, "{birth} {death:?}");
            assert_eq!(sums.freed_old, if death.is_some() { expected } else { Amount::default() });
            all.merge(&sums);
        }
        assert_eq!(all.long_lived(), Amount { blocks: 4, bytes: 40 });
        assert_eq!((all.freed_old.blocks, all.freed_late.blocks), (2, 1));
    }

    /// A ring has the frees of blocks whose allocations it has lost.
    #[test]
    fn missing_allocations_make_no_figure_wrap() {
        let life = Life::new(1_000, 2_000);
        let mut sums = LargeSums::default();
        sums.free(&life, 10, 1_100, &Amount { blocks: 1, bytes: 10 }, false);
        assert_eq!(sums.long_lived(), Amount::default());
    }
}
