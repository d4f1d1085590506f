//! Parts: when they begin and what their headers say, when bytes are written out, and what happens when there
//! is no more space.

use crate::log::{BOOT, FakeClock, Memory, about, index, records, text, time, times, write, writer};
use crate::skip::skip;
use heapscribe_aos_log::encode::{FLUSH_BYTES, Plain};
use heapscribe_aos_log::header_fields::HeaderField as H;
use heapscribe_aos_log::header_fields::HeaderField;
use heapscribe_aos_log::layout::NO_TIME;
use heapscribe_aos_log::write::{
    Durations, Files, FlushRules, MessageInfo, RemoteUpdate, Settings, Sink, StartTimes, SystemClock,
    WriteError, Writer,
};
use uuid::Uuid;

const PLENTY: usize = 1 << 30;

fn update(node: usize, boot: u128, remote: i64, local: i64) -> RemoteUpdate {
    RemoteUpdate {
        node,
        boot: Uuid::from_u128(boot),
        monotonic_remote_time: remote,
        monotonic_remote_transmit_time: NO_TIME,
        monotonic_event_time: local,
        is_reliable: true,
        monotonic_timestamp_time: NO_TIME,
    }
}

#[test]
fn nothing_is_written_before_the_first_message() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |_| ());
    writer.rotate();
    writer.update_remote(&update(1, 7, 1, 2));
    writer.close().expect("closed");
    assert_eq!(memory.parts(), Vec::<Vec<u8>>::new());
}

#[test]
fn a_dropped_writer_has_written_everything() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |_| ());
    write(&mut writer, about(1, 1), 1, &[1]).expect("written");
    assert!(memory.parts()[0].is_empty());
    drop(writer);
    assert_eq!(records(&memory.parts()[0]).len(), 2);
}

#[test]
fn rotation_loses_no_message_and_keeps_the_sequence() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |_| ());
    for i in 0..10 {
        if i % 4 == 3 {
            writer.rotate();
        }
        write(&mut writer, about(1, i), i, &[i as u8]).expect("written");
    }
    writer.close().expect("closed");
    let parts = memory.parts();
    let counts: Vec<_> = parts.iter().map(|part| records(part).len() - 1).collect();
    assert_eq!(counts, [3, 4, 3]);
    let headers: Vec<_> = parts.iter().map(|part| records(part)[0]).collect();
    assert_eq!(headers.iter().map(|h| index(h, H::PartsIndex)).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(headers.iter().all(|h| text(h, H::PartsUuid) == text(headers[0], H::PartsUuid)));
    assert!(headers.iter().all(|h| text(h, H::SourceNodeBootUuid) == BOOT.to_string()));
    let starts: Vec<_> = headers.iter().map(|h| time(h, H::LoggerPartMonotonicStartTime)).collect();
    assert_eq!(starts, [0, 3, 7]);
    assert_eq!(writer.statistics().parts, 3);
}

#[test]
fn a_header_precedes_the_messages_that_it_is_about() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |_| ());
    write(&mut writer, about(1, 10), 10, &[1]).expect("written");
    // First seen, not older, older, another boot.
    for (boot, remote) in [(7, 100), (7, 101), (7, 99), (8, 5)] {
        writer.update_remote(&update(1, boot, remote, remote + 1000));
        write(&mut writer, about(1, 11), 11, &[2]).expect("written");
    }
    writer.set_start(StartTimes { monotonic_ns: 3, realtime_ns: 4 });
    writer.set_start(StartTimes { monotonic_ns: 3, realtime_ns: 4 });
    write(&mut writer, about(1, 12), 12, &[3]).expect("written");
    writer.close().expect("closed");
    let parts = memory.parts();
    let oldest: Vec<_> = parts.iter().map(|p| times(records(p)[0], H::OldestRemoteReliable)[1]).collect();
    assert_eq!(oldest, [i64::MAX, 100, 99, 5, 5]);
    let counts: Vec<_> = parts.iter().map(|part| records(part).len() - 1).collect();
    assert_eq!(counts, [1, 2, 1, 1, 1]);
    let starts: Vec<_> = parts.iter().map(|p| time(records(p)[0], H::MonotonicStartTime)).collect();
    assert_eq!(starts, [NO_TIME, NO_TIME, NO_TIME, NO_TIME, 3]);
}

