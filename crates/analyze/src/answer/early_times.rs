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
    pub fn of_any(all: impl Iterator<Item = EarlyTimes>, begin_ns: u64) -> Option<EarlyTimes> {
        let together = all.reduce(|a, b| EarlyTimes {
            ns: a.ns.max(b.ns),
            until_ns: a.until_ns.zip(b.until_ns).map(|(a, b)| a.max(b)),
        })?;
        let until_ns = together.until_ns.map(|ns| ns.saturating_sub(begin_ns));
        Some(EarlyTimes { until_ns, ..together })
    }

    /// Where another process began at this moment: one that is alone finds that out at its next event, if it has one.
    pub(crate) fn until(self, began_ns: Option<u64>) -> EarlyTimes {
        EarlyTimes { until_ns: self.until_ns.into_iter().chain(began_ns).min(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn early(ns: u64, until_ns: Option<u64>) -> EarlyTimes {
        EarlyTimes { ns, until_ns }
    }

    fn check(all: &[EarlyTimes], expected: Option<EarlyTimes>) {
        assert_eq!(EarlyTimes::of_any(all.iter().copied(), 10), expected);
    }

    #[test]
    fn they_are_early_as_long_as_those_of_any_process() {
        check(&[], None);
        check(&[early(4, None)], Some(early(4, None)));
        check(&[early(4, Some(15))], Some(early(4, Some(5))));
        check(&[early(4, Some(15)), early(10, Some(12))], Some(early(10, Some(5))));
        check(&[early(4, Some(15)), early(4, None)], Some(early(4, None)));
    }

    #[test]
    fn they_are_early_until_another_process_begins() {
        assert_eq!(early(4, None).until(Some(9)), early(4, Some(9)));
        assert_eq!(early(4, Some(20)).until(Some(9)), early(4, Some(9)));
        assert_eq!(early(4, Some(7)).until(Some(9)), early(4, Some(7)));
        assert_eq!(early(4, Some(7)).until(None), early(4, Some(7)));
    }
}
