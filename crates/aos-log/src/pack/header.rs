//! The record with which a part begins: whose messages these are, from which boot, how far they reach, and
//! what is known of other nodes. It is written forwards into memory that is there already, because a part
//! may begin at any time, also while a disk is full and memory is short.
//!
//! Scalars are always written, also when they have their default; texts and lists only when they are known.

use uuid::Uuid;

use super::forward::{Forward, Placed};
use crate::header_fields::HeaderField;
use crate::layout::{Layout, NO_TIME, NOTHING_SEEN};

/// Of one node: when the oldest message of each kind was sent there, and when it arrived here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the schema's own names; HeaderField defines each")]
pub struct NodeTimes {
    pub remote: i64,
    pub local: i64,
    pub remote_unreliable: i64,
    pub local_unreliable: i64,
    pub remote_reliable: i64,
    pub local_reliable: i64,
    pub logger_remote_unreliable: i64,
    pub logger_local_unreliable: i64,
    pub remote_reliable_transmit: i64,
    pub local_reliable_transmit: i64,
}

/// Nothing was seen of the node.
impl Default for NodeTimes {
    fn default() -> Self {
        Self {
            remote: NOTHING_SEEN,
            local: NOTHING_SEEN,
            remote_unreliable: NOTHING_SEEN,
            local_unreliable: NOTHING_SEEN,
            remote_reliable: NOTHING_SEEN,
            local_reliable: NOTHING_SEEN,
            logger_remote_unreliable: NOTHING_SEEN,
            logger_local_unreliable: NOTHING_SEEN,
            remote_reliable_transmit: NOTHING_SEEN,
            local_reliable_transmit: NOTHING_SEEN,
        }
    }
}

impl NodeTimes {
    /// The time that stands in the list `field`.
    fn of(&self, field: HeaderField) -> Option<i64> {
        Some(match field {
            HeaderField::OldestRemote => self.remote,
            HeaderField::OldestLocal => self.local,
            HeaderField::OldestRemoteUnreliable => self.remote_unreliable,
            HeaderField::OldestLocalUnreliable => self.local_unreliable,
            HeaderField::OldestRemoteReliable => self.remote_reliable,
            HeaderField::OldestLocalReliable => self.local_reliable,
            HeaderField::OldestLoggerRemoteUnreliable => self.logger_remote_unreliable,
            HeaderField::OldestLoggerLocalUnreliable => self.logger_local_unreliable,
            HeaderField::OldestRemoteReliableTransmit => self.remote_reliable_transmit,
            HeaderField::OldestLocalReliableTransmit => self.local_reliable_transmit,
            _ => return None,
        })
    }
}

/// The fields of a header; [`HeaderField`] defines each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the schema's own names; HeaderField defines each")]
pub struct Header<'a> {
    pub monotonic_start_time: i64,
    pub realtime_start_time: i64,
    pub max_out_of_order_duration: i64,
    /// A finished flatbuffer without a length in front.
    pub configuration: Option<&'a [u8]>,
    pub name: Option<&'a str>,
    pub node: Option<&'a str>,
    pub log_event_uuid: Option<Uuid>,
    pub parts_uuid: Option<Uuid>,
    pub parts_index: i32,
    pub logger_node: Option<&'a str>,
    pub logger_instance_uuid: Option<Uuid>,
    pub logger_node_boot_uuid: Option<Uuid>,
    pub log_start_uuid: Option<Uuid>,
    pub source_node_boot_uuid: Option<Uuid>,
    pub logger_monotonic_start_time: i64,
    pub logger_realtime_start_time: i64,
    pub configuration_sha256: Option<&'a str>,
    /// By node; none where it is not known.
    pub boot_uuids: &'a [Option<Uuid>],
    pub logger_part_monotonic_start_time: i64,
    pub logger_part_realtime_start_time: i64,
    /// By node.
    pub oldest: &'a [NodeTimes],
    pub logger_sha1: Option<&'a str>,
    pub logger_version: Option<&'a str>,
    /// 0 data, 1 timestamps, 2 remote timestamps.
    pub data_stored: &'a [u8],
}

/// Each field at the default of the schema, or not there.
impl Default for Header<'_> {
    fn default() -> Self {
        Self {
            monotonic_start_time: NO_TIME,
            realtime_start_time: NO_TIME,
            max_out_of_order_duration: 0,
            configuration: None,
            name: None,
            node: None,
            log_event_uuid: None,
            parts_uuid: None,
            parts_index: 0,
            logger_node: None,
            logger_instance_uuid: None,
            logger_node_boot_uuid: None,
            log_start_uuid: None,
            source_node_boot_uuid: None,
            logger_monotonic_start_time: NO_TIME,
            logger_realtime_start_time: NO_TIME,
            configuration_sha256: None,
            boot_uuids: &[],
            logger_part_monotonic_start_time: NO_TIME,
            logger_part_realtime_start_time: NO_TIME,
            oldest: &[],
            logger_sha1: None,
            logger_version: None,
            data_stored: &[],
        }
    }
}

