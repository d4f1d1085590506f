//! Message logs of AOS through the program.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::pack::{Fields, Header, MessageRecord, Record};
use serde_json::Value;

use crate::sample;
use crate::see::Place;
use crate::view::{get, view};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../aos-log/tests/fixtures/aos").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap()
}

/// Records of the real packers of 2022, of every kind, behind a header.
fn part() -> Vec<u8> {
    let kinds = ["kLogMessage.typical.00013", "kLogDeliveryTimeOnly.typical.00013"];
    let more =
        ["kLogMessageAndDeliveryTime.typical.00013", "RemoteMessage.typical", "kLogMessage.typical.00000"];
    let records = kinds.iter().chain(&more).map(|name| bytes(&format!("flatc/2022/{name}.bin")));
    records.fold(bytes("header.2022.bin"), |part, record| [part, record].concat())
}

fn place(part: &[u8]) -> Place {
    let place = Place::with_trace(b"");
    std::fs::write(place.path("data.part0.bfbs"), part).unwrap();
    place
}

#[test]
fn objects_are_those_of_flatc() {
    let mut compared = 0;
    for year in ["2022", "2024"] {
        for entry in std::fs::read_dir(fixture(&format!("flatc/{year}"))).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let flatc: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                let place = place(&std::fs::read(path.with_extension("bin")).unwrap());
                let out = place.stdout(&format!("dump --json --layout {year} data.part0.bfbs"));
                let ours: Value = serde_json::from_str(&out).unwrap();
                let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
                assert_eq!((&ours, keys(&ours)), (&flatc, keys(&flatc)), "{}", path.display());
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 16);
}

