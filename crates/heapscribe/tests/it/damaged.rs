//! Damaged traces: what is left is told, what is missing is said, and the exit code is 3.

use heapscribe_convert::native::thread_chunk::ThreadChunk;
use heapscribe_formats::{ProcessEnd, ProcessInfo, SessionInfo, Trace, Writer};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Call, Event};
use serde_json::Value;

use crate::sample;
use crate::see::Place;

/// Bytes of the header of a block, behind which its payload begins.
const HEADER_BYTES: usize = 32;

/// What every cut and every damage must keep to: no panic, a code of the table, a reason when it is not 0.
fn check(bytes: &[u8]) {
    let place = Place::with_trace(bytes);
    for command in ["dump run.hst", "report run.hst"] {
        let (code, _, err) = place.all(command);
        assert!(matches!(code, Some(1 | 3)), "{command}: {code:?} {err}");
        assert!(err.contains("error: run.hst: ") && err.contains("hint: "), "{command}: {err}");
    }
}

#[test]
fn cut_anywhere() {
    let whole = sample::tiny();
    for cut in (0..whole.len()).step_by(whole.len() / 12) {
        check(&whole[..cut]);
    }
}

/// `complete: true` was said of what a killed agent had kept, which has no event yet.
#[test]
fn a_trace_that_was_only_begun_is_not_complete() {
    let mut begun = Vec::new();
    Writer::new().start(&SessionInfo { started_real_ns: 1, ..SessionInfo::default() }, &mut begun);
    let (code, out, err) = Place::with_trace(&begun).all("report run.hst --json");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["complete"]), (Some(3), &Value::Bool(false)), "{err}");
    assert!(json["problems"].to_string().contains("no footer at byte"), "{json}");
}

#[test]
fn a_flipped_byte_in_the_events_names_its_place() {
    let mut bytes = sample::trace();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let place = Place::with_trace(&bytes);
    let (code, out, err) = place.all("dump run.hst");
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains(" at byte "), "{err}");
    assert!(out.contains("# session") && out.contains("# end session"), "{out}");
    check(&bytes);
}

/// Where the payload of a chunk begins, and how many events it has.
fn payload_of(bytes: &[u8], chunk: usize) -> (usize, u64) {
    let trace = Trace::open(bytes).unwrap();
    let chunk = &trace.chunks()[chunk];
    (chunk.offset as usize + HEADER_BYTES, u64::from(chunk.sums.events))
}

/// Each command on a range of a trace in which so many events are damaged, or nobody knows how many, says so.
fn check_ranges(place: &Place, events: Option<u64>) {
    for range in ["--from 10% --to 50%", "--from 10% --to 50%", "--to 90% --no-index"] {
        for command in ["report run.hst", "report run.hst --json", "hotspots run.hst", "flame run.hst"] {
            let metric = if command.starts_with("report") { "" } else { "--metric allocated" };
            let output = if command.starts_with("flame") { "-o flame.svg" } else { "" };
            let (code, out, err) = place.all(&format!("{command} {range} {metric} {output}"));
            assert_eq!(code, Some(3), "{command} {range}: {err}{out}");
            assert!(err.contains("damaged") && err.contains(" at byte "), "{command} {range}: {err}");
            if command.ends_with("--json") {
                let json: Value = serde_json::from_str(&out).unwrap();
                assert_eq!(json["events_missing"], true, "{json}");
                let missing = events.map_or("how many events".to_owned(), |n| {
                    format!("{} events are missing", heapscribe_units::count(n))
                });
                assert!(json["missing"].to_string().contains(&missing), "{missing}: {json}");
            }
        }
    }
    let (code, _, err) = place.all("diff run.hst run.hst --from 10% --baseline-to 50% --metric allocated");
    assert!(code == Some(3) && err.contains("damaged"), "{code:?} {err}");
    let (code, out, _) = place.all("report run.hst --json");
    let json: Value = serde_json::from_str(&out).unwrap();
    let most = |figure: &str| json["bounds"][figure]["bytes"]["high"].clone();
    assert_eq!((code, most("allocated"), most("peak")), (Some(3), Value::Null, Value::Null), "{json}");
    assert_eq!(json["dropped"]["damaged"].as_u64().unwrap(), events.unwrap_or(0));
    let (code, _, _) = place.all("check run.hst --max-peak 100TiB");
    assert_eq!(code, Some(3));
}

/// The index of a trace says how many events were in a chunk that cannot be read.
#[test]
fn a_range_says_what_a_damaged_chunk_may_have_had() {
    let mut bytes = large(3);
    let (at, events) = payload_of(&bytes, 1);
    bytes[at + 40] ^= 1;
    check_ranges(&Place::with_trace(&bytes), Some(events));
}

/// Without it nobody knows.
#[test]
fn a_range_of_a_trace_without_its_index_says_that_parts_are_damaged() {
    let mut bytes = large(3);
    let (at, _) = payload_of(&bytes, 1);
    bytes[at + 40] ^= 1;
    let index = bytes.len() - 60;
    bytes[index] ^= 1;
    check_ranges(&Place::with_trace(&bytes), None);
}

/// A trace with so many chunks that hardly compress.
fn large(chunks: usize) -> Vec<u8> {
    let (mut writer, mut bytes) = (Writer::new(), Vec::new());
    writer.start(&SessionInfo::default(), &mut bytes);
    let process = writer.process(&ProcessInfo { created_mono_ns: 1, ..ProcessInfo::default() }, &mut bytes);
    let (mut thread, mut ticks) = (ThreadChunk::new(1, 0), 1u64);
    for _ in 0..chunks {
        for _ in 0..3000 {
            ticks += 1;
            let size_bytes = ticks.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            thread.put(
                ticks,
                &Event::Alloc { call: Call::Malloc, size_bytes, stack: StackId(0), align_log2: 0 },
            );
        }
        let (info, payload) = thread.seal();
        writer.events(process, &info, &payload, &mut bytes);
    }
    let end = ProcessEnd { ended_mono_ns: ticks + 1, ..ProcessEnd::default() };
    writer.process_end(process, &end, &mut bytes);
    writer.finish(&mut bytes);
    bytes
}

/// An index that was made before still has the sums of the chunk, but a range that begins or ends in it needs its events.
#[test]
fn damage_after_the_index_was_made_is_said_where_it_matters() {
    let whole = large(40);
    let (at, events) = payload_of(&whole, 20);
    assert!(at > 1 << 16 && at + (1 << 16) < whole.len(), "no index tells such a change: {at}");
    let place = Place::with_trace(&whole);
    let flags = "report run.hst --json --from 51%";
    let (code, before, err) = place.all(flags);
    assert_eq!(code, Some(0), "{err}");
    let mut damaged = whole.clone();
    damaged[at + 40] ^= 1;
    std::fs::write(place.path("run.hst"), &damaged).unwrap();
    let (code, out, err) = place.all(flags);
    assert!(code == Some(3) && err.contains("damaged events block at byte "), "{code:?} {err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert!(
        json["missing"]
            .to_string()
            .contains(&format!("{} events are missing", heapscribe_units::count(events))),
        "{json}"
    );
    let allocations =
        |text: &str| serde_json::from_str::<Value>(text).unwrap()["allocations"].as_u64().unwrap();
    assert!(allocations(&out) < allocations(&before));
}
