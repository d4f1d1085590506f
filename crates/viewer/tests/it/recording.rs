//! A small recording with known figures, and a name that is markup.
//!
//! ```text
//!   ms   app (pid 100)                          child (pid 101)
//!    1   main > load     allocates 1,000
//!    2   main > parse    allocates 3,000         main > load allocates 10,000
//!    3   frees the 1,000
//!    4   main > load     allocates   500
//!    5   frees the 3,000
//!    6   main > <script> allocates    64
//!    8                                           frees the 10,000
//! ```

use heapscribe_formats::{
    ChunkInfo, ExitStatus, HowEnded, ProcessEnd, ProcessIndex, ProcessInfo, SessionEnd, SessionInfo, Stage,
    Writer,
};
use heapscribe_symbols::places::{Place, path_of};
use heapscribe_wire::definitions::{Definition, Module, Node, Position};
use heapscribe_wire::ids::{CodeAddress, NameId, StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event, Note};

/// A function's name as a hostile program has it.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>";

/// Names of a section and of marks.
const MARKS: [&str; 3] = ["parse", "<i>loaded</i>", "served"];

/// When it began, ns since 1970: earlier than any file of a test.
pub(crate) const BEGUN_REAL_NS: u64 = 1_000_000_000_000_000_000;
/// CLOCK_MONOTONIC at the start; a tick is 16 ns.
const START_NS: u64 = 1_600_000_000;
const MS: u64 = 62_500;

const LOAD: StackId = StackId(2);
const PARSE: StackId = StackId(3);
const SCRIPT: StackId = StackId(4);

/// The whole trace, of a program whose functions are on line 7 of this file.
pub(crate) fn trace(source: &str) -> Vec<u8> {
    let mut t = Recording { writer: Writer::new(), out: Vec::new(), source: source.to_owned() };
    let info = SessionInfo {
        command: vec![b"./app".to_vec(), HOSTILE.as_bytes().to_vec()],
        host: "box".to_owned(),
        started_mono_ns: START_NS,
        started_real_ns: BEGUN_REAL_NS,
        ..SessionInfo::default()
    };
    t.writer.start(&info, &mut t.out);
    let app = t.process(100, 1, Stage::Execed);
    let events = [
        (0, alloc(1_000, LOAD)),
        (MS, alloc(3_000, PARSE)),
        (MS, free(1_000, LOAD, 2 * MS)),
        (MS, alloc(500, LOAD)),
        (MS, free(3_000, PARSE, 3 * MS)),
        (MS, alloc(64, SCRIPT)),
    ];
    t.chunk(app, 1, &events);
    let child = t.process(101, 100, Stage::Forked);
    t.chunk(child, 2, &[(0, alloc(10_000, LOAD)), (6 * MS, free(10_000, LOAD, 6 * MS))]);
    t.end(child, 9);
    t.end(app, 10);
    let end = SessionEnd { ended_mono_ns: ns(10), exit: Some(ExitStatus::Code(0)), ..SessionEnd::default() };
    t.writer.session_end(&end, &mut t.out);
    t.writer.finish(&mut t.out);
    t.out
}

/// The blocks of `app` alone, with a section from 2 to 5 ms, and marks at 3.5 and 5.5 ms.
pub(crate) fn marked() -> Vec<u8> {
    let mut t = Recording { writer: Writer::new(), out: Vec::new(), source: "app.c".to_owned() };
    t.writer.start(&SessionInfo { started_mono_ns: START_NS, ..SessionInfo::default() }, &mut t.out);
    let app = t.process(100, 1, Stage::Execed);
    let note = |note, name| Event::Note { note, name: NameId(name) };
    let events = [
        (0, alloc(1_000, LOAD)),
        (MS, alloc(3_000, PARSE)),
        (0, note(Note::Begin, 1)),
        (MS, free(1_000, LOAD, 2 * MS)),
        (MS / 2, note(Note::Mark, 2)),
        (MS / 2, alloc(500, LOAD)),
        (MS, free(3_000, PARSE, 3 * MS)),
        (0, note(Note::End, 1)),
        (MS / 2, note(Note::Mark, 3)),
        (MS / 2, alloc(64, SCRIPT)),
    ];
    t.chunk(app, 1, &events);
    t.end(app, 10);
    let end = SessionEnd { ended_mono_ns: ns(10), exit: Some(ExitStatus::Code(0)), ..SessionEnd::default() };
    t.writer.session_end(&end, &mut t.out);
    t.writer.finish(&mut t.out);
    t.out
}

/// Blocks of a function that only passes requests on, and one of `load`: 100 and 7 bytes at 1 ms, 900 bytes at 3 ms.
pub(crate) fn wrapped() -> Vec<u8> {
    let mut t = Recording { writer: Writer::new(), out: Vec::new(), source: "app.c".to_owned() };
    t.writer.start(&SessionInfo { started_mono_ns: START_NS, ..SessionInfo::default() }, &mut t.out);
    let functions = ["main", "xmalloc", "load"].map(str::to_owned);
    let app = t.process_of(100, 1, Stage::Execed, &functions);
    let (xmalloc, load) = (StackId(2), StackId(3));
    t.chunk(app, 1, &[(0, alloc(100, xmalloc)), (0, alloc(7, load)), (2 * MS, alloc(900, xmalloc))]);
    t.end(app, 10);
    let end = SessionEnd { ended_mono_ns: ns(10), exit: Some(ExitStatus::Code(0)), ..SessionEnd::default() };
    t.writer.session_end(&end, &mut t.out);
    t.writer.finish(&mut t.out);
    t.out
}

