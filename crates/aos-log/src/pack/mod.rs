//! Records that write themselves: each knows its exact size beforehand and puts any 8-byte-aligned slice of
//! itself at any position, so that an encoder can fill its buffer to the last byte and ask for the rest
//! of the record later. There is no flatbuffer builder and no memory but the caller's: a record is its fixed
//! head on the stack, and a borrow of the data.

mod configuration;
mod forward;
mod header;
mod message;
mod record;

pub use configuration::configuration;
pub(crate) use configuration::{CHANNELS, NAME, TYPE_OF_CHANNEL};
pub use header::{Header, HeaderTooLarge, NodeTimes};
pub use message::{Fields, MessageRecord, PackError};
pub use record::{Bytes, Record};
