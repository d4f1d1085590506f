//! Columns of time that need not be equally long.

use crate::question::Span;

/// Columns of time: each begins at one of these moments and ends at the next, ns; they ascend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds(Vec<u64>);

impl Bounds {
    /// At these moments.
    pub fn new(mut moments_ns: Vec<u64>) -> Bounds {
        moments_ns.sort_unstable();
        moments_ns.dedup();
        Bounds(moments_ns)
    }

    /// The moments.
    pub fn moments_ns(&self) -> &[u64] {
        &self.0
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// The time of all of them.
    pub fn time(&self) -> Span {
        let ends = self.0.first().zip(self.0.last());
        ends.map_or(Span { from_ns: 0, to_ns: 0 }, |(from_ns, to_ns)| Span {
            from_ns: *from_ns,
            to_ns: *to_ns,
        })
    }

    /// The column of a moment.
    pub(super) fn of(&self, ns: u64) -> Option<usize> {
        let column = self.0.partition_point(|begin_ns| *begin_ns <= ns).checked_sub(1)?;
        (column < self.columns()).then_some(column)
    }

    /// The time of a column.
    pub(super) fn span(&self, column: usize) -> Span {
        Span { from_ns: self.0[column], to_ns: self.0[column + 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_lies_in_the_column_that_began_last() {
        let bounds = Bounds::new(vec![30, 10, 20, 10]);
        assert_eq!(bounds.moments_ns(), [10, 20, 30]);
        assert_eq!(bounds.columns(), 2);
        for (ns, column) in
            [(9, None), (10, Some(0)), (19, Some(0)), (20, Some(1)), (29, Some(1)), (30, None)]
        {
            assert_eq!(bounds.of(ns), column, "{ns}");
        }
        assert_eq!((Bounds::new(vec![]).columns(), Bounds::new(vec![7]).columns()), (0, 0));
        assert_eq!(Bounds::new(vec![]).of(0), None);
    }
}
