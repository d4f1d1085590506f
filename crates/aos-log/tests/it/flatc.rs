//! Google's own `flatc` reads what we write: every kind in both layouts, and headers. It does not verify
//! what it reads, so it judges values, not safety.

use std::path::Path;
use std::process::Command;

use crate::common::{all_vectors, data, fixture, whole};
use crate::skip::skip;
use heapscribe_aos_log::header_fields::HeaderField;
use heapscribe_aos_log::layout::{Field, Kind, Layout};
use heapscribe_aos_log::pack::{Fields, Header, NodeTimes};
use serde_json::Value;
use uuid::Uuid;

fn has_flatc() -> bool {
    let there = Command::new("flatc").arg("--version").output().is_ok();
    if !there {
        skip("flatc is not there (apt-get install flatbuffers-compiler)");
    }
    there
}

/// What flatc makes of records of one type, each in a file.
fn read(directory: &Path, root: &str, records: &[Vec<u8>]) -> Vec<Value> {
    let names: Vec<_> = (0..records.len()).map(|i| directory.join(format!("{i}.bin"))).collect();
    for (name, record) in names.iter().zip(records) {
        std::fs::write(name, record).expect("written");
    }
    let status = Command::new("flatc")
        .args([
            "--json",
            "--strict-json",
            "--defaults-json",
            "--raw-binary",
            "--size-prefixed",
            "--root-type",
        ])
        .arg(root)
        .arg("-o")
        .arg(directory)
        .arg(fixture("messages.fbs"))
        .arg("--")
        .args(&names)
        .status();
    assert!(status.expect("flatc runs").success());
    let json = |name: &Path| std::fs::read_to_string(name.with_extension("json")).expect("flatc's output");
    names.iter().map(|name| serde_json::from_str(&json(name)).expect("JSON")).collect()
}

/// The value that a field has when it is read: what was written, or the default.
fn expected(field: Field, kind: Kind, layout: Layout, fields: &Fields<'_>) -> Value {
    let default = Fields::default();
    let has = heapscribe_aos_log::layout::shape(layout, kind).is_some_and(|s| s.field_at(field).is_some());
    let from = if has { fields } else { &default };
    match field {
        Field::ChannelIndex => from.channel_index.into(),
        Field::MonotonicSentTime => from.monotonic_sent_time.into(),
        Field::RealtimeSentTime => from.realtime_sent_time.into(),
        Field::QueueIndex => from.queue_index.into(),
        Field::Data if !has => Value::Null,
        Field::Data => from.data.into(),
        Field::MonotonicRemoteTime => from.monotonic_remote_time.into(),
        Field::RealtimeRemoteTime => from.realtime_remote_time.into(),
        Field::RemoteQueueIndex => from.remote_queue_index.into(),
        Field::MonotonicTimestampTime => from.monotonic_timestamp_time.into(),
        Field::MonotonicRemoteTransmitTime => from.monotonic_remote_transmit_time.into(),
    }
}

#[test]
fn flatc_reads_every_kind_of_record() {
    if !has_flatc() {
        return;
    }
    let vectors = all_vectors();
    let records: Vec<_> = vectors.iter().map(|v| whole(&mut v.record())).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let read = read(directory.path(), "aos.logger.MessageHeader", &records);
    for (vector, json) in vectors.iter().zip(read) {
        for field in Field::ALL {
            let value = expected(field, vector.kind, vector.layout, &vector.fields());
            assert_eq!(json[field.name()], value, "{} {}", vector.name, field.name());
        }
    }
}

fn header<'a>(boots: &'a [Option<Uuid>], oldest: &'a [NodeTimes]) -> Header<'a> {
    Header {
        monotonic_start_time: 1,
        realtime_start_time: 2,
        max_out_of_order_duration: 300_000_000,
        name: Some("host0"),
        node: Some("pi1"),
        log_event_uuid: Some(Uuid::from_u128(3)),
        parts_uuid: Some(Uuid::from_u128(4)),
        parts_index: 5,
        logger_node: Some("pi2"),
        logger_instance_uuid: Some(Uuid::from_u128(6)),
        logger_node_boot_uuid: Some(Uuid::from_u128(7)),
        log_start_uuid: Some(Uuid::from_u128(8)),
        source_node_boot_uuid: Some(Uuid::from_u128(9)),
        logger_monotonic_start_time: 10,
        logger_realtime_start_time: 11,
        configuration_sha256: Some("12"),
        boot_uuids: boots,
        logger_part_monotonic_start_time: 13,
        logger_part_realtime_start_time: 14,
        oldest,
        logger_sha1: Some("15"),
        logger_version: Some("sixteen, of some length"),
        data_stored: &[0, 2],
        configuration: None,
    }
}

