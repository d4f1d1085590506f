//! The writer for C, as declared and documented in `include/heapscribe_messages.h`. Null pointers and invalid numbers
//! return [`INVALID`]; any other pointer is trusted.
#![allow(unsafe_code)]

mod types;

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;

use uuid::Uuid;

use crate::encode::{EncodeError, Encoder, Framing, Plain, SECTOR, Snappy, Xz, Zstd};
use crate::layout::{Kind, Layout, NO_TIME};
use crate::pack::{MessageRecord, PackError};
use crate::write::{
    Clock, Files, FlushRules, HeaderTexts, MessageInfo, RemoteUpdate, Settings, StartTimes, SystemClock,
    WriteError, Writer,
};
use types::{CFields, CSettings, CStatistics};

const OK: c_int = 0;
const INVALID: c_int = 1;
const OUT_OF_SPACE: c_int = 2;
const IO: c_int = 3;
const ENCODE: c_int = 4;
const TOO_LARGE: c_int = 5;
const NO_SUCH_KIND: c_int = 6;

/// A number of nodes or channels above these is a mistake, and would take memory accordingly.
const NODES_MAX: u32 = 1 << 16;
const CHANNELS_MAX: u32 = 1 << 20;

/// The writer to which C has a pointer.
pub(crate) struct CWriter {
    writer: Writer<SystemClock>,
    layout: Layout,
}

fn code(result: Result<(), WriteError>) -> c_int {
    match result {
        Ok(()) => OK,
        Err(WriteError::OutOfSpace) => OUT_OF_SPACE,
        Err(WriteError::Io(..)) => IO,
        Err(WriteError::Encode(_)) => ENCODE,
        Err(WriteError::TooLarge(_)) => TOO_LARGE,
    }
}

#[unsafe(no_mangle)]
extern "C" fn heapscribe_messages_error(code: c_int) -> *const c_char {
    let text = match code {
        OK => c"all is well",
        INVALID => c"a null pointer, or a value that means nothing",
        OUT_OF_SPACE => c"there is no more space for the log",
        IO => c"the log cannot be written",
        ENCODE => c"the codec refused to encode",
        TOO_LARGE => c"the message has more data than the writer was made for",
        NO_SUCH_KIND => c"the layout has no records of this kind",
        _ => c"no such error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn heapscribe_messages_now() -> i64 {
    SystemClock.monotonic_ns()
}

/// # Safety
///
/// - `settings` is null, or aligned and valid for writing one `CSettings`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_settings_default(settings: *mut CSettings) {
    if !settings.is_null() {
        // SAFETY: by the first bullet, as it is not null.
        unsafe { settings.write(CSettings::default()) };
    }
}

/// # Safety
///
/// - `fields` is null, or aligned and valid for writing one `CFields`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_fields_default(fields: *mut CFields) {
    if !fields.is_null() {
        // SAFETY: by the first bullet, as it is not null.
        unsafe { fields.write(CFields::default()) };
    }
}

/// # Safety
///
/// - `settings` is null, or points to a `CSettings` that nobody writes to during the call.
/// - Each text of `settings` is null or ends with a zero; each id is null or points to 16 bytes, the configuration to as
///   many as it says.
/// - `error` is null, or aligned and valid for writing one int.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_open(settings: *const CSettings, error: *mut c_int) -> *mut CWriter {
    // SAFETY: by the first bullet for the reference, by the second for the texts.
    let opened = unsafe { settings.as_ref().ok_or(INVALID).and_then(|settings| open(settings)) };
    let (writer, code) = match opened {
        Ok(writer) => (Box::into_raw(Box::new(writer)), OK),
        Err(code) => (null_mut(), code),
    };
    if !error.is_null() {
        // SAFETY: by the bullet of `error`, as it is not null.
        unsafe { error.write(code) };
    }
    writer
}

