//! Where times are early: a recording whose clock is read seldom (`record --clock coarse`).

/// By how much times are early, and how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlyTimes {
    /// By so much at most, ns. A lifetime may be shorter or longer by it.
    pub ns: u64,
    /// Up to this moment, ns; to the end where there is none. Then a second thread or process began.
    pub until_ns: Option<u64>,
}

impl EarlyTimes {
    /// Where any of them are, with moments after `begin_ns`.
    pub(crate) fn of_any(all: impl Iterator<Item = EarlyTimes>, begin_ns: u64) -> Option<EarlyTimes> {
        let together = all.reduce(|a, b| EarlyTimes {
            ns: a.ns.max(b.ns),
            until_ns: a.until_ns.zip(b.until_ns).map(|(a, b)| a.max(b)),
        })?;
        let until_ns = together.until_ns.map(|ns| ns.saturating_sub(begin_ns));
        Some(EarlyTimes { until_ns, ..together })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(all: &[(u64, Option<u64>)], expected: Option<(u64, Option<u64>)>) {
        let early = |&(ns, until_ns): &(u64, Option<u64>)| EarlyTimes { ns, until_ns };
        assert_eq!(EarlyTimes::of_any(all.iter().map(early), 10), expected.as_ref().map(early));
    }

    #[test]
    fn they_are_early_as_long_as_those_of_any_process() {
        check(&[], None);
        check(&[(4, None)], Some((4, None)));
        check(&[(4, Some(15))], Some((4, Some(5))));
        check(&[(4, Some(15)), (10, Some(12))], Some((10, Some(5))));
        check(&[(4, Some(15)), (4, None)], Some((4, None)));
    }
}
