//! Stacks: rows by their numbers in a process, and their nodes in the one call tree of an answer.

mod builder;
mod definitions;
mod folding;
pub mod gathered;
mod mapped;
pub mod placed;
mod rates;
mod table;

pub(crate) use self::builder::TreeBuilder;
pub(crate) use self::definitions::Definitions;
pub(crate) use self::rates::RateMeans;
pub(crate) use self::table::StackTable;
