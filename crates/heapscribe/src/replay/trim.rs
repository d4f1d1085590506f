//! When a replay has the heap give back what is free.

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
}

impl Trim {
    /// Whether to do so before this moment, of so many, from 1.
    pub(super) fn is_due(self, moment: u64, moments: u64) -> bool {
        match self {
            Trim::Never => false,
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
        let due =
            |trim: Trim, moments| (1..=moments).filter(|at| trim.is_due(*at, moments)).collect::<Vec<_>>();
        assert_eq!(due(Trim::Often, 400).len(), TRIMS as usize);
        assert_eq!(due(Trim::Often, 20), [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
        assert_eq!(due(Trim::Often, 3), [1, 2, 3]);
        assert_eq!((due(Trim::AtEnd, 5), due(Trim::Never, 5)), (vec![5], vec![]));
    }
}
