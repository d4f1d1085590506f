//! The unwinding rule of one code address, out of a module's `.eh_frame_hdr` and `.eh_frame`.
//!
//! Nothing is built beforehand: the sorted table of the header leads to the entry, and the entry's program
//! is run up to the address. The bytes come from a program that may be broken or hostile, so every read is
//! bounded by the segment, every loop by its length; what cannot be understood has no rule.

mod cfa;
mod entry;
pub mod evaluate;
mod expression;
mod header;
mod list;
mod lookup;
mod program;
mod reader;
mod row;
mod whole;

pub use list::{Extent, Listed};
pub use lookup::{code_at, row_at, rule_at};
pub use whole::{COLUMNS, CfaRule, Expression, RegisterRule, WholeRow};
