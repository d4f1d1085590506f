//! Where the messages of a channel go.

use crate::layout::Kind;

/// Where the messages of a channel are written. A writer is named by its place in the list given to
/// [`Logger::new`](super::Logger::new).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Route {
    /// The channel's index in the log.
    pub channel_index: u32,
    /// The writer of its messages.
    pub data: Option<DataRoute>,
    /// The writer of the times at which messages of another node arrived.
    pub timestamps: Option<TimestampRoute>,
    /// The writer of the reports of other nodes about messages of ours, which this channel carries.
    pub contents: Option<ContentsRoute>,
}

/// How a channel's messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataRoute {
    /// Which writer.
    pub writer: usize,
    /// As what: all kinds but [`Kind::RemoteTimestamp`] and [`Kind::DeliveryTime`].
    pub kind: Kind,
}

/// How the times of delivery of a channel are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimestampRoute {
    /// Which writer.
    pub writer: usize,
    /// The node that sends on the channel.
    pub node: usize,
    /// Whether what it sends is sent until it arrives.
    pub is_reliable: bool,
}

/// How reports of other nodes are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContentsRoute {
    /// Which writer.
    pub writer: usize,
    /// The node that sent the reported message: this one.
    pub node: usize,
    /// Whether what was sent is sent until it arrives.
    pub is_reliable: bool,
}
