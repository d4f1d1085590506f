//! The five kinds of message records, in both layouts, by the tables of [`layout`](crate::layout).
//!
//! The head, 64 to 96 bytes, is put together on the stack when the record is made; the data is copied once,
//! from where it lies to its final place. That is what lets a record write any slice of itself: head, data
//! and padding are three consecutive sources.

use super::record::{Record, check_slice};
use crate::layout::{Field, HEAD_MAX, Kind, Layout, NO_QUEUE_INDEX, NO_TIME, Shape, shape};

/// The fields of message records. A kind writes those that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fields<'a> {
    /// Which channel.
    pub channel_index: u32,
    /// When it was sent, by the monotonic clock of the node it is about, in ns.
    pub monotonic_sent_time: i64,
    /// The same as wall time.
    pub realtime_sent_time: i64,
    /// Its number on the channel.
    pub queue_index: u32,
    /// The message.
    pub data: &'a [u8],
    /// When it was sent, by the clock of the node that sent it.
    pub monotonic_remote_time: i64,
    /// The same as wall time.
    pub realtime_remote_time: i64,
    /// Its number on the channel of the node that sent it.
    pub remote_queue_index: u32,
    /// When the timestamp was returned to us.
    pub monotonic_timestamp_time: i64,
    /// When it was transmitted, by the clock of the node that sent it; since 2024.
    pub monotonic_remote_transmit_time: i64,
}

/// Each field at the default of the schema.
impl Default for Fields<'_> {
    fn default() -> Self {
        Self {
            channel_index: 0,
            monotonic_sent_time: 0,
            realtime_sent_time: 0,
            queue_index: 0,
            data: &[],
            monotonic_remote_time: NO_TIME,
            realtime_remote_time: NO_TIME,
            remote_queue_index: NO_QUEUE_INDEX,
            monotonic_timestamp_time: NO_TIME,
            monotonic_remote_transmit_time: NO_TIME,
        }
    }
}

/// Why a record cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackError {
    /// The layout has no records of this kind.
    NoSuchKind(Layout, Kind),
    /// So many bytes of data do not fit behind a length of 32 bits that stays below 2 GiB, as flatbuffers must.
    TooLarge(usize),
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PackError::NoSuchKind(layout, kind) => {
                write!(f, "the layout {layout:?} has no records of {kind:?}")
            }
            PackError::TooLarge(bytes) => write!(f, "{bytes} bytes of data do not fit into a record"),
        }
    }
}

impl std::error::Error for PackError {}

/// A message record, ready to write itself.
#[derive(Clone, Debug)]
pub struct MessageRecord<'a> {
    head: [u8; HEAD_MAX],
    head_bytes: usize,
    data: &'a [u8],
    size: usize,
}

impl<'a> MessageRecord<'a> {
    /// Bytes of a record with so many bytes of data, or none when the layout does not have the kind.
    #[must_use]
    pub const fn size_of(layout: Layout, kind: Kind, data_bytes: usize) -> Option<usize> {
        match shape(layout, kind) {
            Some(shape) => Some(shape.record_bytes(data_bytes)),
            None => None,
        }
    }

    /// The record of `kind` with these fields. Of a kind without data, the data is left out.
    pub fn new(layout: Layout, kind: Kind, fields: &Fields<'a>) -> Result<Self, PackError> {
        let shape = shape(layout, kind).ok_or(PackError::NoSuchKind(layout, kind))?;
        let data = if shape.has_data() { fields.data } else { &[] };
        if data.len() > i32::MAX as usize - 2 * HEAD_MAX {
            return Err(PackError::TooLarge(data.len()));
        }
        let size = shape.record_bytes(data.len());
        Ok(Self { head: head(&shape, size, fields), head_bytes: shape.head_bytes, data, size })
    }
}

/// Everything before the data.
fn head(shape: &Shape, size: usize, fields: &Fields<'_>) -> [u8; HEAD_MAX] {
    let mut head = [0; HEAD_MAX];
    put(&mut head, 0, &word(size - 4));
    put(&mut head, 4, &word(shape.table_at - 4));
    for (i, entry) in shape.vtable.iter().enumerate() {
        put(&mut head, shape.vtable_at() + 2 * i, &entry.to_le_bytes());
    }
    put(&mut head, shape.table_at, &word(shape.table_at - shape.vtable_at()));
    for field in Field::ALL {
        if let Some(at) = shape.field_at(field) {
            put_field(&mut head, at, field, shape, fields);
        }
    }
    head
}

fn put_field(head: &mut [u8; HEAD_MAX], at: usize, field: Field, shape: &Shape, fields: &Fields<'_>) {
    let index = match field {
        Field::ChannelIndex => fields.channel_index,
        Field::QueueIndex => fields.queue_index,
        Field::RemoteQueueIndex => fields.remote_queue_index,
        Field::MonotonicSentTime => return put(head, at, &fields.monotonic_sent_time.to_le_bytes()),
        Field::RealtimeSentTime => return put(head, at, &fields.realtime_sent_time.to_le_bytes()),
        Field::MonotonicRemoteTime => return put(head, at, &fields.monotonic_remote_time.to_le_bytes()),
        Field::RealtimeRemoteTime => return put(head, at, &fields.realtime_remote_time.to_le_bytes()),
        Field::MonotonicTimestampTime => {
            return put(head, at, &fields.monotonic_timestamp_time.to_le_bytes());
        }
        Field::MonotonicRemoteTransmitTime => {
            return put(head, at, &fields.monotonic_remote_transmit_time.to_le_bytes());
        }
        Field::Data => {
            let length_at = shape.head_bytes - 4;
            put(head, at, &word(length_at - at));
            return put(head, length_at, &word(fields.data.len()));
        }
    };
    put(head, at, &index.to_le_bytes());
}

fn put(head: &mut [u8; HEAD_MAX], at: usize, bytes: &[u8]) {
    head[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What is checked to lie below 2 GiB, as it stands in a flatbuffer.
fn word(bytes: usize) -> [u8; 4] {
    (bytes as u32).to_le_bytes()
}

impl Record for MessageRecord<'_> {
    fn size(&self) -> usize {
        self.size
    }

    fn write(&mut self, destination: &mut [u8], start: usize) {
        check_slice(self.size, start, destination.len());
        let head = &self.head[start.min(self.head_bytes)..self.head_bytes];
        let data = &self.data[start.saturating_sub(self.head_bytes).min(self.data.len())..];
        let rest = take(destination, head);
        let rest = take(rest, data);
        rest.fill(0);
    }
}

/// Copies as much of `source` as fits, and returns the rest of the destination.
fn take<'d>(destination: &'d mut [u8], source: &[u8]) -> &'d mut [u8] {
    let (now, later) = destination.split_at_mut(source.len().min(destination.len()));
    now.copy_from_slice(&source[..now.len()]);
    later
}
