//! Writes parts: each is a file with a header and records. Whenever the header would no longer be true for the next
//! message, the part ends and another begins; the writer checks that at each message.
//!
//! | a new part, because | and besides |
//! |---|---|
//! | [`Writer::rotate`] was called, or a start time was set | |
//! | something older was seen of another node, or another boot of it | |
//! | a message lies further back than the header promises | the promise becomes twice as long |
//! | the node of the messages has booted | a new `parts_uuid`; what was seen of others is forgotten |
//!
//! A part begins with its first message, so that nothing is written for a silent node.
//! Nothing is allocated after construction, neither for messages nor for parts.

mod clock;
mod error;
mod output;
mod remote;
mod settings;
mod sink;
mod statistics;
mod writer;

pub use clock::{Clock, SystemClock};
pub use error::WriteError;
pub use output::FlushRules;
pub use remote::RemoteUpdate;
pub use settings::{HeaderTexts, Settings, SettingsError, StartTimes};
pub use sink::{Files, Sink};
pub use statistics::{ChannelStatistics, Durations, WriterStatistics};
pub use writer::{MessageInfo, Writer};