/// The memory given is too small for a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderTooLarge {
    /// Bytes that it needs.
    pub needs_bytes: usize,
}

impl std::fmt::Display for HeaderTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the header needs {} bytes", self.needs_bytes)
    }
}

impl std::error::Error for HeaderTooLarge {}

/// A field's value.
enum Value<'a> {
    Absent,
    Long(i64),
    Int(i32),
    Text(&'a str),
    Id(Uuid),
    Ids(&'a [Option<Uuid>]),
    Times(HeaderField),
    Bytes(&'a [u8]),
    Node(&'a str),
    Table(&'a [u8]),
}

impl<'a> Header<'a> {
    /// Bytes of the record, its length in front included.
    #[must_use]
    pub fn size(&self, layout: Layout) -> usize {
        self.pack(layout, &mut []).unwrap_or_else(|short| short.needs_bytes)
    }

    /// Writes the record to the beginning of `buffer`, and returns its length.
    pub fn pack(&self, layout: Layout, buffer: &mut [u8]) -> Result<usize, HeaderTooLarge> {
        let fields = &HeaderField::ALL[..HeaderField::count(layout)];
        let has_room = buffer.len();
        let mut out = Forward::new(buffer);
        let mut placed = [Placed::default(); HeaderField::ALL.len()];
        for (i, field) in fields.iter().enumerate() {
            placed[i] = match self.value(*field) {
                Value::Absent => Placed::Nowhere,
                Value::Long(_) => Placed::Eight,
                _ => Placed::Four,
            };
        }
        let table_at = out.table(&mut placed[..fields.len()]);
        for (i, field) in fields.iter().enumerate() {
            if let Placed::At(in_table) = placed[i] {
                self.put(&mut out, table_at + usize::from(in_table), *field);
            }
        }
        let needs_bytes = out.finish();
        if needs_bytes > has_room { Err(HeaderTooLarge { needs_bytes }) } else { Ok(needs_bytes) }
    }

    /// Writes a field at its place in the table, or what it points to.
    fn put(&self, out: &mut Forward<'_>, at: usize, field: HeaderField) {
        match self.value(field) {
            Value::Absent => {}
            Value::Long(value) => out.set(at, &value.to_le_bytes()),
            Value::Int(value) => out.set(at, &value.to_le_bytes()),
            Value::Text(text) => out.text(at, text),
            Value::Id(id) => out.id(at, Some(id)),
            Value::Ids(ids) => out.ids(at, ids),
            Value::Times(field) => out.longs(at, self.oldest.iter().filter_map(|node| node.of(field))),
            Value::Bytes(bytes) => out.bytes(at, bytes),
            Value::Node(name) => out.named(at, name),
            Value::Table(flatbuffer) => out.embed(at, flatbuffer),
        }
    }

    fn value(&self, field: HeaderField) -> Value<'a> {
        use HeaderField as F;
        let text = |text: Option<&'a str>| text.map_or(Value::Absent, Value::Text);
        let id = |id: Option<Uuid>| id.map_or(Value::Absent, Value::Id);
        let node = |name: Option<&'a str>| name.map_or(Value::Absent, Value::Node);
        match field {
            F::MonotonicStartTime => Value::Long(self.monotonic_start_time),
            F::RealtimeStartTime => Value::Long(self.realtime_start_time),
            F::MaxOutOfOrderDuration => Value::Long(self.max_out_of_order_duration),
            F::Configuration => self.configuration.map_or(Value::Absent, Value::Table),
            F::Name => text(self.name),
            F::Node => node(self.node),
            F::LogEventUuid => id(self.log_event_uuid),
            F::PartsUuid => id(self.parts_uuid),
            F::PartsIndex => Value::Int(self.parts_index),
            F::LoggerNode => node(self.logger_node),
            F::LoggerInstanceUuid => id(self.logger_instance_uuid),
            F::LoggerNodeBootUuid => id(self.logger_node_boot_uuid),
            F::LogStartUuid => id(self.log_start_uuid),
            F::SourceNodeBootUuid => id(self.source_node_boot_uuid),
            F::LoggerMonotonicStartTime => Value::Long(self.logger_monotonic_start_time),
            F::LoggerRealtimeStartTime => Value::Long(self.logger_realtime_start_time),
            F::ConfigurationSha256 => text(self.configuration_sha256),
            F::BootUuids if self.boot_uuids.is_empty() => Value::Absent,
            F::BootUuids => Value::Ids(self.boot_uuids),
            F::LoggerPartMonotonicStartTime => Value::Long(self.logger_part_monotonic_start_time),
            F::LoggerPartRealtimeStartTime => Value::Long(self.logger_part_realtime_start_time),
            F::Gone20 | F::Gone21 | F::Gone22 | F::Gone23 => Value::Absent,
            F::LoggerSha1 => text(self.logger_sha1),
            F::LoggerVersion => text(self.logger_version),
            F::DataStored if self.data_stored.is_empty() => Value::Absent,
            F::DataStored => Value::Bytes(self.data_stored),
            _ if self.oldest.is_empty() => Value::Absent,
            _ => Value::Times(field),
        }
    }
}
