//! Calls of one thread as two observers saw them, paired in order.
//!
//! Both see the same calls but for a few: the recorder drops those of handlers that interrupt it, and has
//! none before its session is made. So a call that does not fit is looked for a little further on.

/// A call, as far as both observers know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Call {
    /// The function, by its number in traces; all kinds of realloc are one.
    pub(super) function: u8,
    pub(super) size: u64,
    /// The stack, by the observer's own number.
    pub(super) stack: u32,
}

impl Call {
    fn fits(self, other: Call) -> bool {
        (self.function, self.size) == (other.function, other.size)
    }
}

/// How far a call that does not fit is looked for.
const REACH: usize = 64;
/// How many calls in a row must fit where it is found.
const RUN: usize = 3;

/// What came of pairing.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Pairs {
    /// Their stacks, ours first.
    pub(super) stacks: Vec<(u32, u32)>,
    /// Calls that only one side has.
    pub(super) only_ours: u64,
    pub(super) only_theirs: u64,
}

/// Pairs two rows of calls.
pub(super) fn pair(ours: &[Call], theirs: &[Call], into: &mut Pairs) {
    let (mut i, mut j) = (0, 0);
    while i < ours.len() && j < theirs.len() {
        if ours[i].fits(theirs[j]) {
            into.stacks.push((ours[i].stack, theirs[j].stack));
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (skipped, missed) = nearest(&ours[i..], &theirs[j..]).unwrap_or((1, 1));
        into.only_ours += skipped as u64;
        into.only_theirs += missed as u64;
        (i, j) = (i + skipped, j + missed);
    }
    into.only_ours += (ours.len() - i.min(ours.len())) as u64;
    into.only_theirs += (theirs.len() - j.min(theirs.len())) as u64;
}

/// How many calls of each to leave out, as few as possible, so that the next ones fit.
fn nearest(ours: &[Call], theirs: &[Call]) -> Option<(usize, usize)> {
    let fit = |i: usize, j: usize| {
        let run = ours[i..].iter().zip(&theirs[j..]).take(RUN);
        i < ours.len() && j < theirs.len() && run.clone().all(|(a, b)| a.fits(*b))
    };
    let limit = |n: usize| n.min(REACH);
    (1..2 * REACH).find_map(|distance| {
        let splits = (0..=limit(distance)).map(|i| (i, distance - i));
        splits.filter(|&(i, j)| i < limit(ours.len()) && j < limit(theirs.len())).find(|&(i, j)| fit(i, j))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(sizes: &[u64]) -> Vec<Call> {
        sizes.iter().enumerate().map(|(i, &size)| Call { function: 0, size, stack: i as u32 }).collect()
    }

    fn check(ours: &[u64], theirs: &[u64], pairs: usize, only_ours: u64, only_theirs: u64) {
        let mut found = Pairs::default();
        pair(&calls(ours), &calls(theirs), &mut found);
        assert_eq!((found.stacks.len(), found.only_ours, found.only_theirs), (pairs, only_ours, only_theirs));
    }

    #[test]
    fn calls_that_one_side_lacks_are_passed_over() {
        check(&[1, 2, 3], &[1, 2, 3], 3, 0, 0);
        check(&[3, 4, 5, 6], &[1, 2, 3, 4, 5, 6], 4, 0, 2);
        check(&[1, 2, 9, 3, 4, 5], &[1, 2, 3, 4, 5], 5, 1, 0);
        check(&[1, 2, 3], &[1, 2, 3, 4, 5], 3, 0, 2);
        check(&[1, 7, 2, 3, 4], &[1, 8, 2, 3, 4], 4, 1, 1);
        check(&[], &[1], 0, 0, 1);
    }
}