/// # Safety
///
/// - Each text of `settings` is null or ends with a zero.
/// - Each id is null or points to 16 bytes, the configuration to as many as it says.
unsafe fn open(settings: &CSettings) -> Result<CWriter, c_int> {
    let layout = match settings.layout {
        2022 => Layout::V2022,
        2024 => Layout::V2024,
        _ => return Err(INVALID),
    };
    let data_bytes_max = usize::try_from(settings.data_bytes_max).map_err(|_| TOO_LARGE)?;
    if data_bytes_max > i32::MAX as usize / 2 {
        return Err(TOO_LARGE);
    }
    let sizes = Kind::ALL.iter().filter_map(|kind| MessageRecord::size_of(layout, *kind, data_bytes_max));
    let record_bytes_max = sizes.max().unwrap_or(0);
    // SAFETY: by the bullets, which are those of `texts` and `text`.
    let (texts, base) = unsafe { (texts(settings)?, text(settings.base)) };
    if settings.nodes > NODES_MAX || settings.channels > CHANNELS_MAX {
        return Err(INVALID);
    }
    let flush_bytes = usize::try_from(settings.flush_bytes).map_err(|_| INVALID)?;
    let encoder = encoder(settings, record_bytes_max, flush_bytes)?;
    let settings = Settings {
        layout,
        record_bytes_max,
        nodes: settings.nodes as usize,
        node_index: settings.node_index as usize,
        channels: settings.channels as usize,
        max_out_of_order_ns: settings.max_out_of_order_ns,
        flush: FlushRules { bytes: flush_bytes, period_ns: settings.flush_period_ns },
        texts,
        ..Settings::default()
    };
    let sink = Box::new(Files::new(Path::new(base?.ok_or(INVALID)?)).ok_or(INVALID)?);
    let writer = Writer::new(settings, encoder, sink, SystemClock).map_err(|_| INVALID)?;
    Ok(CWriter { writer, layout })
}

/// # Safety
///
/// - Each text of `settings` is null or ends with a zero.
/// - Each id is null or points to 16 bytes, the configuration to as many as it says.
unsafe fn texts(settings: &CSettings) -> Result<HeaderTexts, c_int> {
    let owned = |given| {
        // SAFETY: by the first bullet.
        unsafe { text(given) }.map(|text| text.map(str::to_owned))
    };
    // SAFETY: by the second bullet.
    let id = |given| unsafe { boot_id(given) };
    // SAFETY: by the second bullet.
    let given = unsafe { types::bytes(settings.configuration, settings.configuration_bytes) };
    let known = |ns: i64| Some(ns).filter(|ns| *ns != NO_TIME);
    Ok(HeaderTexts {
        name: owned(settings.name)?,
        node: owned(settings.node)?,
        logger_node: owned(settings.logger_node)?,
        log_event_uuid: id(settings.log_event_uuid),
        logger_instance_uuid: id(settings.logger_instance_uuid),
        logger_node_boot_uuid: id(settings.logger_node_boot_uuid),
        log_start_uuid: id(settings.log_start_uuid),
        configuration_sha256: owned(settings.configuration_sha256)?,
        configuration: Some(given.ok_or(INVALID)?.to_vec()).filter(|bytes| !bytes.is_empty()),
        logger_sha1: owned(settings.logger_sha1)?,
        logger_version: owned(settings.logger_version)?,
        logger_start_monotonic_ns: known(settings.logger_start_monotonic_ns),
        logger_start_realtime_ns: known(settings.logger_start_realtime_ns),
    })
}

fn encoder(
    settings: &CSettings,
    record_bytes_max: usize,
    flush_bytes: usize,
) -> Result<Box<dyn Encoder>, c_int> {
    let refused = |_: EncodeError| ENCODE;
    let buffer = flush_bytes.clamp(SECTOR, 1 << 30);
    Ok(match settings.encoder {
        0 => Box::new(Plain::new(buffer)),
        1 => {
            let framing = Framing::Aos { chunk_bytes: crate::encode::FLUSH_BYTES };
            Box::new(Snappy::new(framing, record_bytes_max).map_err(refused)?)
        }
        2 => Box::new(Snappy::new(Framing::Standard, record_bytes_max).map_err(refused)?),
        3 => Box::new(Xz::new(u32::try_from(settings.level).map_err(|_| INVALID)?).map_err(refused)?),
        4 => Box::new(Zstd::new(settings.level).map_err(refused)?),
        _ => return Err(INVALID),
    })
}

/// # Safety
///
/// - `text` is null or ends with a zero, and nobody writes to it during `'a`.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, c_int> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: by the only bullet, as it is not null.
    unsafe { CStr::from_ptr(text) }.to_str().map(Some).map_err(|_| INVALID)
}

