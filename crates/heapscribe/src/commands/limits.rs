//! How many entries lists have when the command line does not say.

/// Entries of each list in the text.
pub(super) const TOP: usize = 10;
/// Stacks in JSON: all 100,000 of a compiler's are half a gigabyte.
pub(super) const TOP_JSON: usize = 1000;
