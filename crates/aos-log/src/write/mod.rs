//! Parts: each a file with a header that says what is known when it begins, and records behind it. Whenever a
//! header would no longer be true of the next message, the part ends and another begins; the writer asks that
//! at each message, instead of being told of every change.
//!
//! | a new part, because | and besides |
//! |---|---|
//! | [`Writer::rotate`] was called, or a start time was set | |
//! | something older was seen of another node, or another boot of it | |
//! | a message lies further back than the header promises | the promise becomes twice as long |
//! | the node of the messages has booted | a new `parts_uuid`; what was seen of others is forgotten |
//!
//! A part begins when its first message comes, so that nothing is written for a node that says nothing.
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
pub use remote::Seen;
pub use settings::{HeaderTexts, Settings, SettingsError, StartTimes};
pub use sink::{Files, Sink};
pub use statistics::{ChannelStatistics, Durations, WriterStatistics};
pub use writer::{About, Writer};
