//! The functions that are inlined where a frame of optimized code is.

/// Functions that are inlined into each other.
pub(super) const DEPTH_MAX: usize = 16;

/// Inlined calls on a frame, the innermost first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Inlined {
    /// The parts that functions share with their closures, and the positions that these are at; `None` before the first
    /// bytecode.
    pub(super) functions: [(usize, Option<usize>); DEPTH_MAX],
    pub(super) count: usize,
    /// The position of the function itself.
    pub(super) position: Option<usize>,
}

impl Inlined {
    /// Adds a function that is further out than the others. `None` when there is no room.
    pub(super) fn push(&mut self, shared: usize, position: Option<usize>) -> Option<()> {
        *self.functions.get_mut(self.count)? = (shared, position);
        self.count += 1;
        Some(())
    }

    /// Turns round what was added from the outermost in.
    pub(super) fn reverse(&mut self) {
        if let Some(functions) = self.functions.get_mut(..self.count) {
            functions.reverse();
        }
    }

    /// The functions.
    pub(super) fn functions(&self) -> &[(usize, Option<usize>)] {
        self.functions.get(..self.count).unwrap_or_default()
    }
}
