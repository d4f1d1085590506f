//! The rule, or the row of all registers, at one code address of a module.

use core::ops::Range;

use heapscribe_nolibc::loader::Segment;

use super::entry::FrameEntry;
use super::header::Index;
use super::program;
use super::row::RuleRow;
use super::whole::WholeRow;
use crate::unwind::rule::Rule;

/// The rule at `pc`, by the `.eh_frame_hdr` at `header_address` in `segment`.
///
/// `pc` is the address of an instruction: for a return address, the one before it.
pub fn rule_at(segment: Segment<'_>, header_address: usize, pc: usize) -> Rule {
    rule_by_header(&segment, header_address, pc).unwrap_or(Rule::NO_INFO)
}

/// The same with all registers; none where there is no information.
#[inline(never)] // its rows take much of the stack, which is free again before anything else is called
pub fn row_at(segment: Segment<'_>, header_address: usize, pc: usize) -> Option<WholeRow> {
    let entry_address = Index::read(&segment, header_address)?.find(pc)?;
    program::row(&FrameEntry::read(&segment, entry_address)?, pc)
}

/// The code of the function that `pc` is in, as far as it is in one piece.
pub fn code_at(segment: Segment<'_>, header_address: usize, pc: usize) -> Option<Range<usize>> {
    let entry_address = Index::read(&segment, header_address)?.find(pc)?;
    let entry = FrameEntry::read(&segment, entry_address)?;
    entry.covers(pc).then(|| entry.code())
}

fn rule_by_header(segment: &Segment<'_>, header_address: usize, pc: usize) -> Option<Rule> {
    let entry_address = Index::read(segment, header_address)?.find(pc)?;
    rule(&FrameEntry::read(segment, entry_address)?, pc)
}

/// None when the entry is not about `pc`.
#[inline]
pub(super) fn rule(entry: &FrameEntry<'_>, pc: usize) -> Option<Rule> {
    if entry.common.is_signal_frame && entry.covers(pc) {
        return Some(Rule::SIGNAL);
    }
    program::row::<RuleRow>(entry, pc).map(|row| row.rule())
}