#[test]
fn an_older_message_doubles_the_bound_of_disorder() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |s| s.max_out_of_order_ns = 100);
    for time in [1000, 900, 1200, 1050, 899, 1500] {
        write(&mut writer, about(1, time), 0, &[]).expect("written");
    }
    writer.close().expect("closed");
    let parts = memory.parts();
    let promised: Vec<_> = parts.iter().map(|p| time(records(p)[0], H::MaxOutOfOrderDuration)).collect();
    // 1050 is 150 behind 1200, 899 is 301 behind: twice the lag each time, as 300 was the bound then.
    assert_eq!(promised, [100, 300, 602]);
}

#[test]
fn a_reboot_begins_another_sequence_and_resets_the_times() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |s| s.max_out_of_order_ns = 100);
    writer.update_remote(&update(1, 7, 50, 60));
    write(&mut writer, about(1, 1000), 0, &[1]).expect("written");
    write(&mut writer, about(1, 10), 0, &[2]).expect("written");
    let rebooted = MessageInfo { source_boot: Uuid::from_u128(2), ..about(1, 5) };
    write(&mut writer, rebooted, 0, &[3]).expect("written");
    writer.close().expect("closed");
    let parts = memory.parts();
    let headers: Vec<_> = parts.iter().map(|part| records(part)[0]).collect();
    assert_eq!(headers.len(), 3);
    assert_eq!(text(headers[0], H::PartsUuid), text(headers[1], H::PartsUuid));
    assert_ne!(text(headers[1], H::PartsUuid), text(headers[2], H::PartsUuid));
    assert_eq!(headers.iter().map(|h| index(h, H::PartsIndex)).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(text(headers[2], H::SourceNodeBootUuid), Uuid::from_u128(2).to_string());
    assert_eq!(times(headers[1], H::OldestRemote), [i64::MAX, 50]);
    assert_eq!(times(headers[2], H::OldestRemote), [i64::MAX, i64::MAX]);
    let promised: Vec<_> = headers.iter().map(|h| time(h, H::MaxOutOfOrderDuration)).collect();
    assert_eq!(promised, [100, 1980, 100]);
}

#[test]
fn bytes_are_written_when_there_are_enough_or_time_is_up() {
    let memory = Memory::new(PLENTY);
    let rules = FlushRules { bytes: 4096, period_ns: 100 };
    let mut writer = writer(&memory, &FakeClock::default(), |s| s.flush = rules);
    let writes = || memory.writes.lock().expect("writes").len();
    write(&mut writer, about(1, 0), 1000, &[]).expect("written");
    assert_eq!(writes(), 0, "the first only starts the clock");
    write(&mut writer, about(1, 0), 1100, &[]).expect("written");
    assert_eq!(writes(), 0, "not over the period");
    writer.flush_if_due(1101).expect("written");
    assert_eq!(writes(), 1);
    writer.flush_if_due(1202).expect("nothing waits");
    assert_eq!(writes(), 1);
    write(&mut writer, about(1, 0), 1203, &[]).expect("written");
    assert_eq!(writes(), 2, "something waits, and the period is over");
    for _ in 0..64 {
        write(&mut writer, about(1, 0), 1204, &[]).expect("written");
    }
    assert_eq!(*memory.writes.lock().expect("writes").last().expect("one"), 4096, "a full buffer");
    writer.close().expect("closed");
}

#[test]
fn a_log_of_many_messages_is_whole() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |s| s.flush.bytes = 512);
    for i in 0..5000u32 {
        let data = vec![i as u8; i as usize % 700];
        write(&mut writer, about(i % 4, i.into()), i.into(), &data).expect("written");
    }
    writer.close().expect("closed");
    let parts = memory.parts();
    assert_eq!(parts.len(), 1);
    assert_eq!(records(&parts[0]).len(), 5001);
    let statistics = writer.statistics();
    assert_eq!(statistics.messages, 5000);
    assert_eq!(statistics.record_bytes, parts[0].len() as u64);
    assert_eq!(statistics.write.bytes, parts[0].len() as u64);
    assert_eq!(writer.channels().iter().map(|c| c.messages).collect::<Vec<_>>(), [1250; 4]);
    let header = records(&parts[0])[0].len() as u64;
    assert_eq!(writer.channels().iter().map(|c| c.bytes).sum::<u64>(), statistics.record_bytes - header);
}

#[test]
fn a_record_that_is_too_large_is_left_out_and_only_that() {
    let memory = Memory::new(PLENTY);
    let mut writer = writer(&memory, &FakeClock::default(), |s| s.record_bytes_max = 128);
    assert_eq!(write(&mut writer, about(0, 0), 0, &[0; 65]), Err(WriteError::TooLarge(136)));
    write(&mut writer, about(0, 0), 0, &[0; 64]).expect("written");
    writer.close().expect("closed");
    assert_eq!(records(&memory.parts()[0]).len(), 2);
    assert_eq!((writer.statistics().messages, writer.statistics().dropped_messages), (1, 1));
}

