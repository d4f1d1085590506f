//! Snapshots of which the end is missing: what they lack was printed as if it were nothing ("Live 0 bytes in 0 blocks",
//! "Consistent", "Resident: 0 bytes", "100.0 % of the anonymous memory").

use heapscribe_formats::model::{Access, LiveBlock, LiveRole, LiveTable, Mapping, MemoryMap, PageRun};
use heapscribe_formats::{ProcessEnd, ProcessInfo, SessionEnd, SessionInfo, Writer};
use heapscribe_wire::ids::{HeapAddress, ThreadId};
use serde_json::{Value, json};

use crate::see::Place;

const HEAP: u64 = 0x10_0000;
const PAGE: u64 = 4096;

/// A snapshot of three blocks of 1,000 bytes, with pages, and where in it two blocks and all pages end.
struct Parts {
    bytes: Vec<u8>,
    two_blocks: usize,
    pages: usize,
}

fn snapshot() -> Parts {
    let (mut writer, mut out) = (Writer::new(), Vec::new());
    writer.start(&SessionInfo::default(), &mut out);
    let created = ProcessInfo { pid: 7, created_mono_ns: 1, ..ProcessInfo::default() };
    let process = writer.process(&created, &mut out);
    let table = LiveTable {
        role: LiveRole::Snapshot,
        mono_ns: 1_000,
        ticks: 1_000,
        blocks: 3,
        allocated_blocks: 5,
        allocated_bytes: 5_000,
        freed_blocks: 2,
        freed_bytes: 2_000,
        ..LiveTable::default()
    };
    writer.live(process, &table, &mut out);
    let block = |n: u64| LiveBlock {
        address: HeapAddress(HEAP + 16 + n * 1_024),
        size_bytes: 1_000,
        thread: ThreadId(1),
        ..LiveBlock::default()
    };
    writer.blocks(process, 0, &[block(0), block(1)], &mut out);
    let two_blocks = out.len();
    writer.blocks(process, 0, &[block(2)], &mut out);
    let mapping = Mapping {
        start: HEAP,
        end: HEAP + 4 * PAGE,
        access: Access { read: true, write: true, ..Access::default() },
        path: b"[heap]".to_vec(),
        resident_bytes: 2 * PAGE,
        anonymous_bytes: 2 * PAGE,
        ..Mapping::default()
    };
    let run = PageRun { start: HEAP, pages: 2, ..PageRun::default() };
    let map = MemoryMap { page_bytes: PAGE, ..MemoryMap::default() };
    writer.memory_map(process, &map, (&[mapping], &[run], &[]), &mut out);
    let pages = out.len();
    let end = ProcessEnd { ended_mono_ns: 1_000, ..ProcessEnd::default() };
    writer.process_end(process, &end, &mut out);
    writer.session_end(&SessionEnd::default(), &mut out);
    writer.finish(&mut out);
    Parts { bytes: out, two_blocks, pages }
}

/// What is printed of a snapshot whose file ends after so many bytes, and how that ends.
struct Printed {
    place: Place,
    code: Option<i32>,
}

impl Printed {
    fn of(len: usize, code: i32) -> Printed {
        Printed { place: Place::with_trace(&snapshot().bytes[..len]), code: Some(code) }
    }

    fn text(&self, flags: &str) -> String {
        let (code, out, err) = self.place.all(&format!("report run.hst {flags}"));
        assert_eq!(code, self.code, "{flags}: {err}{out}");
        out
    }

    fn json(&self, flags: &str) -> Value {
        serde_json::from_str(&self.text(&format!("--json {flags}"))).unwrap()
    }
}

#[test]
fn a_whole_one_is_exact() {
    let whole = Printed::of(snapshot().bytes.len(), 0);
    let (text, json) = (whole.text(""), whole.json(""));
    assert!(text.contains("Consistent: all blocks are of one instant."), "{text}");
    assert!(text.contains("3,000 bytes (2.93 KiB) in 3 blocks."), "{text}");
    assert_eq!((&json["exact"], &json["bounds"]), (&Value::Bool(true), &Value::Null));
    let memory = whole.text("--memory");
    assert!(memory.contains("Resident: 8,192 bytes"), "{memory}");
    assert_eq!(whole.json("--memory")["memory"]["resident_bytes"], 2 * PAGE);
}

#[test]
fn blocks_that_are_missing_leave_a_lower_bound() {
    let cut = Printed::of(snapshot().two_blocks, 3);
    let (text, json) = (cut.text(""), cut.json(""));
    assert!(text.contains("Not whole: 1 of the 3 blocks of its table are missing in the file."), "{text}");
    assert!(text.contains("  at least 2,000 bytes (1.95 KiB) in at least 3 blocks."), "{text}");
    assert!(
        text.contains("  Read of the table, and in all lists below: 2,000 bytes (1.95 KiB) in 2 blocks."),
        "{text}"
    );
    assert!(!text.contains("Consistent"), "{text}");
    assert_eq!(json["exact"], false);
    assert_eq!(json["inexact_because"], "1 of the 3 blocks of its table are missing in the file");
    assert_eq!(json["bounds"]["bytes"], json!({ "low": 2_000, "high": null }));
    assert_eq!(json["bounds"]["blocks"], json!({ "low": 3, "high": null }));
}

#[test]
fn without_its_last_bytes_nobody_knows_what_was_lost() {
    let cut = Printed::of(snapshot().pages, 3);
    let (text, json) = (cut.text(""), cut.json(""));
    assert!(text.contains("  at least 3,000 bytes (2.93 KiB) in at least 3 blocks."), "{text}");
    assert_eq!((&json["exact"], &json["bounds"]["bytes"]["high"]), (&Value::Bool(false), &Value::Null));
    // All of its pages are there.
    assert_eq!(cut.json("--memory")["memory"]["resident_bytes"], 2 * PAGE);
}

#[test]
fn pages_that_are_missing_leave_nothing_of_memory() {
    // The last block of the pages is not whole, and not only its padding is missing.
    let cut = Printed::of(snapshot().pages - 16, 3);
    let (text, json) = (cut.text("--memory"), cut.json("--memory"));
    assert!(text.contains("Resident: unknown"), "{text}");
    assert!(text.contains("Live: at least 3,000 bytes (2.93 KiB) in at least 3 blocks."), "{text}");
    for figure in ["malloc_trim", "% of the anonymous", "Nobody", "Nothing was allocated", "pinned.svg"] {
        assert!(!text.contains(figure), "{figure}: {text}");
    }
    let memory = &json["memory"];
    for key in
        ["resident_bytes", "heap_bytes", "pinned_bytes", "coverage", "trim_bytes", "lists", "unplaced_blocks"]
    {
        assert!(memory.as_object().unwrap().contains_key(key) && memory[key].is_null(), "{key}: {memory}");
    }
    assert_eq!(memory["parts"], json!([]));
    let (code, _, err) = cut.place.all("flame run.hst --metric pinned -o pinned.svg");
    assert!(code == Some(1) && err.contains("nobody knows who keeps pages"), "{err}");
}
