//! The structs of `include/heapscribe_messages.h`, field by field in its order.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::layout::{NO_QUEUE_INDEX, NO_TIME};
use crate::pack::Fields;
use crate::write::WriterStatistics;

/// `heapscribe_messages_settings`.
#[repr(C)]
pub(super) struct CSettings {
    pub(super) base: *const c_char,
    pub(super) layout: u32,
    pub(super) encoder: u32,
    pub(super) level: i32,
    pub(super) nodes: u32,
    pub(super) node_index: u32,
    pub(super) channels: u32,
    pub(super) data_bytes_max: u64,
    pub(super) max_out_of_order_ns: i64,
    pub(super) flush_bytes: u64,
    pub(super) flush_period_ns: i64,
    pub(super) name: *const c_char,
    pub(super) node: *const c_char,
    pub(super) configuration_sha256: *const c_char,
    pub(super) logger_node: *const c_char,
    pub(super) logger_sha1: *const c_char,
    pub(super) logger_version: *const c_char,
    pub(super) log_event_uuid: *const [u8; 16],
    pub(super) log_start_uuid: *const [u8; 16],
    pub(super) logger_instance_uuid: *const [u8; 16],
    pub(super) logger_node_boot_uuid: *const [u8; 16],
    pub(super) configuration: *const c_void,
    pub(super) configuration_bytes: u64,
    pub(super) logger_start_monotonic_ns: i64,
    pub(super) logger_start_realtime_ns: i64,
}

impl Default for CSettings {
    fn default() -> Self {
        Self {
            base: null(),
            layout: 2024,
            encoder: 0,
            level: 3,
            nodes: 1,
            node_index: 0,
            channels: 1,
            data_bytes_max: 64 << 10,
            max_out_of_order_ns: 300_000_000,
            flush_bytes: 128 << 10,
            flush_period_ns: 5_000_000_000,
            name: null(),
            node: null(),
            configuration_sha256: null(),
            logger_node: null(),
            logger_sha1: null(),
            logger_version: null(),
            log_event_uuid: null(),
            log_start_uuid: null(),
            logger_instance_uuid: null(),
            logger_node_boot_uuid: null(),
            configuration: null(),
            configuration_bytes: 0,
            logger_start_monotonic_ns: NO_TIME,
            logger_start_realtime_ns: NO_TIME,
        }
    }
}

/// `heapscribe_messages_fields`.
#[repr(C)]
pub(super) struct CFields {
    pub(super) channel_index: u32,
    pub(super) queue_index: u32,
    pub(super) remote_queue_index: u32,
    pub(super) monotonic_sent_time: i64,
    pub(super) realtime_sent_time: i64,
    pub(super) monotonic_remote_time: i64,
    pub(super) realtime_remote_time: i64,
    pub(super) monotonic_timestamp_time: i64,
    pub(super) monotonic_remote_transmit_time: i64,
    pub(super) data: *const c_void,
    pub(super) data_bytes: u64,
}

impl Default for CFields {
    fn default() -> Self {
        Self {
            channel_index: 0,
            queue_index: 0,
            remote_queue_index: NO_QUEUE_INDEX,
            monotonic_sent_time: 0,
            realtime_sent_time: 0,
            monotonic_remote_time: NO_TIME,
            realtime_remote_time: NO_TIME,
            monotonic_timestamp_time: NO_TIME,
            monotonic_remote_transmit_time: NO_TIME,
            data: null(),
            data_bytes: 0,
        }
    }
}

impl CFields {
    /// The same for Rust; none when `data_bytes` is not 0 and the data is null.
    ///
    /// # Safety
    ///
    /// - The data is null, or points to `data_bytes` bytes that nobody writes to while the result is used.
    pub(super) unsafe fn fields(&self) -> Option<Fields<'_>> {
        // SAFETY: by the only bullet.
        let data = unsafe { bytes(self.data, self.data_bytes) }?;
        Some(Fields {
            channel_index: self.channel_index,
            monotonic_sent_time: self.monotonic_sent_time,
            realtime_sent_time: self.realtime_sent_time,
            queue_index: self.queue_index,
            data,
            monotonic_remote_time: self.monotonic_remote_time,
            realtime_remote_time: self.realtime_remote_time,
            remote_queue_index: self.remote_queue_index,
            monotonic_timestamp_time: self.monotonic_timestamp_time,
            monotonic_remote_transmit_time: self.monotonic_remote_transmit_time,
        })
    }
}

/// What a pointer and a length mean; none when it is null and the length is not 0.
///
/// # Safety
///
/// - The pointer is null, or points to so many bytes that nobody writes to during `'a`.
pub(super) unsafe fn bytes<'a>(from: *const c_void, bytes: u64) -> Option<&'a [u8]> {
    Some(match usize::try_from(bytes).ok().filter(|bytes| *bytes <= isize::MAX as usize)? {
        0 => &[],
        _ if from.is_null() => return None,
        // SAFETY: by the only bullet, as it is not null; the length is at most `isize::MAX`.
        bytes => unsafe { std::slice::from_raw_parts(from.cast(), bytes) },
    })
}

/// `heapscribe_messages_statistics`.
#[repr(C)]
pub(super) struct CStatistics {
    messages: u64,
    dropped_messages: u64,
    record_bytes: u64,
    file_bytes: u64,
    parts: u64,
    copy_total_ns: u64,
    copy_max_ns: u64,
    encode_total_ns: u64,
    encode_max_ns: u64,
    write_total_ns: u64,
    write_max_ns: u64,
    delay_max_ns: u64,
}

impl From<&WriterStatistics> for CStatistics {
    fn from(from: &WriterStatistics) -> Self {
        Self {
            messages: from.messages,
            dropped_messages: from.dropped_messages,
            record_bytes: from.record_bytes,
            file_bytes: from.write.bytes,
            parts: from.parts,
            copy_total_ns: from.copy.total_ns,
            copy_max_ns: from.copy.max_ns,
            encode_total_ns: from.encode.total_ns,
            encode_max_ns: from.encode.max_ns,
            write_total_ns: from.write.total_ns,
            write_max_ns: from.write.max_ns,
            delay_max_ns: from.delay_max_ns,
        }
    }
}