/// 10 KiB at a time, written at once, into so much space: how many there were until one failed.
fn until_out_of_space(writer: &mut Writer<FakeClock>) -> usize {
    let data = [0; 10 * 1024 - 64];
    let mut count = 0;
    while write(writer, about(0, 0), 0, &data).is_ok() {
        count += 1;
        assert!(count < 1000, "the space has an end");
    }
    count
}

#[test]
fn out_of_space_is_final_and_leaves_a_readable_file() {
    for (space, left_over) in [(81_920, 0), (81_921, 1), (87_040, 5120)] {
        let mut memory = Memory::new(PLENTY);
        let header = {
            let mut writer = writer(&memory, &FakeClock::default(), |_| ());
            write(&mut writer, about(0, 0), 0, &[]).expect("written");
            writer.close().expect("closed");
            records(&memory.parts()[0])[0].len()
        };
        memory = Memory::new(header + space);
        let mut writer = writer(&memory, &FakeClock::default(), |s| s.flush.bytes = 1);
        assert_eq!(until_out_of_space(&mut writer), 8, "{space}");
        assert_eq!(writer.error(), Some(WriteError::OutOfSpace));
        assert_eq!(write(&mut writer, about(0, 0), 0, &[]), Err(WriteError::OutOfSpace), "it stays");
        writer.rotate();
        assert_eq!(write(&mut writer, about(0, 0), 0, &[]), Err(WriteError::OutOfSpace));
        assert_eq!(writer.close(), Err(WriteError::OutOfSpace));
        assert_eq!(writer.statistics().dropped_messages, 3);
        let parts = memory.parts();
        let whole = records(&parts[0]);
        assert_eq!(whole.len(), 9);
        assert_eq!(parts[0].len() - whole.iter().map(|r| r.len()).sum::<usize>(), left_over);
        assert_eq!(writer.statistics().write.bytes, parts[0].len() as u64);
    }
}

/// Mounts a small file system for itself alone, and runs the test below in it.
#[test]
fn a_real_file_system_that_is_full() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = std::env::current_exe().expect("this program");
    // A tmpfs counts in pages. Eight messages and the header fit into 21 and 22 of them, nine do not.
    for (bytes, pages) in [(81_920 + 4096, 21), (81_921 + 4096, 22), (87_040, 22)] {
        let script = "mount -t tmpfs -o size=$0 none \"$1\" || exit 77; exec \"$2\" --ignored --exact writer::filling_it";
        let output = std::process::Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .arg(bytes.to_string())
            .arg(directory.path())
            .arg(&here)
            .env("FULL_DIRECTORY", directory.path())
            .env("FULL_BYTES", (pages * 4096).to_string())
            .output();
        match output {
            Ok(output) if output.status.success() => {}
            Ok(output) if output.status.code() == Some(101) => {
                panic!(
                    "{}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                )
            }
            other => skip(format_args!("a file system cannot be mounted here: {other:?}")),
        }
    }
}

#[test]
#[ignore = "is run by a_real_file_system_that_is_full"]
fn filling_it() {
    let directory = std::path::PathBuf::from(std::env::var_os("FULL_DIRECTORY").expect("where"));
    let space: u64 = std::env::var("FULL_BYTES").expect("how much").parse().expect("a number");
    let base = directory.join("log");
    let mut settings = Settings::default();
    settings.flush.bytes = 1;
    let sink = Box::new(Files::new(&base).expect("UTF-8"));
    let encoder = Box::new(Plain::new(20_000));
    let mut writer = Writer::new(settings, encoder, sink, FakeClock::default()).expect("settings");
    assert_eq!(until_out_of_space(&mut writer), 8);
    assert_eq!(writer.error(), Some(WriteError::OutOfSpace));
    writer.rotate();
    assert_eq!(write(&mut writer, about(0, 0), 0, &[]), Err(WriteError::OutOfSpace), "it stays");
    let part = std::fs::read(directory.join("log.part0.bfbs")).expect("the part");
    assert_eq!(part.len() as u64, space, "to the last byte");
    assert_eq!(writer.statistics().write.bytes, space);
    assert_eq!(records(&part).len(), 9, "a header and eight messages, then a torn one");
    assert_eq!(std::fs::read_dir(&directory).expect("the directory").count(), 1, "no other part");
}

