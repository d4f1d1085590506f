//! Patterns in the calls of a stack that cost more than their bytes: growth in the second half of a life, reallocs
//! by small steps, what a heap takes besides. [`crate::findings`] reads them.

use crate::answer::{Amount, GROWTH_STEPS};
use crate::findings::limits::{LATE_FREE_AGE_PERCENT, LATE_FREE_END_PERCENT, SMALL_STEP_PERCENT};

/// What glibc's sizes are multiples of.
const CHUNK_MULTIPLE: u64 = 16;

/// The life of a process in steps: the first half as one, the second half in equal ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Life {
    /// The middle of it, ticks.
    pub(crate) half_ticks: u64,
    /// A step of the second half, ticks.
    pub(crate) step_ticks: u64,
    /// A block that was freed from then on was freed at the end, ticks.
    late_ticks: u64,
    /// A block of this age was held for long, ticks.
    long_ticks: u64,
    /// A block that was allocated up to then and never freed was held for long, ticks.
    early_ticks: u64,
}

impl Life {
    /// From a first to a last moment, ticks.
    pub(crate) fn new(begin_ticks: u64, end_ticks: u64) -> Life {
        let length = end_ticks.saturating_sub(begin_ticks);
        let part = |percent: u64| (u128::from(length) * u128::from(percent) / 100) as u64;
        let half_ticks = begin_ticks.saturating_add(length / 2);
        let step_ticks = end_ticks.saturating_sub(half_ticks).div_ceil(GROWTH_STEPS as u64).max(1);
        let long_ticks = part(LATE_FREE_AGE_PERCENT).max(1);
        Life {
            half_ticks,
            step_ticks,
            late_ticks: end_ticks.saturating_sub(part(LATE_FREE_END_PERCENT)),
            long_ticks,
            early_ticks: end_ticks.saturating_sub(long_ticks),
        }
    }

    /// The step of a moment, 0 for the first half, and the first ticks after it.
    fn step(&self, ticks: u64) -> (usize, u64) {
        let Some(after) = ticks.checked_sub(self.half_ticks) else { return (0, self.half_ticks) };
        let step = (after / self.step_ticks).min(GROWTH_STEPS as u64 - 1);
        let next = self.half_ticks.saturating_add((step + 1).saturating_mul(self.step_ticks));
        (step as usize + 1, if step + 1 < GROWTH_STEPS as u64 { next } else { u64::MAX })
    }

    /// Whether a block of this age was held for long.
    pub(super) fn is_long(&self, age_ticks: u64) -> bool {
        age_ticks >= self.long_ticks
    }

    /// Whether a block that is allocated now and never freed is held for long.
    pub(super) fn is_early(&self, ticks: u64) -> bool {
        ticks <= self.early_ticks
    }

    /// Whether what is freed now is freed at the end.
    pub(super) fn is_at_end(&self, ticks: u64) -> bool {
        ticks >= self.late_ticks
    }
}

/// The step that the events of a chunk are in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LifeStep {
    pub(crate) number: usize,
    next_ticks: u64,
}

impl LifeStep {
    /// An event is next, at this time.
    #[inline(always)]
    pub(crate) fn at(&mut self, life: &Life, ticks: u64) {
        if ticks >= self.next_ticks {
            (self.number, self.next_ticks) = life.step(ticks);
        }
    }
}

/// What the calls of one stack add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct PatternSums {
    /// What glibc's heap would take for all blocks allocated.
    pub(crate) heap_bytes: u64,
    /// What is live more after each step of the life than before it, bytes; the first is the first half.
    pub(crate) net_bytes: [i64; GROWTH_STEPS + 1],
    /// Blocks aligned to more than twice their size, and how much more.
    pub(crate) over_aligned: Amount,
    /// Reallocs that made a block a little larger, and the bytes of these blocks before.
    pub(crate) small_steps: Amount,
}

impl PatternSums {
    /// Adds others.
    pub(crate) fn merge(&mut self, other: &PatternSums) {
        for (mine, theirs) in self.net_bytes.iter_mut().zip(&other.net_bytes) {
            *mine = mine.wrapping_add(*theirs);
        }
        self.heap_bytes = self.heap_bytes.wrapping_add(other.heap_bytes);
        self.over_aligned.add(&other.over_aligned);
        self.small_steps.add(&other.small_steps);
    }
}

/// By how much the alignment of a block exceeds its size, when it is more than twice that.
pub(crate) fn over_alignment(size_bytes: u64, align_log2: u8) -> Option<u64> {
    let align = 1u64 << align_log2.min(63);
    let is_over = align > CHUNK_MULTIPLE && align / 2 >= size_bytes;
    is_over.then(|| align - size_bytes)
}

/// Whether a realloc made a block only a little larger.
pub(crate) fn is_small_step(old_bytes: u64, new_bytes: u64) -> bool {
    let more = new_bytes.saturating_sub(old_bytes);
    more > 0 && u128::from(more) * 100 < u128::from(old_bytes) * u128::from(SMALL_STEP_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_has_a_first_half_and_equal_steps_after_it() {
        let life = Life::new(1_000, 2_600);
        let mut step = LifeStep::default();
        for (ticks, number) in
            [(900, 0), (1_799, 0), (1_800, 1), (1_899, 1), (1_900, 2), (2_500, 8), (9_999, 8)]
        {
            step.at(&life, ticks);
            assert_eq!(step.number, number, "{ticks}");
        }
        assert!(life.is_at_end(2_520) && !life.is_at_end(2_519) && life.is_long(800) && !life.is_long(799));
    }

    #[test]
    fn alignment_and_steps_are_judged_by_the_size() {
        assert_eq!(over_alignment(64, 12), Some(4_032));
        assert_eq!(
            (over_alignment(4_096, 12), over_alignment(4, 4), over_alignment(100, 7)),
            (None, None, None)
        );
        for (old, new, is_small) in [(100, 109, true), (100, 110, false), (100, 100, false), (100, 90, false)]
        {
            assert_eq!(is_small_step(old, new), is_small, "{old} {new}");
        }
    }
}
