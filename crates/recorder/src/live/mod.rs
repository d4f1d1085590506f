//! The live table: what is allocated now, a slot for each place where a block can start.

mod hold;
mod marks;
mod regions;
mod slot_place;
mod table;

pub(crate) use hold::{acquire_hold, resume_operation, wait_for_release};
pub(crate) use regions::RegionCache;
pub(crate) use slot_place::SlotPlace;
pub(crate) use table::LiveTable;
