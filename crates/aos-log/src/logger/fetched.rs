//! Messages as a logger gets them, and the fields of the records that it writes for them.

use uuid::Uuid;

use crate::layout::{NO_QUEUE_INDEX, NO_TIME};
use crate::pack::Fields;

/// A message that was fetched, with what its channel knows of it. All times are in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetched<'a> {
    /// When it was sent or received here, by this node's monotonic clock.
    pub monotonic_event_time: i64,
    /// The same as wall time.
    pub realtime_event_time: i64,
    /// When it was sent, by the clock of the node that sent it; the event time for a message of this node.
    pub monotonic_remote_time: i64,
    /// The same as wall time.
    pub realtime_remote_time: i64,
    /// When it was transmitted, by the clock of the node that sent it.
    pub monotonic_remote_transmit_time: i64,
    /// Its number on this node's channel.
    pub queue_index: u32,
    /// Its number on the channel of the node that sent it.
    pub remote_queue_index: u32,
    /// The boot of the node that sent it.
    pub source_boot: Uuid,
    /// The message.
    pub data: &'a [u8],
}

impl<'a> Fetched<'a> {
    /// A message of this node.
    #[must_use]
    pub fn local(monotonic_ns: i64, realtime_ns: i64, queue_index: u32, boot: Uuid, data: &'a [u8]) -> Self {
        Self {
            monotonic_event_time: monotonic_ns,
            realtime_event_time: realtime_ns,
            monotonic_remote_time: monotonic_ns,
            realtime_remote_time: realtime_ns,
            monotonic_remote_transmit_time: NO_TIME,
            queue_index,
            remote_queue_index: NO_QUEUE_INDEX,
            source_boot: boot,
            data,
        }
    }

    /// As this node saw it.
    pub(super) fn as_received(&self, channel_index: u32) -> Fields<'a> {
        Fields {
            channel_index,
            queue_index: self.queue_index,
            monotonic_sent_time: self.monotonic_event_time,
            realtime_sent_time: self.realtime_event_time,
            monotonic_remote_time: self.monotonic_remote_time,
            realtime_remote_time: self.realtime_remote_time,
            monotonic_remote_transmit_time: self.monotonic_remote_transmit_time,
            remote_queue_index: self.remote_queue_index,
            data: self.data,
            ..Fields::default()
        }
    }

    /// As the node saw it that sent it.
    pub(super) fn as_sent(&self, channel_index: u32) -> Fields<'a> {
        Fields {
            channel_index,
            queue_index: self.remote_queue_index,
            monotonic_sent_time: self.monotonic_remote_time,
            realtime_sent_time: self.realtime_remote_time,
            data: self.data,
            ..Fields::default()
        }
    }
}

/// The report of another node about a message of ours that it received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteMessage {
    /// The channel of that message, in the log.
    pub channel_index: u32,
    /// Its number on that node's channel.
    pub queue_index: u32,
    /// When it arrived there, by that node's clock.
    pub monotonic_sent_time: i64,
    /// The same as wall time.
    pub realtime_sent_time: i64,
    /// When we sent it.
    pub monotonic_remote_time: i64,
    /// The same as wall time.
    pub realtime_remote_time: i64,
    /// When we transmitted it.
    pub monotonic_remote_transmit_time: i64,
    /// Its number on our channel.
    pub remote_queue_index: u32,
    /// The boot of that node.
    pub boot: Uuid,
}

impl RemoteMessage {
    /// With the time at which the report reached the logger.
    pub(super) fn fields(&self, monotonic_timestamp_time: i64) -> Fields<'static> {
        Fields {
            channel_index: self.channel_index,
            queue_index: self.queue_index,
            monotonic_sent_time: self.monotonic_sent_time,
            realtime_sent_time: self.realtime_sent_time,
            monotonic_remote_time: self.monotonic_remote_time,
            realtime_remote_time: self.realtime_remote_time,
            monotonic_remote_transmit_time: self.monotonic_remote_transmit_time,
            remote_queue_index: self.remote_queue_index,
            monotonic_timestamp_time,
            data: &[],
        }
    }
}
