//! The layout of the records of an AOS log, byte by byte: the field numbers of the two tables, and where
//! each kind of record has its fields. Writer and reader both go by these tables, so that neither can know
//! something that the other does not.
//!
//! A log part is a sequence of flatbuffers, each behind its length; the first is a `LogFileHeader`, all others
//! are `MessageHeader`s:
//!
//! ```text
//! +00 u32 bytes that follow        +04 u32 distance from here to the table
//! ..  zeros                        ..  vtable: u16 its bytes, u16 the table's, a u16 for each field
//! ..  table: i32 back to the vtable, fields
//! ..  u32 length of the data, data, zeros up to a multiple of 8
//! ```
//!
//! AOS writes every field of a kind, also when it has its default value, so a kind's records differ in the
//! data only. Nothing here allocates or reads a clock.

/// Records have a multiple of this many bytes, and may be cut at such places.
pub const ALIGNMENT: usize = 8;

/// Bytes of the longest record without its data.
pub const HEAD_MAX: usize = 96;

/// Default of the time fields from [`Field::MonotonicRemoteTime`] on: no such time.
pub const NO_TIME: i64 = i64::MIN;

/// Default of [`Field::RemoteQueueIndex`]: no such index.
pub const NO_QUEUE_INDEX: u32 = u32::MAX;

/// In the header's lists of oldest timestamps: nothing was seen yet.
pub const NOTHING_SEEN: i64 = i64::MAX;

/// Which of the two layouts that AOS has had.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Layout {
    /// October 2022: nine fields, and a kind that has both data and delivery times.
    V2022,
    /// Since March 2024: a tenth field, `monotonic_remote_transmit_time`.
    #[default]
    V2024,
}

impl Layout {
    /// Both, oldest first.
    pub const ALL: [Layout; 2] = [Layout::V2022, Layout::V2024];
}

/// The kinds of message records, by what they hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A message of this node: channel, queue index, data, its times. `kLogMessage`.
    Message,
    /// When a message of another node arrived, without its data. `kLogDeliveryTimeOnly`.
    DeliveryTime,
    /// Both. `kLogMessageAndDeliveryTime`, in the layout of 2022 only.
    MessageAndDeliveryTime,
    /// A message of another node, with that node's queue index and times. `kLogRemoteMessage`.
    RemoteMessage,
    /// When a message of ours arrived at another node, as that node reported. `RemoteMessage`.
    RemoteTimestamp,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [
        Kind::Message,
        Kind::DeliveryTime,
        Kind::MessageAndDeliveryTime,
        Kind::RemoteMessage,
        Kind::RemoteTimestamp,
    ];
}

/// The fields of a `MessageHeader`, by their number in the schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Field {
    /// u32, default 0.
    ChannelIndex = 0,
    /// i64, default 0.
    MonotonicSentTime = 1,
    /// i64, default 0.
    RealtimeSentTime = 2,
    /// u32, default 0.
    QueueIndex = 3,
    /// A vector of bytes.
    Data = 4,
    /// i64, default [`NO_TIME`].
    MonotonicRemoteTime = 5,
    /// i64, default [`NO_TIME`].
    RealtimeRemoteTime = 6,
    /// u32, default [`NO_QUEUE_INDEX`].
    RemoteQueueIndex = 7,
    /// i64, default [`NO_TIME`].
    MonotonicTimestampTime = 8,
    /// i64, default [`NO_TIME`]; since 2024.
    MonotonicRemoteTransmitTime = 9,
}

impl Field {
    /// All fields, by number.
    pub const ALL: [Field; 10] = [
        Field::ChannelIndex,
        Field::MonotonicSentTime,
        Field::RealtimeSentTime,
        Field::QueueIndex,
        Field::Data,
        Field::MonotonicRemoteTime,
        Field::RealtimeRemoteTime,
        Field::RemoteQueueIndex,
        Field::MonotonicTimestampTime,
        Field::MonotonicRemoteTransmitTime,
    ];

    /// The field's name in the schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Field::ChannelIndex => "channel_index",
            Field::MonotonicSentTime => "monotonic_sent_time",
            Field::RealtimeSentTime => "realtime_sent_time",
            Field::QueueIndex => "queue_index",
            Field::Data => "data",
            Field::MonotonicRemoteTime => "monotonic_remote_time",
            Field::RealtimeRemoteTime => "realtime_remote_time",
            Field::RemoteQueueIndex => "remote_queue_index",
            Field::MonotonicTimestampTime => "monotonic_timestamp_time",
            Field::MonotonicRemoteTransmitTime => "monotonic_remote_transmit_time",
        }
    }
}

