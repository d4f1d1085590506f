//! Reading: parts of AOS's loggers and of ours, plain or compressed, whole or not.
//!
//! *You bring* bytes: anything that is [`std::io::Read`]; nothing here opens a file or prints. *It
//! guarantees* that no bytes make it panic, loop or take more memory than [`limits`] allows, and that every problem
//! is reported with its offset. *It refuses* to guess: where a length is
//! wrong the rest of that part is lost, as it is for AOS's own reader.
//!
//! [`PartReader`] reads one part, [`Parts`] reads several as one: those of a sequence one after the other,
//! ordered by time within the bound that their headers name.
//!
//! What AOS's own reader does and this one does not: read the length of a record from memory that a cut
//! file no longer fills (a file that ends after 1 to 3 bytes of it), and end the program.

pub mod channels;
mod configuration;
mod decode;
mod detect;
mod error;
mod flatbuffer;
mod header;
pub mod limits;
mod message;
mod part;
mod parts;
mod sort;

pub use configuration::{Channel, Configuration};
pub use decode::{PACKING_BYTES, Packing};
pub use detect::{DETECT_BYTES, detect};
pub use error::{Damage, Policy, ReadError};
pub use header::{PartHeader, Value};
pub use message::Message;
pub use part::{PartReader, Record};
pub use parts::{Order, PartSummary, Parts, Problem};
pub use sort::OwnedMessage;
