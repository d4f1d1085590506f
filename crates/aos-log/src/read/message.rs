//! A message record: what a logger wrote down of one message, or of the delivery of one.

use super::flatbuffer::{Flaw, Table};
use crate::layout::{Field, Kind, Layout, NO_QUEUE_INDEX, NO_TIME};

/// A message record; [`NO_TIME`] and [`NO_QUEUE_INDEX`] are what is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The channel, by its place in the configuration.
    pub channel_index: u32,
    /// When it was sent, ns of the sender's monotonic clock (of its arrival, for a delivery time).
    pub monotonic_sent_time: i64,
    /// The same, ns since 1970.
    pub realtime_sent_time: i64,
    /// Its number in the channel.
    pub queue_index: u32,
    /// What was sent; `None` where only times were logged.
    pub data: Option<&'a [u8]>,
    /// When the other node sent it, ns of that one's monotonic clock.
    pub monotonic_remote_time: i64,
    /// The same, ns since 1970.
    pub realtime_remote_time: i64,
    /// Its number in the channel of the other node.
    pub remote_queue_index: u32,
    /// When the timestamp arrived here, ns.
    pub monotonic_timestamp_time: i64,
    /// When the other node passed it on to the network, ns.
    pub monotonic_remote_transmit_time: i64,
    /// Its kind, derived from its fields. A message of another node looks like one of this node, and
    /// is [`Kind::Message`] too.
    pub kind: Kind,
}

impl<'a> Message<'a> {
    /// Reads and checks a record, which begins with its length.
    pub(crate) fn parse(record: &'a [u8]) -> Result<Message<'a>, Flaw> {
        let table = Table::root(record)?;
        let time = |field: Field| Ok(table.i64(field as usize)?.unwrap_or(NO_TIME));
        let data = table.bytes(Field::Data as usize)?;
        let (remote, timestamp) = (
            table.has(Field::MonotonicRemoteTime as usize),
            table.has(Field::MonotonicTimestampTime as usize),
        );
        Ok(Message {
            channel_index: table.u32(Field::ChannelIndex as usize)?.unwrap_or(0),
            monotonic_sent_time: table.i64(Field::MonotonicSentTime as usize)?.unwrap_or(0),
            realtime_sent_time: table.i64(Field::RealtimeSentTime as usize)?.unwrap_or(0),
            queue_index: table.u32(Field::QueueIndex as usize)?.unwrap_or(0),
            data,
            monotonic_remote_time: time(Field::MonotonicRemoteTime)?,
            realtime_remote_time: time(Field::RealtimeRemoteTime)?,
            remote_queue_index: table.u32(Field::RemoteQueueIndex as usize)?.unwrap_or(NO_QUEUE_INDEX),
            monotonic_timestamp_time: time(Field::MonotonicTimestampTime)?,
            monotonic_remote_transmit_time: time(Field::MonotonicRemoteTransmitTime)?,
            kind: match (data.is_some(), remote, timestamp) {
                (_, _, true) => Kind::RemoteTimestamp,
                (true, true, _) => Kind::MessageAndDeliveryTime,
                (true, false, _) => Kind::Message,
                (false, _, _) => Kind::DeliveryTime,
            },
        })
    }

    /// The layout of a record, derived from its vtable: one that has field 9 is of 2024, one that knows fields of
    /// a remote side and not that one is of 2022, and that of a message alone is the same in both.
    pub(crate) fn layout_of(record: &[u8]) -> Option<Layout> {
        let known = Table::root(record).ok()?.known_fields();
        match known {
            _ if known > Field::MonotonicRemoteTransmitTime as usize => Some(Layout::V2024),
            _ if known > Field::MonotonicRemoteTime as usize => Some(Layout::V2022),
            _ => None,
        }
    }

    /// Bytes of data; 0 where only times were logged.
    pub fn data_bytes(&self) -> usize {
        self.data.map_or(0, <[u8]>::len)
    }
}