#[test]
fn a_device_that_is_full_is_out_of_space() {
    struct Full(std::fs::File);
    impl Sink for Full {
        fn open(&mut self, _: i32, _: &str) -> std::io::Result<()> {
            Ok(())
        }
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            std::io::Write::write(&mut self.0, bytes)
        }
        fn close(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let sink = Full(std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full"));
    let encoder = Box::new(Plain::new(FLUSH_BYTES));
    let settings = Settings::default();
    let mut writer = Writer::new(settings, encoder, Box::new(sink), FakeClock::default()).expect("settings");
    write(&mut writer, about(0, 0), 0, &[]).expect("it waits in memory");
    assert_eq!(writer.flush(), Err(WriteError::OutOfSpace));
    assert_eq!(writer.error(), Some(WriteError::OutOfSpace));
}

#[test]
fn files_are_named_by_part_and_never_overwritten() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = directory.path().join("pi1_data");
    let make = || {
        let sink = Box::new(Files::new(&base).expect("UTF-8"));
        Writer::new(Settings::default(), Box::new(Plain::new(512)), sink, SystemClock).expect("settings")
    };
    let mut writer = make();
    let fields = heapscribe_aos_log::pack::Fields::default();
    let kind = heapscribe_aos_log::layout::Kind::Message;
    for _ in 0..2 {
        let mut record =
            heapscribe_aos_log::pack::MessageRecord::new(Settings::default().layout, kind, &fields)
                .expect("r");
        writer.write(&mut record, &about(0, 0), 0).expect("written");
        writer.rotate();
    }
    writer.close().expect("closed");
    for part in 0..2 {
        let bytes = std::fs::read(format!("{}.part{part}.bfbs", base.display())).expect("the part");
        assert_eq!(records(&bytes).len(), 2);
    }
    let mut record =
        heapscribe_aos_log::pack::MessageRecord::new(Settings::default().layout, kind, &fields).expect("r");
    let refused = make().write(&mut record, &about(0, 0), 0);
    assert_eq!(refused, Err(WriteError::Io(std::io::ErrorKind::AlreadyExists, Some(17))));
}

#[test]
fn times_are_counted_with_their_size_and_channel() {
    // Every reading of the clock is 10 ns after the one before.
    let memory = Memory::new(PLENTY);
    let clock = FakeClock::ticking(10);
    let mut writer = writer(&memory, &clock, |_| ());
    clock.set(1000);
    write(&mut writer, about(2, 900), 1000, &[]).expect("written");
    clock.set(2000);
    write(&mut writer, about(3, 1500), 1980, &[0; 8]).expect("written");
    let statistics = *writer.statistics();
    // The second: begun at 1980, copied at 2000, encoded at 2010.
    let copy = Durations { count: 2, total_ns: 50, max_ns: 30, max_bytes: 64, max_channel: 2, bytes: 136 };
    assert_eq!(statistics.copy, copy);
    assert_eq!(statistics.delay_max_ns, 500);
    assert_eq!(statistics.delay_max_channel, 3);
    assert_eq!(writer.channels()[3].encode.total_ns, 30);
    assert_eq!(writer.channels()[2].delay_max_ns, 130);
    let before = writer.statistics().encode.count;
    writer.close().expect("closed");
    assert_eq!(writer.statistics().encode.count, before + 1, "the end of a part is counted");
    assert_eq!(writer.statistics().write.total_ns, 10);
}

/// AOS opens no log without these: `logfile_sorting.cc` checks for each of them.
#[test]
fn a_log_with_default_settings_has_what_aos_asks_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = directory.path().join("log");
    let mut settings = Settings { channels: 3, ..Settings::default() };
    settings.texts.node = Some("pi1".to_owned());
    let sink = Box::new(Files::new(&base).expect("UTF-8"));
    let encoder = Box::new(Plain::new(20_000));
    let mut writer = Writer::new(settings, encoder, sink, FakeClock::default()).expect("settings");
    write(&mut writer, about(0, 0), 0, &[]).expect("it is written");
    writer.close().expect("it is closed");
    let file = std::fs::File::open(directory.path().join("log.part0.bfbs")).expect("the part");
    let part = heapscribe_aos_log::read::PartReader::open(file, heapscribe_aos_log::read::Policy::Fail)
        .expect("a part");
    let header = part.header().expect("a header");
    for field in [
        HeaderField::LogEventUuid,
        HeaderField::PartsUuid,
        HeaderField::PartsIndex,
        HeaderField::Configuration,
        HeaderField::LoggerNodeBootUuid,
    ] {
        assert!(header.get(field).is_some(), "{}", field.name());
    }
    assert_eq!(header.text(HeaderField::LoggerNode), Some("pi1"));
}
