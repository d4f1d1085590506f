//! When a replay has the heap give back what is free.

use heapscribe_replay::Point;
use serde::{Deserialize, Serialize};

/// How often memory is trimmed over the whole time, where it is.
const TRIMS: u64 = 10;

/// When the replaying program calls `malloc_trim(0)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Trim {
    #[default]
    Never,
    /// After the last call.
    AtEnd,
    /// After each tenth of the time.
    Often,
    /// At each mark, and at the end of each section.
    AtMarks,
}

impl Trim {
    /// Whether to do so at this point of a program of so many moments.
    pub(super) fn is_due(self, point: Point, moments: u64) -> bool {
        let Point::Moment(moment) = point else { return self == Trim::AtMarks };
        match self {
            Trim::Never | Trim::AtMarks => false,
            Trim::AtEnd => moment == moments,
            Trim::Often => {
                moment == moments || moment * TRIMS / moments.max(1) != (moment - 1) * TRIMS / moments.max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trims_are_spread_over_the_time() {
        let due = |trim: Trim, moments| {
            (1..=moments).filter(|at| trim.is_due(Point::Moment(*at), moments)).collect::<Vec<_>>()
        };
        assert_eq!(due(Trim::Often, 400).len(), TRIMS as usize);
        assert_eq!(due(Trim::Often, 20), [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
        assert_eq!(due(Trim::Often, 3), [1, 2, 3]);
        assert_eq!((due(Trim::AtEnd, 5), due(Trim::Never, 5)), (vec![5], vec![]));
        assert!(due(Trim::AtMarks, 5).is_empty());
        let at_a_mark =
            [Trim::Never, Trim::AtEnd, Trim::Often, Trim::AtMarks].map(|trim| trim.is_due(Point::Mark, 5));
        assert_eq!(at_a_mark, [false, false, false, true]);
    }
}