/// Where the records of a kind have what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// From the start of the record to its table.
    pub table_at: usize,
    /// The vtable: its bytes, the table's bytes, where in the table each field is (0: nowhere).
    pub vtable: &'static [u16],
    /// Bytes before the data; of a record without data, all.
    pub head_bytes: usize,
}

impl Shape {
    /// From the start of the record to its vtable, which ends where the table begins.
    #[must_use]
    pub const fn vtable_at(&self) -> usize {
        self.table_at - 2 * self.vtable.len()
    }

    /// From the start of the record to `field`; none when this kind does not have it.
    #[must_use]
    pub const fn field_at(&self, field: Field) -> Option<usize> {
        let entry = 2 + field as usize;
        if entry >= self.vtable.len() || self.vtable[entry] == 0 {
            return None;
        }
        Some(self.table_at + self.vtable[entry] as usize)
    }

    /// Whether records of this kind have data.
    #[must_use]
    pub const fn has_data(&self) -> bool {
        self.field_at(Field::Data).is_some()
    }

    /// Bytes of a record with so many bytes of data, the length in front included.
    #[must_use]
    pub const fn record_bytes(&self, data_bytes: usize) -> usize {
        if self.has_data() {
            self.head_bytes + data_bytes.next_multiple_of(ALIGNMENT)
        } else {
            self.head_bytes
        }
    }
}

// Entries behind the first two:    channel, monotonic, realtime, queue, data, remote monotonic, remote
// realtime, remote queue, timestamp, remote transmit.
const MESSAGE: Shape = Shape { table_at: 0x1c, vtable: &[14, 32, 28, 12, 4, 24, 20], head_bytes: 0x40 };
const DELIVERY_2022: Shape =
    Shape { table_at: 0x20, vtable: &[20, 48, 44, 32, 24, 40, 0, 16, 8, 4], head_bytes: 0x50 };
const DELIVERY_2024: Shape =
    Shape { table_at: 0x20, vtable: &[24, 56, 52, 40, 32, 48, 0, 24, 16, 4, 0, 8], head_bytes: 0x58 };
const BOTH_2022: Shape =
    Shape { table_at: 0x20, vtable: &[20, 52, 48, 32, 24, 44, 4, 16, 8, 40], head_bytes: 0x58 };
const TIMESTAMP_2022: Shape =
    Shape { table_at: 0x24, vtable: &[22, 60, 56, 44, 36, 52, 0, 28, 20, 16, 4], head_bytes: 0x60 };
const TIMESTAMP_2024: Shape =
    Shape { table_at: 0x20, vtable: &[24, 64, 60, 48, 40, 56, 0, 16, 8, 4, 32, 24], head_bytes: 0x60 };

const _: () = {
    let shapes = [MESSAGE, DELIVERY_2022, DELIVERY_2024, BOTH_2022, TIMESTAMP_2022, TIMESTAMP_2024];
    let mut i = 0;
    while i < shapes.len() {
        let shape = shapes[i];
        let length_and_data = if shape.has_data() { 4 } else { 0 };
        assert!(shape.vtable[0] as usize == 2 * shape.vtable.len());
        assert!(shape.table_at + shape.vtable[1] as usize + length_and_data == shape.head_bytes);
        assert!(shape.head_bytes <= HEAD_MAX && shape.head_bytes.is_multiple_of(ALIGNMENT));
        i += 1;
    }
};

/// The shape of the records of a kind in a layout; none when the layout does not have that kind.
#[must_use]
pub const fn shape(layout: Layout, kind: Kind) -> Option<Shape> {
    match (kind, layout) {
        (Kind::Message | Kind::RemoteMessage, _) => Some(MESSAGE),
        (Kind::DeliveryTime, Layout::V2022) => Some(DELIVERY_2022),
        (Kind::DeliveryTime, Layout::V2024) => Some(DELIVERY_2024),
        (Kind::MessageAndDeliveryTime, Layout::V2022) => Some(BOTH_2022),
        (Kind::MessageAndDeliveryTime, Layout::V2024) => None,
        (Kind::RemoteTimestamp, Layout::V2022) => Some(TIMESTAMP_2022),
        (Kind::RemoteTimestamp, Layout::V2024) => Some(TIMESTAMP_2024),
    }
}