#[test]
fn flatc_reads_headers_of_both_layouts() {
    if !has_flatc() {
        return;
    }
    let boots = [Some(Uuid::from_u128(7)), None, Some(Uuid::from_u128(17))];
    let oldest = [
        NodeTimes::default(),
        NodeTimes { remote: 20, local: 21, ..NodeTimes::default() },
        NodeTimes { remote_reliable_transmit: 22, local_reliable_transmit: 23, ..NodeTimes::default() },
    ];
    let header = header(&boots, &oldest);
    let records: Vec<_> = Layout::ALL
        .iter()
        .map(|layout| {
            let mut bytes = vec![67; header.size(*layout)];
            assert_eq!(header.pack(*layout, &mut bytes), Ok(bytes.len()));
            bytes
        })
        .collect();
    let directory = tempfile::tempdir().expect("a directory");
    let read = read(directory.path(), "aos.logger.LogFileHeader", &records);
    for (json, layout) in read.iter().zip(Layout::ALL) {
        let id = |n: u128| Value::from(Uuid::from_u128(n).to_string());
        assert_eq!(json["monotonic_start_time"], 1);
        assert_eq!(json["name"], "host0");
        assert_eq!(json["node"]["name"], "pi1");
        assert_eq!(json["logger_node"]["name"], "pi2");
        assert_eq!(json["parts_index"], 5);
        assert_eq!(json["log_start_uuid"], id(8));
        assert_eq!(json["boot_uuids"], Value::from(vec![id(7), "".into(), id(17)]));
        assert_eq!(json["logger_part_realtime_start_time"], 14);
        assert_eq!(json["oldest_remote_monotonic_timestamps"], Value::from(vec![i64::MAX, 20, i64::MAX]));
        assert_eq!(json["logger_version"], "sixteen, of some length");
        let is_new = layout == Layout::V2024;
        let transmit = HeaderField::OldestRemoteReliableTransmit.name();
        let expected = if is_new { Value::from(vec![i64::MAX, i64::MAX, 22]) } else { Value::Null };
        assert_eq!(json[transmit], expected);
        let stored: Value = serde_json::json!(["DATA", "REMOTE_TIMESTAMPS"]);
        assert_eq!(json["data_stored"], if is_new { stored } else { Value::Null });
    }
}

#[test]
fn a_configuration_is_carried_inside_a_header() {
    if !has_flatc() {
        return;
    }
    // A header is a flatbuffer like any; of what is embedded, flatc sees the empty table that it knows.
    let inner = Header { name: Some("inner"), ..Header::default() };
    let mut prefixed = vec![0; inner.size(Layout::V2024)];
    inner.pack(Layout::V2024, &mut prefixed).expect("it has room");
    let outer = Header { configuration: Some(&prefixed[4..]), ..header(&[], &[]) };
    let mut bytes = vec![67; outer.size(Layout::V2024)];
    outer.pack(Layout::V2024, &mut bytes).expect("it has room");
    assert!(bytes.windows(5).any(|five| five == b"inner"));
    let directory = tempfile::tempdir().expect("a directory");
    let read = read(directory.path(), "aos.logger.LogFileHeader", &[bytes]);
    assert_eq!(read[0]["configuration"], serde_json::json!({}));
    assert_eq!(read[0]["name"], "host0");
}

#[test]
fn a_header_reports_its_size() {
    let header = header(&[], &[]);
    let size = header.size(Layout::V2022);
    let mut bytes = data(size);
    assert_eq!(header.pack(Layout::V2022, &mut bytes[..size - 1]).map_err(|e| e.needs_bytes), Err(size));
    assert_eq!(header.pack(Layout::V2022, &mut bytes), Ok(size));
    assert_eq!(size % 8, 0);
}

/// The fields of AOS's schema that a configuration has that is made here.
const CONFIGURATION: &str = "
table Channel { name:string (id: 0); type:string (id: 1); frequency:int = 100 (id: 2); max_size:int = 1000 (id: 3);
  num_senders:int = 10 (id: 4); num_watchers:int = 10 (id: 5); source_node:string (id: 6); }
table Node { name:string (id: 0); }
table Map { name:string (id: 0); }
table Configuration { channels:[Channel] (id: 0); maps:[Map] (id: 1); nodes:[Node] (id: 2); }
root_type Configuration;";

fn configured(channels: usize, node: Option<&str>) -> Value {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("c.fbs"), CONFIGURATION).expect("the schema");
    std::fs::write(path("c.bin"), heapscribe_aos_log::pack::configuration(channels, 4096, node))
        .expect("the file");
    let mut flatc = std::process::Command::new("flatc");
    flatc
        .args(["--json", "--strict-json", "--raw-binary", "c.fbs", "--", "c.bin"])
        .current_dir(directory.path());
    assert!(flatc.status().expect("flatc runs").success());
    serde_json::from_slice(&std::fs::read(path("c.json")).expect("what it read")).expect("JSON")
}

#[test]
fn a_configuration_that_is_made_has_the_channels_of_the_log() {
    if !has_flatc() {
        return;
    }
    let channel =
        |name: &str| serde_json::json!({"name": name, "type": "heapscribe.Unknown", "max_size": 4096});
    let expected =
        serde_json::json!({"channels": [channel("/channel0"), channel("/channel1"), channel("/channel2")]});
    assert_eq!(configured(3, None), expected);
    let with_node = configured(12, Some("pi1"));
    assert_eq!(with_node["nodes"], serde_json::json!([{"name": "pi1"}]));
    assert_eq!(with_node["channels"][11]["source_node"], "pi1");
    assert_eq!(configured(0, None), serde_json::json!({"channels": []}));
}
