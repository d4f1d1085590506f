//! The unwinding rule of one code address, out of a module's `.eh_frame_hdr` and `.eh_frame`.
//!
//! Nothing is built beforehand: the sorted table of the header leads to the entry, and the entry's program
//! is run up to the address. The bytes come from a program that may be broken or hostile, so every read is
//! bounded by the segment, every loop by its length; what cannot be understood has no rule.

mod entry;
pub mod evaluate;
mod expression;
mod list;
mod program;
mod reader;
mod row;
mod whole;

pub use list::{Extent, Listed};
pub use whole::{COLUMNS, CfaRule, Expression, RegisterRule, WholeRow};

use super::rule::Rule;
use crate::loader::Segment;
use entry::FrameEntry;
use reader::{Encoding, Reader};
use row::RuleRow;

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

fn rule_by_header(segment: &Segment<'_>, header_address: usize, pc: usize) -> Option<Rule> {
    let entry_address = Index::read(segment, header_address)?.find(pc)?;
    rule(&FrameEntry::read(segment, entry_address)?, pc)
}

/// None when the entry is not about `pc`.
#[inline]
fn rule(entry: &FrameEntry<'_>, pc: usize) -> Option<Rule> {
    if entry.common.is_signal_frame && entry.covers(pc) {
        return Some(Rule::SIGNAL);
    }
    program::row::<RuleRow>(entry, pc).map(|row| row.rule())
}

/// The sorted table of `.eh_frame_hdr`: first address of a function, address of its entry.
struct Index<'a> {
    rows: Reader<'a>,
    count: usize,
    encoding: Encoding,
    number_size: usize,
    header_address: usize,
}

impl<'a> Index<'a> {
    /// None when the linker has not made one.
    fn read(segment: &Segment<'a>, header_address: usize) -> Option<Index<'a>> {
        let mut reader = Reader::new(segment, header_address)?.relative_to(header_address);
        let [version, frame, count, table] = [reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?];
        let encoding = Encoding(table);
        let number_size = encoding.fixed_size()?;
        if version != 1 {
            return None;
        }
        reader.skip_encoded(Encoding(frame))?;
        let declared = reader.encoded(Encoding(count))?;
        let count = declared.min(reader.remaining() / (2 * number_size));
        Some(Index { rows: reader, count, encoding, number_size, header_address })
    }

    /// The entry of the last function that starts at or before `pc`.
    fn find(&self, pc: usize) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.number(2 * middle)? <= pc { low = middle + 1 } else { high = middle }
        }
        self.number(2 * low.checked_sub(1)? + 1)
    }

    fn number(&self, index: usize) -> Option<usize> {
        let mut reader = self.rows.clone();
        reader.skip(index.checked_mul(self.number_size)?)?;
        reader.relative_to(self.header_address).encoded(self.encoding)
    }
}
