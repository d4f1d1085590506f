//! Which addresses are mapped, and by whom.

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;

/// What a range is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct State {
    /// Who mapped it.
    pub(super) stack: StackId,
    /// Whether it has any right.
    pub(super) is_accessible: bool,
    /// Whether it is at the program's break.
    pub(super) is_break: bool,
}

/// Ranges that do not overlap.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    by_start: BTreeMap<u64, (u64, State)>,
}

impl Ranges {
    /// What is at an address.
    pub(super) fn at(&self, address: u64) -> Option<State> {
        let (_, (end, state)) = self.by_start.range(..=address).next_back()?;
        (address < *end).then_some(*state)
    }

    /// Splits the range around an address there.
    fn split(&mut self, at: u64) {
        let Some((_, (end, state))) = self.by_start.range_mut(..at).next_back() else { return };
        if at < *end {
            let rest = (*end, *state);
            *end = at;
            self.by_start.insert(at, rest);
        }
    }

    /// Removes what is mapped of a range, piece by piece.
    pub(super) fn remove(&mut self, (start, end): (u64, u64), mut removed: impl FnMut(u64, State)) {
        self.split(start);
        self.split(end);
        while let Some((at, _)) = self.by_start.range(start..end).next() {
            let at = *at;
            if let Some((end, state)) = self.by_start.remove(&at) {
                removed(end - at, state);
            }
        }
    }

    /// Maps a range in which nothing is mapped.
    pub(super) fn insert(&mut self, (start, end): (u64, u64), state: State) {
        if start < end {
            self.by_start.insert(start, (end, state));
        }
    }

    /// Changes the rights of what is mapped of a range, piece by piece.
    pub(super) fn protect(
        &mut self,
        (start, end): (u64, u64),
        is_accessible: bool,
        mut changed: impl FnMut(u64, State),
    ) {
        self.split(start);
        self.split(end);
        for (at, (end, state)) in self.by_start.range_mut(start..end) {
            if state.is_accessible != is_accessible {
                changed(*end - *at, *state);
                state.is_accessible = is_accessible;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state(stack: u32, is_accessible: bool) -> State {
        State { stack: StackId(stack), is_accessible, is_break: false }
    }

    proptest! {
        /// The twin has a state for each address.
        #[test]
        fn ranges_are_what_a_table_of_addresses_is(
            steps in prop::collection::vec((0u8..3, 0u64..64, 0u64..64, 1u32..5, any::<bool>()), 0..60)
        ) {
            let (mut ranges, mut twin) = (Ranges::default(), [None; 64]);
            for (kind, a, b, stack, is_accessible) in steps {
                let (start, end) = (a.min(b), a.max(b));
                let (mut bytes, mut expected) = (0, 0);
                let of_twin = &mut twin[start as usize..end as usize];
                match kind {
                    2 => {
                        ranges.protect((start, end), is_accessible, |n, _| bytes += n);
                        for of in of_twin.iter_mut().flatten() {
                            let of: &mut State = of;
                            expected += u64::from(of.is_accessible != is_accessible);
                            of.is_accessible = is_accessible;
                        }
                    }
                    _ => {
                        expected = of_twin.iter().flatten().count() as u64;
                        ranges.remove((start, end), |n, _| bytes += n);
                        of_twin.fill((kind == 0).then_some(state(stack, is_accessible)));
                        if kind == 0 {
                            ranges.insert((start, end), state(stack, is_accessible));
                        }
                    }
                }
                prop_assert_eq!(bytes, expected);
                for (address, expected) in twin.iter().enumerate() {
                    prop_assert_eq!(ranges.at(address as u64), *expected, "at {}", address);
                }
            }
        }
    }
}
