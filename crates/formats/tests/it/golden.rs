//! Traces of released versions stay readable: a file that was written once always reads the same.

use std::fmt::Write as _;
use std::path::PathBuf;

use heapscribe_formats::{
    ChunkInfo, Drainer, ExitStatus, HowEnded, MemorySample, ProcessEnd, ProcessInfo, RealTimeRules, Scratch,
    SessionEnd, SessionInfo, Stage, Trace, Writer,
};
use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Module, Position};
use heapscribe_wire::head::ClockKind;
use heapscribe_wire::ids::{StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event};

/// How many functions there were when the fixture was written.
const CALLS: usize = 13;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The contents of a trace, a line for each record.
fn dump(bytes: &[u8]) -> String {
    let trace = Trace::open(bytes).unwrap();
    let (mut out, mut scratch) = (String::new(), Scratch::default());
    writeln!(out, "{:?}\n{:?}", trace.session(), trace.session_end()).unwrap();
    writeln!(out, "{:?} {} ns", trace.problems(), trace.duration_ns()).unwrap();
    for p in trace.processes() {
        writeln!(out, "{:?} {:?} {:?}", p.index, p.info, p.end).unwrap();
        let line = |id: StackId, d: &Definition<'_>| writeln!(out, "  {id:?} {d:?}").unwrap();
        assert_eq!(trace.definitions(p.index, &mut scratch, line).unwrap(), []);
        let line = |s: &MemorySample| writeln!(out, "  {s:?}").unwrap();
        assert_eq!(trace.memory(p.index, &mut scratch, line).unwrap(), []);
    }
    for entry in trace.chunks() {
        // Calls that are newer than the format are not in its traces.
        let (calls, known) = (&entry.sums.calls, &entry.sums.calls[..CALLS]);
        assert_eq!(calls[CALLS..].iter().sum::<u32>(), 0);
        let line = format!("{entry:?}").replace(&format!("{calls:?}"), &format!("{known:?}"));
        writeln!(out, "{line}").unwrap();
        let clock = trace.clock(entry.process);
        let chunk = trace.load_chunk(entry, &mut scratch).unwrap();
        let line = |ticks, event: &Event| {
            writeln!(out, "  {} ns {event:?}", clock.time_ns(&entry.info, ticks)).unwrap();
        };
        chunk.for_each(line).unwrap();
    }
    without_later_fields(&out)
}

/// Removes fields that are newer than the fixture.
fn without_later_fields(decoded: &str) -> String {
    decoded
        .replace(", rules: RealTimeRules { sections: [], after_mark: None, threads: [] }", "")
        .replace(", broke: None", "")
        .replace(", peak: None", "")
        .replace(", modes: []", "")
        .replace(", unrecorded: Unrecorded { programs: [], others: [] }", "")
        .replace(", early_ns: 0, counts_calls: false", "")
        .replace(", exact_from_ticks: 0", "")
        .replace("Cut { reason: 5, parent: StackId(0) }", "Cut { reason: 5 }")
}

fn definitions() -> Vec<u8> {
    let (mut out, mut position) = (Vec::new(), Position::default());
    let module = Module { start: 4096, end: 8192, bias: 4096, name: b"/bin/golden", build_id: &[1; 20] };
    for definition in [
        Definition::Thread { id: ThreadId(1), tid: 100, born_ticks: 3_125_000, name: b"main" },
        Definition::Module(module),
        Definition::Cut { reason: 5, parent: StackId::UNKNOWN },
        Definition::Unmapped,
    ] {
        let mut at = [0; DEFINITION_BYTES_MAX];
        let n = definition.encode(&mut position, &mut at).unwrap();
        out.extend_from_slice(&at[..n]);
    }
    out
}