/// A block of each of so many functions with names of their own, about as large as the others and never freed.
pub(crate) fn wide(functions: u64) -> Vec<u8> {
    let mut t = Recording { writer: Writer::new(), out: Vec::new(), source: "app.c".to_owned() };
    t.writer.start(&SessionInfo { started_mono_ns: START_NS, ..SessionInfo::default() }, &mut t.out);
    let app = t.process_of(100, 1, Stage::Execed, &wide_names(functions));
    let events: Vec<_> =
        (2..2 + functions as u32).map(|n| (1_000, alloc(1_000 + u64::from(n % 7), StackId(n)))).collect();
    t.chunk(app, 1, &events);
    t.end(app, 1_000);
    let end =
        SessionEnd { ended_mono_ns: ns(1_000), exit: Some(ExitStatus::Code(0)), ..SessionEnd::default() };
    t.writer.session_end(&end, &mut t.out);
    t.writer.finish(&mut t.out);
    t.out
}

/// `main`, and names that cannot be compressed: the numbers of an LCG (Knuth's MMIX) in hexadecimal.
fn wide_names(functions: u64) -> Vec<String> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    let names =
        (0..functions).map(|_| format!("f{:x}{:x}{:x}{:x}{:x}", next(), next(), next(), next(), next()));
    std::iter::once("main".to_owned()).chain(names).collect()
}

fn alloc(size_bytes: u64, stack: StackId) -> Event {
    Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 }
}

fn free(size_bytes: u64, stack: StackId, age_ticks: u64) -> Event {
    Event::Free { call: Call::Free, block: Block { size_bytes, stack, age_ticks, birth_thread: None } }
}

struct Recording {
    writer: Writer,
    out: Vec<u8>,
    source: String,
}

impl Recording {
    fn process(&mut self, pid: u32, parent_pid: u32, stage: Stage) -> ProcessIndex {
        self.process_of(pid, parent_pid, stage, &["main", "load", "parse", HOSTILE].map(str::to_owned))
    }

    fn process_of(&mut self, pid: u32, parent_pid: u32, stage: Stage, functions: &[String]) -> ProcessIndex {
        let info = ProcessInfo {
            pid,
            parent_pid,
            stage,
            created_mono_ns: START_NS,
            created_ticks: START_NS / 16,
            exe: b"/nonexistent/app".to_vec(),
            ..ProcessInfo::default()
        };
        let process = self.writer.process(&info, &mut self.out);
        self.define(process, functions);
        process
    }

    /// A module of one place for each function, and a node for each: all are called by the first.
    fn define(&mut self, process: ProcessIndex, functions: &[String]) {
        let place = |function: &str| {
            let (function, file) = (function.to_owned(), self.source.clone());
            path_of(&[Place { function, file, line: 7, start_char: 0, end_char: 0 }])
        };
        let paths: Vec<String> = functions.iter().map(|name| place(name)).collect();
        let module = |(n, path): (u64, &'static [u8])| {
            let start = (n + 1) << 12;
            Definition::Module(Module { start, end: start + 0x1000, bias: 0, name: path, build_id: &[] })
        };
        let leaked = paths.into_iter().map(|path| &*Vec::leak(path.into_bytes()));
        let mut all: Vec<_> = (0..).zip(leaked).map(module).collect();
        all.push(Definition::Thread { id: ThreadId(1), tid: 100, born_ticks: 0, name: b"<b>" });
        let names =
            (1..).zip(MARKS).map(|(id, name)| Definition::Name { id: NameId(id), name: name.as_bytes() });
        all.extend(names);
        let node = |(n, parent): (u64, u32)| {
            let pc = CodeAddress((n << 12) + 0x10);
            Definition::Node(Node { parent: StackId(parent), pc, guesses: false, exact: false })
        };
        all.extend((1..=functions.len() as u64).map(|n| node((n, u32::from(n > 1)))));
        let (mut bytes, mut position, mut used) = (vec![0; functions.len() << 10], Position::default(), 0);
        for definition in &all {
            used += definition.encode(&mut position, &mut bytes[used..]).unwrap();
        }
        let taken = self.writer.definitions(process, Position::default(), &bytes[..used], &mut self.out);
        assert_eq!((taken.bytes, taken.bad), (used, None));
    }

    fn chunk(&mut self, process: ProcessIndex, at_ms: u64, events: &[(u64, Event)]) {
        let mut payload = Vec::new();
        for (dt, event) in events {
            let mut at = [0; EVENT_BYTES_MAX];
            let n = event.encode(*dt, &mut at);
            payload.extend_from_slice(&at[..n]);
        }
        let (begin_ticks, begin_mono_ns) = (ns(at_ms) / 16, ns(at_ms));
        let info = ChunkInfo { thread: 1, begin_ticks, begin_mono_ns, ..ChunkInfo::default() };
        self.writer.events(process, &info, &payload, &mut self.out);
    }

    fn end(&mut self, process: ProcessIndex, at_ms: u64) {
        let end = ProcessEnd {
            ended_mono_ns: ns(at_ms),
            how: HowEnded::Exited,
            threads: 1,
            ..ProcessEnd::default()
        };
        self.writer.process_end(process, &end, &mut self.out);
    }
}

fn ns(at_ms: u64) -> u64 {
    START_NS + at_ms * 1_000_000
}
