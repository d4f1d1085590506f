//! The live table: what is allocated now, an entry for each place where a block can start, and a slot for each block.

mod entry_place;
mod free_slots;
mod hold;
mod live_cache;
mod marks;
mod regions;
mod table;

pub(crate) use entry_place::EntryPlace;
pub(crate) use hold::{acquire_hold, resume_operation, wait_for_release};
pub(crate) use live_cache::LiveCache;
pub(crate) use table::{Access, LiveTable};
