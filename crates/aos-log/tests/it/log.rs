//! A log in memory, with a clock of its own, and just enough of a reader to look at it.
#![allow(missing_docs, unreachable_pub, reason = "`pub` says what the tests use")]

use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use heapscribe_aos_log::encode::Plain;
use heapscribe_aos_log::header_fields::HeaderField;
use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::pack::{Fields, MessageRecord};
use heapscribe_aos_log::write::{Clock, MessageInfo, Settings, Sink, WriteError, Writer};
use uuid::Uuid;

/// A clock that stands still, or ticks by so much each time it is read.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now: Arc<AtomicI64>,
    tick: i64,
}

impl FakeClock {
    pub fn ticking(tick: i64) -> Self {
        Self { tick, ..Self::default() }
    }

    pub fn set(&self, now: i64) {
        self.now.store(now, Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn monotonic_ns(&self) -> i64 {
        self.now.fetch_add(self.tick, Ordering::Relaxed)
    }

    fn realtime_ns(&self) -> i64 {
        self.now.load(Ordering::Relaxed) + 1_000_000
    }
}

/// Parts in memory, with room for so many bytes.
#[derive(Clone, Debug)]
pub struct Memory {
    pub parts: Arc<Mutex<Vec<Vec<u8>>>>,
    pub writes: Arc<Mutex<Vec<usize>>>,
    pub limit: usize,
}

impl Memory {
    pub fn new(limit: usize) -> Self {
        Self { parts: Arc::default(), writes: Arc::default(), limit }
    }

    pub fn parts(&self) -> Vec<Vec<u8>> {
        self.parts.lock().expect("parts").clone()
    }
}

impl Sink for Memory {
    fn open(&mut self, part_index: i32, _extension: &str) -> io::Result<()> {
        let mut parts = self.parts.lock().expect("parts");
        assert_eq!(part_index as usize, parts.len(), "parts are numbered one after the other");
        parts.push(Vec::new());
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut parts = self.parts.lock().expect("parts");
        let used: usize = parts.iter().map(Vec::len).sum();
        let room = self.limit - used;
        if room == 0 {
            return Err(io::Error::from_raw_os_error(28));
        }
        let taken = room.min(bytes.len());
        parts.last_mut().expect("one is open").extend_from_slice(&bytes[..taken]);
        self.writes.lock().expect("writes").push(taken);
        Ok(taken)
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer into memory, whose new parts are called 1, 1, 1 and so on.
pub fn writer(memory: &Memory, clock: &FakeClock, change: impl FnOnce(&mut Settings)) -> Writer<FakeClock> {
    let mut settings = Settings { nodes: 2, channels: 4, new_uuid: Uuid::new_v4, ..Settings::default() };
    change(&mut settings);
    let encoder = Box::new(Plain::new(settings.flush.bytes));
    Writer::new(settings, encoder, Box::new(memory.clone()), clock.clone()).expect("settings")
}

pub const BOOT: Uuid = Uuid::from_u128(1);

pub fn about(channel_index: u32, monotonic_event_time: i64) -> MessageInfo {
    MessageInfo { channel_index, monotonic_event_time, source_boot: BOOT }
}

/// Writes a message of so many bytes to a channel.
pub fn write(
    writer: &mut Writer<FakeClock>,
    info: MessageInfo,
    now: i64,
    data: &[u8],
) -> Result<(), WriteError> {
    let fields = Fields {
        channel_index: info.channel_index,
        monotonic_sent_time: info.monotonic_event_time,
        data,
        ..Fields::default()
    };
    let mut record = MessageRecord::new(Layout::V2024, Kind::Message, &fields).expect("a record");
    writer.write(&mut record, &info, now)
}

/// The records of a part, the header first.
pub fn records(part: &[u8]) -> Vec<&[u8]> {
    let mut rest = part;
    let mut records = Vec::new();
    while let Some(length) = rest.first_chunk() {
        let end = 4 + u32::from_le_bytes(*length) as usize;
        if end > rest.len() {
            break;
        }
        let (record, behind) = rest.split_at(end);
        records.push(record);
        rest = behind;
    }
    records
}

fn u32_at(record: &[u8], at: usize) -> usize {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("4 bytes")) as usize
}

fn i64_at(record: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"))
}

/// Where a field of a record's table is.
pub fn field_at(record: &[u8], field: usize) -> Option<usize> {
    let table = 4 + u32_at(record, 4);
    let vtable = table - u32_at(record, table);
    let entry = vtable + 4 + 2 * field;
    let offset = u16::from_le_bytes(record[entry..entry + 2].try_into().expect("2 bytes"));
    (offset != 0).then_some(table + offset as usize)
}

pub fn time(record: &[u8], field: HeaderField) -> i64 {
    i64_at(record, field_at(record, field as usize).expect("the field"))
}

pub fn index(record: &[u8], field: HeaderField) -> usize {
    u32_at(record, field_at(record, field as usize).expect("the field"))
}

pub fn text(record: &[u8], field: HeaderField) -> &str {
    let at = field_at(record, field as usize).expect("the field");
    let start = at + u32_at(record, at);
    std::str::from_utf8(&record[start + 4..start + 4 + u32_at(record, start)]).expect("UTF-8")
}

pub fn times(record: &[u8], field: HeaderField) -> Vec<i64> {
    let at = field_at(record, field as usize).expect("the field");
    let start = at + u32_at(record, at);
    (0..u32_at(record, start)).map(|i| i64_at(record, start + 4 + 8 * i)).collect()
}