/// # Safety
///
/// - `boot` is null, or points to 16 bytes that nobody writes to during the call.
unsafe fn boot_id(boot: *const [u8; 16]) -> Option<Uuid> {
    // SAFETY: by the only bullet.
    unsafe { boot.as_ref() }.map(|bytes| Uuid::from_bytes(*bytes))
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
/// - `fields` is null, or points to a `CFields` that nobody writes to during the call.
/// - Its data is null, or points to `data_bytes` bytes that nobody writes to during the call.
/// - `boot` is null, or points to 16 bytes that nobody writes to during the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_write(
    writer: *mut CWriter,
    kind: c_int,
    fields: *const CFields,
    boot: *const [u8; 16],
    start_ns: i64,
) -> c_int {
    // SAFETY: by the bullets of `writer`, `fields` and `boot`.
    let given = unsafe { (writer.as_mut(), fields.as_ref(), boot_id(boot)) };
    let (Some(writer), Some(fields), Some(source_boot)) = given else { return INVALID };
    let Some(kind) = usize::try_from(kind).ok().and_then(|kind| Kind::ALL.get(kind)) else { return INVALID };
    // SAFETY: by the bullet of the data.
    let Some(fields) = (unsafe { fields.fields() }) else { return INVALID };
    let info = MessageInfo {
        channel_index: fields.channel_index,
        monotonic_event_time: fields.monotonic_sent_time,
        source_boot,
    };
    match MessageRecord::new(writer.layout, *kind, &fields) {
        Ok(mut record) => code(writer.writer.write(&mut record, &info, start_ns)),
        Err(PackError::TooLarge(_)) => TOO_LARGE,
        Err(PackError::NoSuchKind(..)) => NO_SUCH_KIND,
    }
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
/// - `fields` is null, or points to a `CFields` that nobody writes to during the call.
/// - `boot` is null, or points to 16 bytes that nobody writes to during the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_update_remote(
    writer: *mut CWriter,
    node: u32,
    boot: *const [u8; 16],
    fields: *const CFields,
    is_reliable: c_int,
) -> c_int {
    // SAFETY: by the bullets of `writer`, `fields` and `boot`.
    let given = unsafe { (writer.as_mut(), fields.as_ref(), boot_id(boot)) };
    let (Some(writer), Some(fields), Some(boot)) = given else { return INVALID };
    writer.writer.update_remote(&RemoteUpdate {
        node: node as usize,
        boot,
        monotonic_remote_time: fields.monotonic_remote_time,
        monotonic_remote_transmit_time: fields.monotonic_remote_transmit_time,
        monotonic_event_time: fields.monotonic_sent_time,
        is_reliable: is_reliable != 0,
        monotonic_timestamp_time: fields.monotonic_timestamp_time,
    });
    OK
}

/// Calls `work` with a writer that is not null.
///
/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
unsafe fn with(
    writer: *mut CWriter,
    work: impl FnOnce(&mut Writer<SystemClock>) -> Result<(), WriteError>,
) -> c_int {
    // SAFETY: by the only bullet, the writer is null or exclusively ours.
    unsafe { writer.as_mut() }.map_or(INVALID, |writer| code(work(&mut writer.writer)))
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_set_start(
    writer: *mut CWriter,
    monotonic_ns: i64,
    realtime_ns: i64,
) -> c_int {
    let start = StartTimes { monotonic_ns, realtime_ns };
    // SAFETY: by the only bullet, which is that of `with`.
    unsafe {
        with(writer, |writer| {
            writer.set_start(start);
            Ok(())
        })
    }
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_rotate(writer: *mut CWriter) -> c_int {
    // SAFETY: by the only bullet, which is that of `with`.
    unsafe {
        with(writer, |writer| {
            writer.rotate();
            Ok(())
        })
    }
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_flush_if_due(writer: *mut CWriter, now_ns: i64) -> c_int {
    // SAFETY: by the only bullet, which is that of `with`.
    unsafe { with(writer, |writer| writer.flush_if_due(now_ns)) }
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_flush(writer: *mut CWriter) -> c_int {
    // SAFETY: by the only bullet, which is that of `with`.
    unsafe { with(writer, Writer::flush) }
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
/// - `statistics` is null, or aligned and valid for writing one `CStatistics`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_get_statistics(
    writer: *const CWriter,
    statistics: *mut CStatistics,
) -> c_int {
    // SAFETY: by the bullet of `writer`.
    let Some(writer) = (unsafe { writer.as_ref() }) else { return INVALID };
    if statistics.is_null() {
        return INVALID;
    }
    // SAFETY: by the bullet of `statistics`, as it is not null.
    unsafe { statistics.write(CStatistics::from(writer.writer.statistics())) };
    OK
}

/// # Safety
///
/// - `writer` is null, or was returned by `heapscribe_messages_open` and not closed, and no other thread uses it.
/// - It is not used after the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_close(writer: *mut CWriter) -> c_int {
    if writer.is_null() {
        return INVALID;
    }
    // SAFETY: by the first bullet it is a box of `heapscribe_messages_open` that was not freed; by the second
    // nobody uses it after it is freed here.
    let mut writer = unsafe { Box::from_raw(writer) };
    code(writer.writer.close())
}
