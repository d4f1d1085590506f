//! The writer for C: what `include/heapscribe_messages.h` declares, which says what each function does. Null
//! pointers and numbers that mean nothing are answered with [`INVALID`]; a pointer that is not null is believed.
#![allow(unsafe_code)]

mod types;

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;

use uuid::Uuid;

use crate::encode::{EncodeError, Encoder, Framing, Plain, SECTOR, Snappy, Xz, Zstd};
use crate::layout::{Kind, Layout};
use crate::pack::{MessageRecord, PackError};
use crate::write::{
    About, Clock, Files, FlushRules, HeaderTexts, Seen, Settings, StartTimes, SystemClock, WriteError, Writer,
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

/// What C holds a pointer to.
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
/// - `settings` is null or has room for settings.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_settings_default(settings: *mut CSettings) {
    if !settings.is_null() {
        // SAFETY: there is room for settings, the caller says.
        unsafe { settings.write(CSettings::default()) };
    }
}

/// # Safety
///
/// - `fields` is null or has room for fields.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_fields_default(fields: *mut CFields) {
    if !fields.is_null() {
        // SAFETY: there is room for fields, the caller says.
        unsafe { fields.write(CFields::default()) };
    }
}

/// # Safety
///
/// - `settings` is null or has settings, with texts that are null or end with a zero.
/// - `error` is null or has room for an int.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_open(settings: *const CSettings, error: *mut c_int) -> *mut CWriter {
    // SAFETY: settings, the caller says, with texts that end.
    let opened = unsafe { settings.as_ref().ok_or(INVALID).and_then(|settings| open(settings)) };
    let (writer, code) = match opened {
        Ok(writer) => (Box::into_raw(Box::new(writer)), OK),
        Err(code) => (null_mut(), code),
    };
    if !error.is_null() {
        // SAFETY: there is room for an int, the caller says.
        unsafe { error.write(code) };
    }
    writer
}

/// # Safety
///
/// - The texts are null or end with a zero.
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
    let given = [settings.base, settings.name, settings.node, settings.configuration_sha256];
    // SAFETY: texts end with a zero or are null, the caller says.
    let [base, name, node, sha256] = unsafe { given.map(|given| text(given)) };
    let owned = |text: Result<Option<&str>, c_int>| text.map(|text| text.map(str::to_owned));
    let texts = HeaderTexts {
        name: owned(name)?,
        node: owned(node)?,
        configuration_sha256: owned(sha256)?,
        ..HeaderTexts::default()
    };
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
/// - `text` is null or ends with a zero.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, c_int> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it ends with a zero, the caller says.
    unsafe { CStr::from_ptr(text) }.to_str().map(Some).map_err(|_| INVALID)
}

/// # Safety
///
/// - `boot` is null or has 16 bytes.
unsafe fn boot_id(boot: *const [u8; 16]) -> Option<Uuid> {
    // SAFETY: 16 bytes, the caller says.
    unsafe { boot.as_ref() }.map(|bytes| Uuid::from_bytes(*bytes))
}

/// # Safety
///
/// - `writer` is null or came from `heapscribe_messages_open`, was not closed, and no other thread uses it.
/// - `fields` is null or has fields, whose data is null or has as many bytes as they say.
/// - `boot` is null or has 16 bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_write(
    writer: *mut CWriter,
    kind: c_int,
    fields: *const CFields,
    boot: *const [u8; 16],
    start_ns: i64,
) -> c_int {
    // SAFETY: each is null or what the caller says it is.
    let given = unsafe { (writer.as_mut(), fields.as_ref(), boot_id(boot)) };
    let (Some(writer), Some(fields), Some(source_boot)) = given else { return INVALID };
    let Some(kind) = usize::try_from(kind).ok().and_then(|kind| Kind::ALL.get(kind)) else { return INVALID };
    // SAFETY: the data is null or has its bytes, the caller says.
    let Some(fields) = (unsafe { fields.fields() }) else { return INVALID };
    let about = About {
        channel_index: fields.channel_index,
        monotonic_event_time: fields.monotonic_sent_time,
        source_boot,
    };
    match MessageRecord::new(writer.layout, *kind, &fields) {
        Ok(mut record) => code(writer.writer.write(&mut record, &about, start_ns)),
        Err(PackError::TooLarge(_)) => TOO_LARGE,
        Err(PackError::NoSuchKind(..)) => NO_SUCH_KIND,
    }
}

/// # Safety
///
/// As of `heapscribe_messages_write`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_update_remote(
    writer: *mut CWriter,
    node: u32,
    boot: *const [u8; 16],
    fields: *const CFields,
    is_reliable: c_int,
) -> c_int {
    // SAFETY: each is null or what the caller says it is.
    let given = unsafe { (writer.as_mut(), fields.as_ref(), boot_id(boot)) };
    let (Some(writer), Some(fields), Some(boot)) = given else { return INVALID };
    writer.writer.update_remote(&Seen {
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

/// What is done with a writer that is there.
///
/// # Safety
///
/// - `writer` is null or came from `heapscribe_messages_open`, was not closed, and no other thread uses it.
unsafe fn with(
    writer: *mut CWriter,
    work: impl FnOnce(&mut Writer<SystemClock>) -> Result<(), WriteError>,
) -> c_int {
    // SAFETY: null or a writer that is nobody else's, the caller says.
    unsafe { writer.as_mut() }.map_or(INVALID, |writer| code(work(&mut writer.writer)))
}

/// # Safety
///
/// As of `with`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_set_start(
    writer: *mut CWriter,
    monotonic_ns: i64,
    realtime_ns: i64,
) -> c_int {
    let start = StartTimes { monotonic_ns, realtime_ns };
    // SAFETY: as of `with`.
    unsafe {
        with(writer, |writer| {
            writer.set_start(start);
            Ok(())
        })
    }
}

/// # Safety
///
/// As of `with`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_rotate(writer: *mut CWriter) -> c_int {
    // SAFETY: as of `with`.
    unsafe {
        with(writer, |writer| {
            writer.rotate();
            Ok(())
        })
    }
}

/// # Safety
///
/// As of `with`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_flush_if_due(writer: *mut CWriter, now_ns: i64) -> c_int {
    // SAFETY: as of `with`.
    unsafe { with(writer, |writer| writer.flush_if_due(now_ns)) }
}

/// # Safety
///
/// As of `with`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_flush(writer: *mut CWriter) -> c_int {
    // SAFETY: as of `with`.
    unsafe { with(writer, Writer::flush) }
}

/// # Safety
///
/// - `writer` is as of `with`.
/// - `statistics` is null or has room for statistics.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_get_statistics(
    writer: *const CWriter,
    statistics: *mut CStatistics,
) -> c_int {
    // SAFETY: null or a writer, the caller says.
    let Some(writer) = (unsafe { writer.as_ref() }) else { return INVALID };
    if statistics.is_null() {
        return INVALID;
    }
    // SAFETY: there is room for statistics, the caller says.
    unsafe { statistics.write(CStatistics::from(writer.writer.statistics())) };
    OK
}

/// # Safety
///
/// As of `with`; the writer is no more afterwards.
#[unsafe(no_mangle)]
unsafe extern "C" fn heapscribe_messages_close(writer: *mut CWriter) -> c_int {
    if writer.is_null() {
        return INVALID;
    }
    // SAFETY: it came from `heapscribe_messages_open`, which made it of a box, and was not closed before.
    let mut writer = unsafe { Box::from_raw(writer) };
    code(writer.writer.close())
}
