//! Rows by stack. Stack numbers are dense but few of them are leaves of an allocation, so a small index
//! leads to rows that lie together.

use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::STACKS_MAX;

/// Rows of one kind, made when first asked for.
#[derive(Clone, Debug)]
pub(crate) struct StackTable<R> {
    /// Row number + 1 by stack; 0 is none.
    index: Vec<u32>,
    rows: Vec<(StackId, R)>,
}

impl<R> Default for StackTable<R> {
    fn default() -> Self {
        StackTable { index: Vec::new(), rows: Vec::new() }
    }
}

impl<R: Default> StackTable<R> {
    /// The row of a stack. A number that no recorder can give is the unknown stack.
    #[inline(always)]
    pub(crate) fn row(&mut self, stack: StackId) -> &mut R {
        match self.index.get(stack.0 as usize) {
            Some(&n) if n != 0 => &mut self.rows[n as usize - 1].1,
            _ => self.new_row(stack),
        }
    }

    #[cold]
    fn new_row(&mut self, stack: StackId) -> &mut R {
        let stack = if stack.0 <= STACKS_MAX { stack } else { StackId::UNKNOWN };
        let at = stack.0 as usize;
        if at >= self.index.len() {
            self.index.resize((at + 1).next_power_of_two(), 0);
        }
        if self.index[at] == 0 {
            if self.rows.len() == self.rows.capacity() {
                // Pages that are not reached take no memory; all rows that are moved to a larger place do, twice.
                self.rows.reserve_exact((self.rows.len() * 3).max(16));
            }
            self.rows.push((stack, R::default()));
            self.index[at] = self.rows.len() as u32;
        }
        let row = self.index[at] as usize - 1;
        &mut self.rows[row].1
    }

    /// The row of a stack, if it has one.
    pub(crate) fn get(&self, stack: StackId) -> Option<&R> {
        let row = self.index.get(stack.0 as usize)?.checked_sub(1)?;
        self.rows.get(row as usize).map(|(_, row)| row)
    }

    /// The rows, in no order that means anything.
    pub(crate) fn rows(&self) -> &[(StackId, R)] {
        &self.rows
    }

    /// The same, to be changed.
    pub(crate) fn rows_mut(&mut self) -> &mut [(StackId, R)] {
        &mut self.rows
    }

    /// The rows by stack.
    pub(crate) fn into_sorted(mut self) -> Vec<(StackId, R)> {
        self.rows.sort_unstable_by_key(|(stack, _)| *stack);
        self.rows
    }

    /// Adds the rows of another table.
    pub(crate) fn merge(&mut self, other: StackTable<R>, add: impl Fn(&mut R, &R)) {
        if self.rows.is_empty() {
            *self = other;
            return;
        }
        for (stack, row) in &other.rows {
            add(self.row(*stack), row);
        }
    }
}