fn events() -> Vec<u8> {
    let stack = StackId(1);
    let block = Block { size_bytes: 1000, stack, age_ticks: 40, birth_thread: None };
    let mut out = Vec::new();
    for (dt, event) in [
        (10, Event::Alloc { call: Call::Malloc, size_bytes: 1000, stack, align_log2: 0 }),
        (20, Event::Alloc { call: Call::PosixMemalign, size_bytes: 1 << 33, stack, align_log2: 12 }),
        (20, Event::Realloc { call: Call::Realloc, old: block, size_bytes: 3000, stack }),
        (7, Event::Free { call: Call::Free, block: Block { birth_thread: Some(ThreadId(2)), ..block } }),
        (1, Event::UnknownFree { call: Call::Cfree }),
        (1, Event::UnknownRealloc { call: Call::Reallocarray, size_bytes: 1, stack }),
        (1, Event::Failed { call: Call::Calloc, size_bytes: u64::MAX, stack }),
        (1, Event::Lost { count: 5, reason: 0 }),
    ] {
        let mut at = [0; EVENT_BYTES_MAX];
        let n = event.encode(dt, &mut at);
        out.extend_from_slice(&at[..n]);
    }
    out
}

fn write_process(w: &mut Writer, n: u32, clock_kind: ClockKind, out: &mut Vec<u8>) {
    let clock_shift = if clock_kind == ClockKind::Tsc { 5 } else { 4 };
    let created_mono_ns = 50_000_000 + 1_000_000 * u64::from(n);
    let info = ProcessInfo {
        pid: 100 + n,
        parent_pid: 99 + n,
        stage: if n == 0 { Stage::Execed } else { Stage::Forked },
        created_mono_ns,
        created_real_ns: 1_700_000_000_000_000_000,
        parent_created_mono_ns: if n == 0 { 0 } else { 50_000_000 },
        created_ticks: created_mono_ns >> 4,
        clock_kind,
        clock_shift,
        early_ns: 0,
        counts_calls: false,
        exe: b"/bin/golden".to_vec(),
        command: vec![b"golden".to_vec(), b"--gilt".to_vec()],
    };
    let process = w.process(&info, out);
    assert_eq!(w.definitions(process, Position::default(), &definitions(), out).bad, None);
    let begin_mono_ns = created_mono_ns + 16_000;
    let chunk = ChunkInfo {
        thread: 1,
        sequence: 0,
        begin_ticks: begin_mono_ns >> 4,
        begin_mono_ns,
        end_ticks: (begin_mono_ns >> 4) + 1000,
        end_mono_ns: begin_mono_ns + 16_000,
        last_alloc_ticks: 0,
    };
    w.events(process, &chunk, &events(), out);
    let sample = MemorySample { mono_ns: begin_mono_ns, rss_bytes: 1 << 22, ..MemorySample::default() };
    w.memory(process, &[sample], out);
    let end = ProcessEnd {
        ended_mono_ns: begin_mono_ns + 1_000_000,
        how: HowEnded::Exited,
        threads: 1,
        lost_note: "nothing".into(),
        ..ProcessEnd::default()
    };
    w.process_end(process, &end, out);
}

#[test]
fn a_trace_of_format_1_0_reads_as_ever() {
    let bytes = std::fs::read(fixture("native-1.0.trace")).unwrap();
    let decoded = std::fs::read_to_string(fixture("native-1.0.txt")).unwrap();
    assert_eq!(dump(&bytes), decoded);
}

#[test]
#[ignore = "writes the fixture; it is never to be written again once released"]
fn write_fixture() {
    let (mut w, mut out) = (Writer::new(), Vec::new());
    let session = SessionInfo {
        command: vec![b"golden".to_vec()],
        host: "fixture".into(),
        version: "0.1.0".into(),
        started_real_ns: 1_700_000_000_000_000_000,
        started_mono_ns: 49_000_000,
        rules: RealTimeRules::default(),
    };
    w.start(&session, &mut out);
    write_process(&mut w, 0, ClockKind::Tsc, &mut out);
    write_process(&mut w, 1, ClockKind::Monotonic, &mut out);
    let drainer = Drainer {
        waiting_bytes: 1 << 16,
        waiting_ns: 2_000_000,
        full_logs: 1,
        hurried_chunks: 2,
        cpu_ns: 3_000_000,
        peak_rss_bytes: 8 << 20,
    };
    w.session_end(
        &SessionEnd {
            ended_mono_ns: 60_000_000,
            exit: Some(ExitStatus::Code(3)),
            drainer,
            ..SessionEnd::default()
        },
        &mut out,
    );
    w.finish(&mut out);
    std::fs::write(fixture("native-1.0.txt"), dump(&out)).unwrap();
    std::fs::write(fixture("native-1.0.trace"), out).unwrap();
}
