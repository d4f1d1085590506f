//! How much processes may have held at a time, of which each is known to have held no more than so much: those that never
//! lived together did not hold it together. (Ten programs one after the other, each with 400,000 bytes, held "between
//! 403,205 and 4,003,205".)

use std::cmp::Reverse;

/// The lives of processes, and the most that each held, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives {
    /// Moments, ns, at which a process begins (true) or has ended, and its bytes.
    changes: Vec<(u64, bool, u64)>,
}

impl Lives {
    /// Adds a process that lived from `begin_ns` up to a moment, or to nobody knows when.
    pub(super) fn add(&mut self, begin_ns: u64, end_ns: Option<u64>, most_bytes: u64) {
        // A clock of its own may give it an end before its begin.
        let is_known = end_ns.is_none_or(|end_ns| begin_ns <= end_ns);
        let (begin_ns, end_ns) =
            if is_known { (begin_ns, end_ns.unwrap_or(u64::MAX)) } else { (0, u64::MAX) };
        self.changes.extend([(begin_ns, true, most_bytes), (end_ns, false, most_bytes)]);
    }

    /// The most that those held together which lived at a time.
    pub(super) fn most_bytes(&self) -> u64 {
        let mut changes = self.changes.clone();
        // One that begins when another ends may have met it.
        changes.sort_unstable_by_key(|(ns, begins, _)| (*ns, Reverse(*begins)));
        let (mut now, mut most) = (0u128, 0u128);
        for (_, begins, bytes) in changes {
            now = if begins { now + u128::from(bytes) } else { now - u128::from(bytes) };
            most = most.max(now);
        }
        u64::try_from(most).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What processes held at most that lived from and to such moments, by the bytes of each.
    fn check(lives: &[(u64, Option<u64>, u64)], expected: u64) {
        let mut all = Lives::default();
        lives.iter().for_each(|(begin_ns, end_ns, bytes)| all.add(*begin_ns, *end_ns, *bytes));
        assert_eq!(all.most_bytes(), expected, "{lives:?}");
    }

    #[test]
    fn what_lived_at_a_time_may_have_been_held_together() {
        check(&[], 0);
        check(&[(5, Some(10), 7), (11, Some(20), 9), (21, Some(30), 3)], 9);
        check(&[(5, Some(10), 7), (10, Some(20), 9)], 16);
        check(&[(0, None, 100), (5, Some(10), 7), (11, Some(20), 9)], 109);
        check(&[(50, Some(10), 7), (11, Some(20), 9)], 16);
        check(&[(0, None, u64::MAX), (0, None, u64::MAX)], u64::MAX);
    }
}
