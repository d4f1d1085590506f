//! A list of entries without a table that leads to them, as programs register it at run time
//! (`__register_frame`): read from its beginning for each question.

use core::ops::Range;

use heapscribe_nolibc::loader::Segment;

use super::entry::{FrameEntry, record};
use super::lookup::rule;
use super::program;
use super::whole::WholeRow;
use crate::unwind::rule::Rule;

/// How much of a list its address stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// All entries, up to a length of 0 (libgcc).
    List,
    /// One entry for one function (LLVM's libunwind).
    Entry,
}

/// A list of entries.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// All bytes of it, those of the common entries too. It ends with them, or with a length of 0.
    pub segment: Segment<'a>,
    /// Where its first entry is.
    pub begin: usize,
}

impl<'a> Listed<'a> {
    /// The rule at `pc`; none when no entry covers it.
    pub fn rule_at(&self, pc: usize) -> Option<Rule> {
        let entry = self.entry_at(pc)?;
        Some(rule(&entry, pc).unwrap_or(Rule::NO_INFO))
    }

    /// The same with all registers.
    #[inline(never)] // as `row_at`
    pub fn row_at(&self, pc: usize) -> Option<WholeRow> {
        program::row(&self.entry_at(pc)?, pc)
    }

    /// From the first address of its functions to the last; none when it has no function.
    pub fn code(&self) -> Option<Range<usize>> {
        let ranges = self.entries().map(|entry| entry.code()).filter(|code| !code.is_empty());
        ranges.reduce(|all, code| all.start.min(code.start)..all.end.max(code.end))
    }

    fn entry_at(&self, pc: usize) -> Option<FrameEntry<'a>> {
        self.entries().find(|entry| entry.covers(pc))
    }

    /// The entries of functions that the linker has not thrown away, which it marks by an address of 0.
    /// What cannot be read is passed over.
    fn entries(&self) -> impl Iterator<Item = FrameEntry<'a>> {
        let segment = self.segment;
        let mut next = Some(self.begin);
        let addresses = core::iter::from_fn(move || {
            let address = next?;
            next = record(&segment, address).map(|record| record.end);
            next.and(Some(address))
        });
        let read = addresses.filter_map(move |address| FrameEntry::read(&segment, address));
        read.filter(|entry| entry.start != 0)
    }
}
