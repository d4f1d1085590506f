//! That nothing is allocated after construction: counted, for every encoder, from its first record to the end
//! of its third part. The counter sees calls of C libraries as well, see `count`.
#![cfg(target_env = "gnu")]

mod count;

use std::hint::black_box;

use heapscribe_aos_log::encode::{Encoder, FLUSH_BYTES, Framing, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::logger::{DataRoute, Fetched, Logger, Route, TimestampRoute};
use heapscribe_aos_log::pack::{Fields, MessageRecord, Record};
use heapscribe_aos_log::write::{Files, FlushRules, Settings, SystemClock, Writer};
use uuid::Uuid;

/// Calls of malloc's family while `work` is done.
fn calls_of(work: impl FnOnce()) -> u64 {
    let before = count::calls();
    work();
    count::calls() - before
}

#[test]
fn the_counter_sees_rust_and_c() {
    assert!(calls_of(|| drop(black_box(vec![1u8; 100]))) > 0);
    let in_c = || drop(black_box(zstd::zstd_safe::CCtx::create()));
    assert!(calls_of(in_c) > 0);
    assert_eq!(calls_of(|| assert_eq!(black_box([0u8; 100])[99], 0)), 0);
}

/// Writes three parts with over 1 MB of records each, small and large, that compress well and not at all.
fn write_parts(encoder: &mut dyn Encoder, data: &[u8], written: &mut u64) {
    for part in 0..3 {
        for i in 0..700 {
            let bytes = if i % 350 == 0 { 300_000 } else { i * 7 % 1500 };
            let from = if i % 2 == 0 { 0 } else { (part * 700 + i) * 997 % (data.len() - bytes) };
            let fields = Fields { data: &data[from..from + bytes], ..Fields::default() };
            let mut record = MessageRecord::new(Layout::V2022, Kind::Message, &fields).expect("a record");
            let mut at = encoder.encode(&mut record, 0).expect("encoded");
            while at < record.size() {
                *written += encoder.queue().len() as u64;
                encoder.clear();
                at += encoder.encode(&mut record, at).expect("encoded");
            }
            while i % 100 == 0 && !encoder.flush().expect("flushed") {
                *written += encoder.queue().len() as u64;
                encoder.clear();
            }
        }
        while !encoder.finish().expect("finished") {
            *written += encoder.queue().len() as u64;
            encoder.clear();
        }
        *written += encoder.queue().len() as u64;
        encoder.restart().expect("restarted");
    }
}

fn check(name: &str, make: impl FnOnce() -> Box<dyn Encoder>) {
    let mut state = 1u64;
    let noise = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    // The first part of it compresses well.
    let data: Vec<u8> = std::iter::repeat_n(7, 400_000).chain((0..6_000_000).map(noise)).collect();
    let mut made = None;
    let construction = calls_of(|| made = Some(make()));
    let mut encoder = made.expect("made");
    assert!(construction > 0, "{name}: has no memory of its own?");
    let mut written = 0;
    let calls = calls_of(|| write_parts(&mut *encoder, &data, &mut written));
    assert!(written > 500_000, "{name}: wrote only {written} bytes");
    assert_eq!(calls, 0, "{name}: calls of malloc after construction ({construction} before)");
    eprintln!(
        "{name}: {construction} calls of malloc for construction, {calls} for {written} bytes in 3 parts"
    );
}

#[test]
fn plain() {
    check("plain", || Box::new(Plain::new(FLUSH_BYTES)));
}

#[test]
fn snappy_as_aos_frames_it() {
    let framing = Framing::Aos { chunk_bytes: FLUSH_BYTES };
    check("snappy", || Box::new(Snappy::new(framing, 301_000).expect("snappy")));
}

#[test]
fn snappy_as_the_standard_frames_it() {
    check("snappy, standard", || Box::new(Snappy::new(Framing::Standard, 301_000).expect("snappy")));
}

#[test]
fn xz() {
    check("xz, preset 0", || Box::new(Xz::new(0).expect("xz")));
}

#[test]
fn xz_with_another_match_finder() {
    check("xz, preset 4", || Box::new(Xz::new(4).expect("xz")));
}

#[test]
fn zstd_fast() {
    check("zstd, level 1", || Box::new(Zstd::new(1).expect("zstd")));
}

#[test]
fn zstd_of_the_usual_level() {
    check("zstd, level 3", || Box::new(Zstd::new(3).expect("zstd")));
}

/// A logger with two writers into files, from its first message over new parts, boots and flushes to its end.
#[test]
fn a_whole_log_in_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let encoders: [fn() -> Box<dyn Encoder>; 5] = [
        || Box::new(Plain::new(FLUSH_BYTES)),
        || Box::new(Snappy::new(Framing::Aos { chunk_bytes: FLUSH_BYTES }, 20_000).expect("snappy")),
        || Box::new(Snappy::new(Framing::Standard, 20_000).expect("snappy")),
        || Box::new(Xz::new(0).expect("xz")),
        || Box::new(Zstd::new(3).expect("zstd")),
    ];
    for (i, make) in encoders.iter().enumerate() {
        let writer = |name: &str| {
            let flush = FlushRules { bytes: 30_000, period_ns: 1_000_000 };
            let settings = Settings { nodes: 3, channels: 8, flush, ..Settings::default() };
            let sink = Files::new(&directory.path().join(format!("{i}_{name}"))).expect("UTF-8");
            Writer::new(settings, make(), Box::new(sink), SystemClock).expect("settings")
        };
        let routes = vec![Route {
            channel_index: 3,
            data: Some(DataRoute { writer: 0, kind: Kind::RemoteMessage }),
            timestamps: Some(TimestampRoute { writer: 1, node: 2, is_reliable: true }),
            contents: None,
        }];
        let boots = [Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3)];
        let data = vec![5; 20_000 - 64];
        let writers = vec![writer("data"), writer("times")];
        let mut logger = Logger::new(Layout::V2024, routes, writers, boots[0], SystemClock).expect("routes");
        let calls = calls_of(|| {
            for n in 0..600u32 {
                let boot = boots[1 + n as usize / 400];
                let bytes = n as usize * 37 % data.len();
                let message = Fetched::local((1000 + n).into(), 0, n, boot, &data[..bytes]);
                logger.log(0, &message, None, Some(0)).expect("logged");
                if n % 100 == 0 {
                    logger.rotate();
                }
            }
            logger.close().expect("closed");
        });
        assert_eq!(calls, 0, "encoder {i}");
        assert!(logger.writers().iter().all(|writer| writer.statistics().parts >= 7));
    }
    assert!(std::fs::read_dir(directory.path()).expect("the files").count() >= 70);
}