#[test]
fn dumps_and_reports() {
    let place = place(&part());
    let seen = ["dump data.part0.bfbs", "dump --json data.part0.bfbs", "report data.part0.bfbs"];
    let seen = seen.map(|words| format!("$ heapscribe {words}\n{}\n", place.stdout(words)));
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn report_as_json() {
    let out = place(&part()).stdout("report --json data.part0.bfbs");
    let value: Value = serde_json::from_str(&out).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn damage_is_told_as_asked_for() {
    let mut damaged = part();
    damaged.extend_from_slice(&[8, 0, 0, 0, 16, 0, 0, 0, 4, 0, 0, 0]);
    damaged.extend_from_slice(&bytes("flatc/2022/kLogMessage.typical.00000.bin"));
    damaged.extend_from_slice(&[64, 0]);
    let place = place(&damaged);
    std::fs::write(place.path("run.hst"), sample::tiny()).unwrap();
    std::fs::write(place.path("text"), "what is this\n").unwrap();
    std::fs::write(place.path("odd.jsonl"), "{\"queue_index\":1}\n{\"queue\":1}\n").unwrap();
    let seen = [
        "dump data.part0.bfbs",
        "dump data.part0.bfbs --on-damage stop",
        "dump data.part0.bfbs --on-damage fail",
        "dump data.part0.bfbs --style memtrace",
        "dump run.hst data.part0.bfbs",
        "flame data.part0.bfbs -o x.svg",
        "report data.part0.bfbs --messages data.part0.bfbs",
        "report run.hst --messages run.hst",
        "report run.hst --messages data.part0.bfbs --pid 7",
        "convert text --to aos -o out.bfbs",
        "convert odd.jsonl --to aos -o out.bfbs",
        "convert data.part0.bfbs --to aos -o data.part0.bfbs",
        "convert data.part0.bfbs --to memtrace -o out.ctf",
    ]
    .map(|words| {
        let (code, out, err) = place.all(words);
        let lines = out.lines().filter(|line| !line.starts_with('#')).count();
        format!("$ heapscribe {words}\n{lines} lines\n{err}exit code {code:?}\n")
    });
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn conversions_lead_back_to_the_real_bytes() {
    let place = place(&part());
    for (from, to) in [
        ("data.part0.bfbs", "a.bfbs.xz"),
        ("a.bfbs.xz", "b.bfbs.sz"),
        ("b.bfbs.sz", "c.bfbs.zst"),
        ("c.bfbs.zst", "d.bfbs"),
    ] {
        place.stdout(&format!("convert {from} --to aos -o {to}"));
    }
    assert!(std::fs::read(place.path("d.bfbs")).unwrap() == part());
    std::fs::write(place.path("lines.jsonl"), place.stdout("dump --json d.bfbs")).unwrap();
    place.stdout("convert lines.jsonl --to aos --layout 2022 -o e.bfbs");
    let made = std::fs::read(place.path("e.bfbs")).unwrap();
    let header = bytes("header.2022.bin").len();
    assert!(made.ends_with(&part()[header..]));
    // What came out of lines can be read in order: its header names how far they are out of it.
    assert_eq!(place.all("dump e.bfbs --by-time --on-damage fail").0, Some(0));
}

/// The configuration in the header has them, here one that `convert` has made.
#[test]
fn channels_have_their_names_and_types() {
    let place = place(&part());
    let lines = "{\"channel_index\":1,\"data\":[7]}\n{\"channel_index\":0,\"queue_index\":1}\n";
    std::fs::write(place.path("lines.jsonl"), lines).unwrap();
    place.stdout("convert lines.jsonl --to aos -o made.bfbs");
    let text = place.stdout("dump made.bfbs");
    let messages: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(messages.len(), 2, "{text}");
    assert!(messages[0].ends_with(" on /channel1 heapscribe.Unknown"), "{text}");
    assert!(messages[1].ends_with(" on /channel0 heapscribe.Unknown"), "{text}");
    let json = place.stdout("dump --json made.bfbs");
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    let channel = (first["channel_name"].as_str(), first["channel_type"].as_str());
    assert_eq!(channel, (Some("/channel1"), Some("heapscribe.Unknown")));
    std::fs::write(place.path("dumped.jsonl"), &json).unwrap();
    place.stdout("convert dumped.jsonl --to aos -o again.bfbs");
    assert_eq!(place.stdout("dump --json again.bfbs"), json);
}

#[test]
fn a_damaged_configuration_gives_no_names() {
    let configuration = heapscribe_aos_log::pack::configuration(2, 100, None);
    let header = Header { configuration: Some(&configuration), ..Header::default() };
    let mut part = vec![0; header.size(Layout::V2024)];
    header.pack(Layout::V2024, &mut part).unwrap();
    let name = part.windows(9).position(|bytes| bytes == b"/channel1").unwrap();
    part[name - 4] = 200;
    part.extend(bytes("flatc/2022/kLogMessage.typical.00000.bin"));
    let text = place(&part).stdout("dump data.part0.bfbs");
    let expected = "#   configuration is in the part, but is damaged: a ";
    assert!(text.contains(expected) && !text.contains(" on /channel"), "{text}");
}

#[test]
fn what_a_layout_has_no_room_for_is_told() {
    let place = place(&part());
    let (code, _, err) = place.all("convert data.part0.bfbs --to aos --layout 2024 -o new.bfbs");
    assert_eq!((code, err.lines().count()), (Some(0), 1), "{err}");
    assert!(err.starts_with("warning: 1 record with data and delivery times"), "{err}");
    std::fs::write(place.path("one.bin"), bytes("flatc/2024/RemoteMessage.typical.bin")).unwrap();
    let (_, _, err) = place.all("convert one.bin --to aos --layout 2022 -o old.bfbs");
    assert!(err.starts_with("warning: 1 forwarding time"), "{err}");
}

/// The start of [`sample::trace`] by both clocks.
const START_NS: i64 = 1_600_000_000;
const MS: i64 = 1_000_000;

/// Messages at so many ms of the sample's time: (channel, ms).
fn log(messages: &[(u32, i64)], real_minus_mono: i64) -> Vec<u8> {
    let header = Header { monotonic_start_time: START_NS, ..Header::default() };
    let mut part = vec![0; header.size(Layout::V2024)];
    header.pack(Layout::V2024, &mut part).unwrap();
    for (queue_index, (channel_index, ms)) in (0..).zip(messages) {
        let sent_ns = START_NS + ms * MS;
        let fields = Fields {
            channel_index: *channel_index,
            queue_index,
            monotonic_sent_time: sent_ns,
            realtime_sent_time: sent_ns.saturating_add(real_minus_mono),
            ..Fields::default()
        };
        let mut record = MessageRecord::new(Layout::V2024, Kind::Message, &fields).unwrap();
        let start = part.len();
        part.resize(start + record.size(), 0);
        record.write(&mut part[start..], 0);
    }
    part
}

/// What the sample's wall clock is ahead of its monotonic one.
fn real_minus_mono() -> i64 {
    let trace = heapscribe_formats::Trace::open(sample::trace()).unwrap();
    let session = trace.session().unwrap().clone();
    session.started_real_ns as i64 - session.started_mono_ns as i64
}

#[test]
fn messages_beside_a_trace() {
    let messages = [(7, 1), (8, 1), (7, 2), (7, 3), (8, 4), (7, 6), (8, 5000)];
    let place = place(&log(&messages, real_minus_mono()));
    std::fs::write(place.path("run.hst"), sample::trace()).unwrap();
    let (_, out, _) = place.all("report run.hst --messages data.part0.bfbs");
    let at = out.find("Heap activity by message").unwrap();
    let (_, json, _) = place.all("report run.hst --messages data.part0.bfbs --json");
    let report: Value = serde_json::from_str(&json).unwrap();
    let messages = &report["messages"];
    let shown = serde_json::to_string_pretty(messages).unwrap();
    insta::assert_snapshot!(format!("{}\n{shown}", &out[at..]));
    // Nothing is counted twice and nothing is left out.
    let sum = |key: &str| {
        let channels = messages["channels"].as_array().unwrap();
        let alone: u64 = channels.iter().map(|channel| channel["alone"][key].as_u64().unwrap()).sum();
        alone + messages["before"][key].as_u64().unwrap()
    };
    assert_eq!(report["allocations"], sum("allocations"));
    assert_eq!(report["bytes_allocated"], sum("allocated_bytes"));
    assert_eq!(report["leaked"]["bytes"], sum("left_bytes"));
    assert_eq!(
        (&report["frees"], &report["bytes_freed"]),
        (&sum("frees").into(), &sum("freed_bytes").into())
    );
}

/// The page has the messages of each channel that the report has, and so much was allocated after them.
#[test]
fn messages_in_the_viewer_are_those_of_the_report() {
    let place = place(&log(&[(7, 1), (8, 1), (7, 2), (7, 3), (8, 4), (7, 6)], real_minus_mono()));
    std::fs::write(place.path("run.hst"), sample::trace()).unwrap();
    let (_, json, _) = place.all("report run.hst --messages data.part0.bfbs --json");
    let report: Value = serde_json::from_str(&json).unwrap();
    let mut child = view(&place, &["--messages", "data.part0.bfbs"]);
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (host, token) = address.trim_start_matches("http://").split_once('/').unwrap();
    let answer = |path: &str| -> Value {
        let (status, body) = get(host, &format!("/{}/api/{path}", token.trim_end_matches("/\n")));
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    };
    let (summary, shown) = (answer("summary"), answer("messages"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(summary["has_messages"], true);
    let channels = report["messages"]["channels"].as_array().unwrap();
    assert_eq!(shown["channels"].as_array().unwrap().len(), channels.len());
    for (lane, channel) in channels.iter().enumerate() {
        let sum = |column: &str| -> u64 {
            let rows = shown["lane"].as_array().unwrap().iter().zip(shown[column].as_array().unwrap());
            rows.filter(|(of, _)| **of == lane as u64).map(|(_, n)| n.as_u64().unwrap()).sum()
        };
        assert_eq!(shown["channels"][lane]["channel_index"], channel["channel_index"]);
        assert_eq!(channel["messages"], sum("messages"), "{shown}");
        for column in ["allocations", "allocated_bytes", "freed_bytes"] {
            assert_eq!(channel["alone"][column], sum(column), "{column}: {shown}");
        }
    }
    let text = place.failure("view data.part0.bfbs --no-open --messages data.part0.bfbs");
    assert!(text.contains("is a message log, not a heap trace"), "{text}");
}

#[test]
fn clocks_of_another_boot_are_told() {
    let place = place(&log(&[(7, 1)], real_minus_mono() + 60_000 * MS));
    std::fs::write(place.path("run.hst"), sample::tiny()).unwrap();
    let (_, out, err) = place.all("report run.hst --messages data.part0.bfbs");
    assert!(err.contains("warning: the wall clocks of trace and messages differ by 60.0 s"), "{err}{out}");
}

/// Without messages in its time all that a process did is before the first.
#[test]
fn several_processes_are_looked_at_together() {
    let place = place(&part());
    std::fs::write(place.path("run.hst"), sample::trace()).unwrap();
    let allocations = |choice: &str| {
        let (_, out, err) = place.all(&format!("report run.hst --json --messages data.part0.bfbs {choice}"));
        let report: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {err}"));
        let messages = &report["messages"];
        assert_eq!(messages["messages"], 0);
        messages["before"]["allocations"].as_u64().unwrap()
    };
    let [first, second] = ["--pid 100", "--pid 101"].map(allocations);
    assert!(first > 0 && second > 0, "{first} {second}");
    assert_eq!(allocations("--pid 101 --pid 100"), first + second);
    assert_eq!(allocations("--process app --pid 100"), first);
}
