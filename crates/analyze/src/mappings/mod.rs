//! The program's own mappings, followed by their addresses: an unmapping may end parts of several mappings, so here alone
//! events are brought into order and kept, up to a bound.

mod events;
mod follow;
mod ranges;

pub(crate) use self::events::MappingEvents;
pub(crate) use self::follow::{Followed, OfStack, follow};
