//! The fields of a `LogFileHeader`, with which every part begins: number, name and type. 37 of them since
//! 2024; the layout of 2022 ends before [`HeaderField::DataStored`].

use crate::layout::Layout;

/// What a header's field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// i64, with this default.
    Time(i64),
    /// i64 of nanoseconds, default 0.
    Duration,
    /// i32, default 0.
    Index,
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// A list of i64.
    Times,
    /// A list of u8.
    Bytes,
    /// A table with a name (field 0, a string).
    Node,
    /// A table whose content is not read.
    Table,
    /// A field that is no longer written.
    Gone,
}

macro_rules! header_fields {
    ($($(#[$doc:meta])* $variant:ident = $number:literal $name:literal $type:expr;)*) => {
        /// A field of the header, by its number in the schema.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum HeaderField { $($(#[$doc])* $variant = $number,)* }

        impl HeaderField {
            /// All fields, by number.
            pub const ALL: [HeaderField; 37] = [$(HeaderField::$variant,)*];

            /// The field's name in the schema.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(HeaderField::$variant => $name,)* }
            }

            /// What the field holds.
            #[must_use]
            pub const fn field_type(self) -> FieldType {
                match self { $(HeaderField::$variant => $type,)* }
            }
        }
    };
}

const START: FieldType = FieldType::Time(i64::MIN);

header_fields! {
    /// When the logger began on this node.
    MonotonicStartTime = 0 "monotonic_start_time" START;
    /// The same as wall time.
    RealtimeStartTime = 1 "realtime_start_time" START;
    /// How much older than the newest a message may be, in ns.
    MaxOutOfOrderDuration = 2 "max_out_of_order_duration" FieldType::Duration;
    /// The configuration itself, where there is no file of its own.
    Configuration = 3 "configuration" FieldType::Table;
    /// Name of the log.
    Name = 4 "name" FieldType::Text;
    /// The node whose messages these are.
    Node = 5 "node" FieldType::Node;
    /// Names the event: the same in all files of all loggers of it.
    LogEventUuid = 6 "log_event_uuid" FieldType::Text;
    /// Names the sequence of parts.
    PartsUuid = 7 "parts_uuid" FieldType::Text;
    /// Which of the sequence this part is.
    PartsIndex = 8 "parts_index" FieldType::Index;
    /// The node that logs.
    LoggerNode = 9 "logger_node" FieldType::Node;
    /// Names the logger's process.
    LoggerInstanceUuid = 10 "logger_instance_uuid" FieldType::Text;
    /// Names the boot of the node that logs.
    LoggerNodeBootUuid = 11 "logger_node_boot_uuid" FieldType::Text;
    /// Names the log of this logger.
    LogStartUuid = 12 "log_start_uuid" FieldType::Text;
    /// Names the boot of the node whose messages these are.
    SourceNodeBootUuid = 13 "source_node_boot_uuid" FieldType::Text;
    /// When the logger began, on the node that logs.
    LoggerMonotonicStartTime = 14 "logger_monotonic_start_time" START;
    /// The same as wall time.
    LoggerRealtimeStartTime = 15 "logger_realtime_start_time" START;
    /// Names the file with the configuration.
    ConfigurationSha256 = 16 "configuration_sha256" FieldType::Text;
    /// The boot of each node, empty where it is not known.
    BootUuids = 17 "boot_uuids" FieldType::Texts;
    /// When this part began, on the node that logs.
    LoggerPartMonotonicStartTime = 18 "logger_part_monotonic_start_time" START;
    /// The same as wall time.
    LoggerPartRealtimeStartTime = 19 "logger_part_realtime_start_time" START;
    /// No longer written.
    Gone20 = 20 "corrupted_a" FieldType::Gone;
    /// No longer written.
    Gone21 = 21 "corrupted_b" FieldType::Gone;
    /// No longer written.
    Gone22 = 22 "corrupted_c" FieldType::Gone;
    /// No longer written.
    Gone23 = 23 "corrupted_d" FieldType::Gone;
    /// Of each node, the sender's time of the oldest message from it.
    OldestRemote = 24 "oldest_remote_monotonic_timestamps" FieldType::Times;
    /// Of each node, our time when that message arrived.
    OldestLocal = 25 "oldest_local_monotonic_timestamps" FieldType::Times;
    /// The same for messages that may be lost on their way.
    OldestRemoteUnreliable = 26 "oldest_remote_unreliable_monotonic_timestamps" FieldType::Times;
    /// The same for messages that may be lost on their way.
    OldestLocalUnreliable = 27 "oldest_local_unreliable_monotonic_timestamps" FieldType::Times;
    /// The same for messages that are sent until they arrive.
    OldestRemoteReliable = 28 "oldest_remote_reliable_monotonic_timestamps" FieldType::Times;
    /// The same for messages that are sent until they arrive.
    OldestLocalReliable = 29 "oldest_local_reliable_monotonic_timestamps" FieldType::Times;
    /// Of timestamps that were returned to us: the sender's time.
    OldestLoggerRemoteUnreliable = 30 "oldest_logger_remote_unreliable_monotonic_timestamps" FieldType::Times;
    /// Of timestamps that were returned to us: our time.
    OldestLoggerLocalUnreliable = 31 "oldest_logger_local_unreliable_monotonic_timestamps" FieldType::Times;
    /// Commit of the logger.
    LoggerSha1 = 32 "logger_sha1" FieldType::Text;
    /// Version of the logger.
    LoggerVersion = 33 "logger_version" FieldType::Text;
    /// What the part holds: data, timestamps, remote timestamps. Since 2024, as the two below.
    DataStored = 34 "data_stored" FieldType::Bytes;
    /// Of each node, when the oldest reliable message was transmitted, by the sender's clock.
    OldestRemoteReliableTransmit = 35 "oldest_remote_reliable_monotonic_transmit_timestamps" FieldType::Times;
    /// Of each node, our time when that message arrived.
    OldestLocalReliableTransmit = 36 "oldest_local_reliable_monotonic_transmit_timestamps" FieldType::Times;
}

impl HeaderField {
    /// How many fields the layout has.
    #[must_use]
    pub const fn count(layout: Layout) -> usize {
        match layout {
            Layout::V2022 => HeaderField::DataStored as usize,
            Layout::V2024 => HeaderField::ALL.len(),
        }
    }
}
