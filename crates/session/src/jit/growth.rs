//! How long a perf map was at what time. The map has no times, but it only grows: a line within its length was there, and
//! one beyond it was not.

use super::Span;

/// Lengths that are remembered; of more every second one is forgotten, so that a line's time is known less well.
const LOOKS_MAX: usize = 4096;

/// A length of the map, and when it was seen first and last.
#[derive(Clone, Copy, Debug)]
struct Look {
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
}

/// The lengths that were seen, ascending.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    looks: Vec<Look>,
}

impl Growth {
    /// Its length, which was asked for after the first and before the second of these moments.
    pub fn look(&mut self, bytes: u64, (before_ns, after_ns): Span) {
        // One that is shorter than before was begun anew.
        if self.looks.last().is_some_and(|last| bytes < last.bytes) {
            self.looks.clear();
        }
        match self.looks.last_mut().filter(|last| last.bytes == bytes) {
            Some(last) => last.last_ns = before_ns,
            None => self.looks.push(Look { bytes, first_ns: after_ns, last_ns: before_ns }),
        }
        if self.looks.len() > LOOKS_MAX {
            let mut nth = 0_u32;
            self.looks.retain(|_| {
                nth += 1;
                nth.is_multiple_of(2)
            });
        }
    }

    /// When the map of a process that lived from then to then became so long.
    pub fn grew_to(&self, bytes: u64, lived: Span) -> Span {
        let with = self.looks.partition_point(|look| look.bytes < bytes);
        let after = with.checked_sub(1).map_or(lived.0, |before| self.looks[before].last_ns);
        (after, self.looks.get(with).map_or(lived.1, |look| look.first_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at lengths and times, and between which times the map became so long.
    fn check(looks: &[(u64, u64)], expected: &[(u64, Span)]) {
        let mut growth = Growth::default();
        looks.iter().for_each(|(bytes, at)| growth.look(*bytes, (*at, at + 1)));
        for (bytes, span) in expected {
            assert_eq!(growth.grew_to(*bytes, (1, 99)), *span, "{bytes} bytes, {looks:?}");
        }
    }

    #[test]
    fn a_line_came_between_two_looks() {
        let looks = [(0, 10), (0, 20), (50, 30), (50, 40), (80, 50)];
        check(&looks, &[(1, (20, 31)), (50, (20, 31)), (51, (40, 51)), (80, (40, 51)), (81, (50, 99))]);
        check(&[], &[(10, (1, 99))]);
        check(&[(50, 30)], &[(50, (1, 31))]);
    }

    #[test]
    fn a_map_that_was_begun_anew_has_the_looks_since_then() {
        check(&[(500, 10), (20, 30), (60, 40)], &[(20, (1, 31)), (60, (30, 41))]);
    }

    #[test]
    fn of_many_looks_the_times_are_known_less_well() {
        let looks: Vec<_> = (1..=LOOKS_MAX as u64 + 1).map(|n| (n * 10, n * 10)).collect();
        check(&looks, &[(20, (1, 21)), (30, (20, 41)), (40, (20, 41))]);
    }
}
