//! Slots that a thread has for its next blocks, so that it asks for the lock once in many. Those that it has freed last
//! are used first: they are in its cache.
//!
//! A handler may jump away at any store. What was taken and not used is lost then, 16 bytes; none is ever here and in use.

use core::cell::Cell;
use core::sync::atomic::{Ordering, compiler_fence};

/// So many, at most.
pub(super) const KEPT: usize = 256;

/// The numbers of free slots of a thread.
#[derive(Debug)]
pub(crate) struct FreeSlots {
    len: Cell<usize>,
    numbers: [Cell<u32>; KEPT],
}

impl Default for FreeSlots {
    fn default() -> Self {
        FreeSlots { len: Cell::new(0), numbers: [const { Cell::new(0) }; KEPT] }
    }
}

impl FreeSlots {
    /// Takes the one that was put in last.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<u32> {
        let last = self.len.get().checked_sub(1)?;
        let number = self.numbers.get(last)?.get();
        self.len.set(last);
        compiler_fence(Ordering::SeqCst);
        Some(number)
    }

    /// Puts one in that no entry leads to; false when there is no room.
    #[inline(always)]
    pub(super) fn put(&self, number: u32) -> bool {
        let len = self.len.get();
        let Some(place) = self.numbers.get(len) else { return false };
        compiler_fence(Ordering::SeqCst);
        place.set(number);
        compiler_fence(Ordering::SeqCst);
        self.len.set(len + 1);
        true
    }

    /// Has so many at the end, which were put in in the order in which they are to be used, in that order.
    pub(super) fn turn_last(&self, n: usize) {
        let from = self.len.get().saturating_sub(n);
        let Some(last) = self.numbers.get(from..self.len.get()) else { return };
        let (front, back) = last.split_at(last.len() / 2);
        front.iter().zip(back.iter().rev()).for_each(|(a, b)| a.swap(b));
    }

    /// Takes out the `n` that were put in first.
    pub(super) fn take_first(&self, n: usize, mut each: impl FnMut(u32)) {
        let len = self.len.get();
        let n = n.min(len);
        self.numbers[..n].iter().for_each(|number| each(number.get()));
        for at in n..len {
            self.numbers[at - n].set(self.numbers[at].get());
        }
        self.len.set(len - n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(free: &FreeSlots) -> Vec<u32> {
        core::iter::from_fn(|| free.take()).collect()
    }

    #[test]
    fn the_last_that_came_in_is_the_first_to_go() {
        let free = FreeSlots::default();
        assert_eq!(free.take(), None);
        (1..=KEPT as u32).for_each(|number| assert!(free.put(number)));
        assert!(!free.put(999));
        let mut first = Vec::new();
        free.take_first(KEPT - 3, |number| first.push(number));
        assert_eq!(first, (1..=KEPT as u32 - 3).collect::<Vec<_>>());
        assert_eq!(all(&free), [KEPT as u32, KEPT as u32 - 1, KEPT as u32 - 2]);
    }

    #[test]
    fn new_ones_are_used_in_their_order() {
        let free = FreeSlots::default();
        for (n, expected) in
            [(4, [4, 5, 6, 7, 3, 2, 1]), (3, [5, 6, 7, 4, 3, 2, 1]), (7, [1, 2, 3, 4, 5, 6, 7])]
        {
            (1..=7).for_each(|number| assert!(free.put(number)));
            free.turn_last(n);
            assert_eq!(all(&free), expected);
        }
    }
}
