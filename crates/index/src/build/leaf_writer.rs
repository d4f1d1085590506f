//! Writes leaves in their order, each when no chunk that is left can add to it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::leaf_sums::LeafSums;
use super::steps::StepSums;
use crate::axis::Axis;
use crate::file::SectionWriter;

/// How far leaves are written.
#[derive(Debug, Default)]
pub(super) struct LeafWriter {
    /// The next leaf to be written.
    next: u32,
    /// Its step.
    step: StepSums,
}

impl LeafWriter {
    /// Writes all leaves before this one, and takes them away.
    pub(super) fn write_until<W: Write>(
        &mut self,
        end: u32,
        axis: &Axis,
        leaves: &mut BTreeMap<u32, LeafSums>,
        out: &mut SectionWriter<W>,
    ) -> io::Result<()> {
        let per_step = axis.leaves_per_step();
        while self.next < end {
            if let Some(sums) = leaves.remove(&self.next) {
                sums.write(self.next, (&mut self.step, per_step), out)?;
            }
            self.next += 1;
            if self.next.is_multiple_of(per_step) || self.next == axis.leaves() {
                std::mem::take(&mut self.step).write((self.next - 1) / per_step, out)?;
            }
        }
        Ok(())
    }
}
