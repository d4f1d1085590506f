//! What is in a file when its program is killed or its disk is full, by encoder: read with the crate's reader, which
//! stops where a file does.

use crate::log::{FakeClock, Memory, about, write};
use heapscribe_aos_log::encode::{Encoder, FLUSH_BYTES, Framing, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::pack::{Fields, MessageRecord, Record};
use heapscribe_aos_log::read::{PartReader, Policy};
use heapscribe_aos_log::write::{FlushRules, Settings, Writer};

const PLENTY: usize = 1 << 30;
/// Bytes of data of a message, and of its record.
const DATA_BYTES: usize = 1000;
const RECORD_BYTES: usize = DATA_BYTES + 64;
const PERIOD_NS: i64 = 1_000_000_000;

fn encoders() -> Vec<(&'static str, Box<dyn Encoder>)> {
    let aos = Framing::Aos { chunk_bytes: FLUSH_BYTES };
    vec![
        ("plain", Box::new(Plain::new(FLUSH_BYTES))),
        ("sz", Box::new(Snappy::new(aos, 2 * DATA_BYTES).unwrap())),
        ("sz, standard", Box::new(Snappy::new(Framing::Standard, 2 * DATA_BYTES).unwrap())),
        ("xz", Box::new(Xz::new(0).unwrap())),
        ("zst", Box::new(Zstd::new(3).unwrap())),
    ]
}

fn writer(encoder: Box<dyn Encoder>, memory: &Memory) -> Writer<FakeClock> {
    let flush = FlushRules { period_ns: PERIOD_NS, ..FlushRules::default() };
    let settings = Settings { flush, ..Settings::default() };
    Writer::new(settings, encoder, Box::new(memory.clone()), FakeClock::default()).unwrap()
}

/// Data that compress well, as most do, or not at all.
fn data(is_noise: bool, message: usize) -> Vec<u8> {
    let mut state = message as u64 * 2 + 1;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..DATA_BYTES).map(|i| if is_noise { noise() } else { (i + message) as u8 }).collect()
}

/// Messages that can be read of what is in the file now.
fn readable(memory: &Memory) -> usize {
    let parts = memory.parts();
    let Ok(mut reader) = PartReader::open(&parts[0][..], Policy::Skip) else { return 0 };
    let mut count = 0;
    while let Ok(Some(_)) = reader.next_message() {
        count += 1;
    }
    count
}

/// xz and zstd kept megabytes: a robot that was killed after 0.4 s left 0 bytes.
#[test]
fn a_killed_program_loses_a_bounded_number_of_bytes() {
    for is_noise in [false, true] {
        for (name, encoder) in encoders() {
            let memory = Memory::new(PLENTY);
            let mut writer = writer(encoder, &memory);
            for message in 0..1000 {
                write(&mut writer, about(0, 0), 0, &data(is_noise, message)).unwrap();
                if message % 61 == 0 {
                    let lost = (message + 1 - readable(&memory)) * RECORD_BYTES;
                    assert!(
                        lost <= FLUSH_BYTES + RECORD_BYTES,
                        "{name}: {lost} bytes lost of {message} messages"
                    );
                }
            }
        }
    }
}

#[test]
fn a_killed_program_loses_a_bounded_time() {
    for (name, encoder) in encoders() {
        let memory = Memory::new(PLENTY);
        let mut writer = writer(encoder, &memory);
        for message in 0..20 {
            write(&mut writer, about(0, 0), message * PERIOD_NS / 4, &data(false, 1)).unwrap();
            let last_period = 5;
            let seen = readable(&memory);
            assert!(seen + last_period >= message as usize, "{name}: {seen} of {message} messages");
        }
        writer.flush_if_due(100 * PERIOD_NS).unwrap();
        assert_eq!(readable(&memory), 20, "{name}: after a while without messages");
        write(&mut writer, about(0, 0), 100 * PERIOD_NS, &[]).unwrap();
        writer.flush().unwrap();
        assert_eq!(readable(&memory), 21, "{name}: flushed");
    }
}

#[test]
fn a_message_that_meets_a_full_disk_is_counted_once() {
    for (name, encoder) in encoders() {
        let memory = Memory::new(300_000);
        let mut writer = writer(encoder, &memory);
        let mut attempts = 0;
        while write(&mut writer, about(0, 0), 0, &data(true, attempts)).is_ok() {
            attempts += 1;
        }
        let statistics = writer.statistics();
        assert_eq!((statistics.messages, statistics.dropped_messages), (attempts as u64, 1), "{name}");
        assert_eq!(writer.channels()[0].messages, attempts as u64, "{name}");
        let seen = readable(&memory);
        let lost = (attempts - seen) * RECORD_BYTES;
        assert!(
            seen > 0 && lost <= FLUSH_BYTES + RECORD_BYTES,
            "{name}: {seen} of {attempts} are in the file"
        );
    }
}

/// Bytes of a file of some messages; how often its codec was flushed for a killed program.
fn file_bytes(mut encoder: Box<dyn Encoder>, is_flushed: bool) -> (u64, usize) {
    let mut flushes = 0;
    for message in 0..4000 {
        let data = data(message % 8 == 0, message);
        let fields = Fields { data: &data, ..Fields::default() };
        let mut record = MessageRecord::new(Layout::V2024, Kind::Message, &fields).unwrap();
        let mut at = 0;
        while at < record.size() {
            at += encoder.encode(&mut record, at).unwrap();
            encoder.clear();
        }
        if is_flushed && !encoder.has_space(8) {
            while !encoder.flush().unwrap() {
                encoder.clear();
            }
            flushes += 1;
        }
    }
    while !encoder.finish().unwrap() {
        encoder.clear();
    }
    (encoder.total_bytes(), flushes)
}

/// A flush that forgot what it knows of the bytes before it would make files larger by far.
#[test]
fn flushed_codecs_go_on_where_they_were() {
    let codecs: [fn() -> Box<dyn Encoder>; 3] = [
        || Box::new(Xz::new(0).unwrap()),
        || Box::new(Xz::new(6).unwrap()),
        || Box::new(Zstd::new(3).unwrap()),
    ];
    for codec in codecs {
        let ((flushed, flushes), (whole, none)) = (file_bytes(codec(), true), file_bytes(codec(), false));
        assert!(flushes >= 4000 * RECORD_BYTES / (FLUSH_BYTES + RECORD_BYTES) && none == 0, "{flushes}");
        assert!(flushed <= whole + whole / 100, "{}: {flushed} of {whole}", codec().extension());
    }
}
