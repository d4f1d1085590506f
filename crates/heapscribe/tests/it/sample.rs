//! A small trace with a bit of everything: two processes, three threads, every kind of event.
//!
//! ```text
//!   P0 app, threads 1 "main" and 2 "worker"; P1 its forked child, thread 1
//!   S1 _start   S2 main<-S1   S3 parse<-S2   S4 load<-S2   S5 cut   S6 callback<-S5
//! ```

use heapscribe_formats::{
    ChunkInfo, ExitStatus, HowEnded, MemorySample, ProcessEnd, ProcessIndex, ProcessInfo, RealTimeRules,
    SessionEnd, SessionInfo, Stage, Writer,
};
use heapscribe_wire::definitions::{Definition, Function, InterpretedNode, Module, Node, Position};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{CodeAddress, FunctionId, NameId, RateId, StackId, ThreadId};
use heapscribe_wire::language::Language;
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event, Note};

/// CLOCK_MONOTONIC at the start; a tick is 16 ns.
const START_NS: u64 = 1_600_000_000;
const MS: u64 = 62_500;

const PARSE: StackId = StackId(3);
const LOAD: StackId = StackId(4);
const CALLBACK: StackId = StackId(6);

/// The whole trace.
pub(crate) fn trace() -> Vec<u8> {
    let mut t = Recording::start();
    let app = t.process(100, 1, Stage::Execed, 0);
    t.define(app, &definitions());
    t.chunk(app, 1, 1, &main_events());
    t.chunk(app, 2, 3, &worker_events());
    let child = t.process(101, 100, Stage::Forked, 5);
    t.define(child, &definitions());
    t.chunk(
        child,
        1,
        6,
        &[(1, alloc(Call::Malloc, 64, PARSE)), (1, Event::UnknownFree { call: Call::Free })],
    );
    t.memory(app, &[(2, 3 << 20), (6, 4 << 20), (9, 4 << 20)]);
    t.end(child, HowEnded::Exited, 8, &[(LossReason::UnknownBlock, 1)]);
    t.end(
        app,
        HowEnded::Exited,
        10,
        &[(LossReason::StackDepth, 2), (LossReason::LogFull, 3), (LossReason::UnknownBlock, 1)],
    );
    t.finish()
}

/// A process that has eight blocks and replaces one after the other, so that at each moment some are old.
pub(crate) fn replaced() -> Vec<u8> {
    const DT: u64 = 1000;
    let mut t = Recording::start();
    let app = t.process(100, 1, Stage::Execed, 0);
    t.define(app, &definitions());
    let (mut events, mut live) = (Vec::new(), [(0, 0); 8]);
    for n in 0..40u64 {
        let slot = (n * 3 % 8) as usize;
        let stack = if slot < 4 { PARSE } else { LOAD };
        if n >= 8 {
            let (size_bytes, birth) = live[slot];
            events.push((DT, free(size_bytes, stack, (events.len() as u64 + 1) * DT - birth, None)));
        }
        live[slot] = (100 + 10 * n, (events.len() as u64 + 1) * DT);
        events.push((DT, alloc(Call::Malloc, live[slot].0, stack)));
    }
    t.chunk(app, 1, 1, &events);
    t.end(app, HowEnded::Exited, 10, &[]);
    t.finish()
}

/// One process that was recorded in full at first, then sampled each 64 KiB: blocks of 8,000 bytes, half of
/// them freed, and large ones that no sample misses.
pub(crate) fn sampled() -> Vec<u8> {
    let rate = RateId(1);
    let mut t = Recording::start();
    let app = t.process(100, 1, Stage::Execed, 0);
    t.define(app, &definitions());
    t.define_more(app, &[Definition::Rate { id: rate, mean_bytes: 64 << 10 }], 7);
    let mut events = vec![(1, alloc(Call::Malloc, 1_000, LOAD)), (0, Event::Rate { rate })];
    for number in 0..20 {
        events.push((MS / 10, alloc(Call::Malloc, 8_000, PARSE)));
        if number % 2 == 0 {
            events.push((10, free(8_000, PARSE, 10, None)));
        }
    }
    // Told again: the thread was given blocks that are not here.
    events.extend([(1, alloc(Call::Calloc, 1 << 20, LOAD)), (0, Event::Rate { rate })]);
    events.extend([(1, free(1 << 20, LOAD, 1, None)), (0, Event::Rate { rate: RateId::FULL })]);
    events.push((1, alloc(Call::Malloc, 500, LOAD)));
    t.chunk(app, 1, 1, &events);
    t.end(app, HowEnded::Exited, 10, &[]);
    t.finish()
}

/// One process that was sampled each 64 KiB and freed all that samples hit.
pub(crate) fn sampled_and_freed() -> Vec<u8> {
    let rate = RateId(1);
    let mut t = Recording::start();
    let app = t.process(100, 1, Stage::Execed, 0);
    t.define(app, &definitions());
    t.define_more(app, &[Definition::Rate { id: rate, mean_bytes: 64 << 10 }], 7);
    let of_one = [(MS / 10, alloc(Call::Malloc, 8_000, PARSE)), (10, free(8_000, PARSE, 10, None))];
    let events = [(0, Event::Rate { rate })].into_iter().chain((0..20).flat_map(|_| of_one));
    t.chunk(app, 1, 1, &events.collect::<Vec<_>>());
    t.end(app, HowEnded::Exited, 10, &[]);
    t.finish()
}

/// One process, one allocation, one free: nothing is wrong with it.
pub(crate) fn tiny() -> Vec<u8> {
    let mut t = Recording::start();
    let app = t.process(100, 1, Stage::Execed, 0);
    t.define(app, &definitions());
    t.chunk(app, 1, 1, &[(1, alloc(Call::Malloc, 5, PARSE)), (9, free(5, PARSE, 9, None))]);
    t.end(app, HowEnded::Exited, 2, &[]);
    t.finish()
}

/// A program with sections and a mark: `audio` allocates and frees inside the section "rt", `main` has one
/// that is clean, and both go on after the mark "ready"; a block of each is never freed. A second process is
/// clean. These are the rules of the recording.
pub(crate) fn sectioned(rules: RealTimeRules) -> Vec<u8> {
    let mut t = Recording::start_with(rules);
    let app = t.process(100, 1, Stage::Execed, 0);
    t.define(app, &named());
    let note = |note, name| Event::Note { note, name: NameId(name) };
    let main = [
        (1, note(Note::Begin, 2)),
        (10, note(Note::End, 2)),
        (1, alloc(Call::Malloc, 3_000, LOAD)),
        (MS, note(Note::Mark, 3)),
        (1, alloc(Call::Calloc, 100, PARSE)),
    ];
    t.chunk(app, 1, 1, &main);
    let audio = [
        (1, alloc(Call::Malloc, 64, PARSE)),
        (9, note(Note::Begin, 1)),
        (9, alloc(Call::Malloc, 500, LOAD)),
        (0, Event::Took { units: 100_000 }),
        (9, free(64, PARSE, 27, None)),
        (9, note(Note::End, 1)),
        (9, free(3_000, LOAD, 9, Some(1))),
    ];
    t.chunk(app, 2, 3, &audio);
    let other = t.process(200, 1, Stage::Execed, 1);
    t.define(other, &named());
    t.chunk(other, 1, 1, &[(1, note(Note::Begin, 1)), (5, note(Note::End, 1))]);
    t.end(app, HowEnded::Exited, 9, &[]);
    t.end(other, HowEnded::Exited, 9, &[]);
    t.finish()
}

/// The definitions, a thread `audio` in place of `worker`, and names of sections and a mark.
fn named() -> Vec<Definition<'static>> {
    let mut all = definitions();
    all[3] = Definition::Thread { id: ThreadId(2), tid: 101, born_ticks: 0, name: b"audio" };
    let names: [&[u8]; 3] = [b"rt", b"clean", b"ready"];
    all.extend((1..).zip(names).map(|(id, name)| Definition::Name { id: NameId(id), name }));
    all
}

/// A trace of one allocation whose stack is a single return address in a file.
pub(crate) fn one_frame(path: &str, build_id: &[u8], return_address: u64) -> Vec<u8> {
    let mut t = Recording::start();
    let app = t.process(100, 1, Stage::Execed, 0);
    let module = Module { start: 0, end: 1 << 40, bias: 0, name: path.as_bytes(), build_id };
    let pc = CodeAddress(return_address);
    let node = Node { parent: StackId(0), pc, guesses: false, exact: false };
    t.define(app, &[Definition::Module(module), Definition::Node(node)]);
    t.chunk(app, 1, 1, &[(1, alloc(Call::Malloc, 5, StackId(1)))]);
    t.end(app, HowEnded::Exited, 2, &[]);
    t.finish()
}

/// A Python program: its loop runs `serve`, in it `handle`, which calls a function of a library that calls back.
pub(crate) fn interpreted() -> Vec<u8> {
    let mut t = Recording::start();
    let app = t.process(100, 1, Stage::Execed, 0);
    let function = |id, name, file, first_line| {
        let (id, language) = (FunctionId(id), Language::PYTHON);
        Definition::Function(Function { id, language, first_line, name, file })
    };
    let node = |parent, function, line| {
        let (parent, function) = (StackId(parent), FunctionId(function));
        Definition::Interpreted(InterpretedNode { parent, function, line })
    };
    let mut all = definitions();
    all.extend([
        function(1, b"Server.serve", b"/srv/web.py", 10),
        function(2, b"handle", b"/srv/app.py", 40),
    ]);
    all.extend([node(2, 1, 12), node(7, 2, 44)]);
    let native = |parent, pc| {
        let (parent, pc) = (StackId(parent), CodeAddress(pc));
        Definition::Node(Node { parent, pc, guesses: false, exact: false })
    };
    all.extend([native(8, 0x20060), native(9, 0x1400), node(10, 3, 0)]);
    t.define(app, &all);
    let events = [(1, alloc(Call::Malloc, 700, StackId(8))), (1, alloc(Call::Malloc, 50, StackId(11)))];
    t.chunk(app, 1, 1, &events);
    t.end(app, HowEnded::Exited, 2, &[]);
    t.finish()
}

fn main_events() -> Vec<(u64, Event)> {
    let old = Block { size_bytes: 1_000, stack: LOAD, age_ticks: MS, birth_thread: None };
    vec![
        (1, alloc(Call::Malloc, 1_000, LOAD)),
        (MS, Event::Realloc { call: Call::Realloc, old, size_bytes: 2_000_000, stack: LOAD }),
        (1, alloc(Call::Malloc, 24, PARSE)),
        (10, free(24, PARSE, 10, None)),
        (5, alloc(Call::Calloc, 24, PARSE)),
        (10, free(24, PARSE, 10, None)),
        (MS, alloc(Call::Calloc, 4_096, CALLBACK)),
        (1, Event::Failed { call: Call::Malloc, size_bytes: 1 << 50, stack: LOAD }),
        (1, Event::Lost { count: 3, reason: LossReason::LogFull as u8 }),
        (4 * MS, free(2_000_000, LOAD, 5 * MS + 27, None)),
    ]
}

fn worker_events() -> Vec<(u64, Event)> {
    let call = Call::PosixMemalign;
    vec![
        (MS, Event::Alloc { call, size_bytes: 4_096, stack: PARSE, align_log2: 6 }),
        (MS, free(4_096, CALLBACK, MS, Some(1))),
        (MS, Event::UnknownRealloc { call: Call::Realloc, size_bytes: 10, stack: PARSE }),
    ]
}

fn alloc(call: Call, size_bytes: u64, stack: StackId) -> Event {
    Event::Alloc { call, size_bytes, stack, align_log2: 0 }
}

fn free(size_bytes: u64, stack: StackId, age_ticks: u64, thread: Option<u32>) -> Event {
    let birth_thread = thread.map(ThreadId);
    Event::Free { call: Call::Free, block: Block { size_bytes, stack, age_ticks, birth_thread } }
}

fn definitions() -> Vec<Definition<'static>> {
    let node = |parent, pc, guesses| {
        Definition::Node(Node { parent: StackId(parent), pc: CodeAddress(pc), guesses, exact: false })
    };
    let app = Module { start: 0x1000, end: 0x9000, bias: 0, name: b"/nonexistent/app", build_id: &[7; 20] };
    let library = Module {
        start: 0x20000,
        end: 0x30000,
        bias: 0x20000,
        name: b"/nonexistent/libgui.so",
        build_id: &[],
    };
    let thread = |id, name| Definition::Thread { id: ThreadId(id), tid: 99 + id, born_ticks: 0, name };
    vec![
        Definition::Module(app),
        Definition::Module(library),
        thread(1, b"main"),
        thread(2, b"worker"),
        node(0, 0x1010, false),
        node(1, 0x1100, false),
        node(2, 0x1200, false),
        node(2, 0x1300, true),
        Definition::Cut { reason: LossReason::StackDepth as u8, parent: StackId::UNKNOWN },
        node(5, 0x20042, false),
    ]
}

struct Recording {
    writer: Writer,
    out: Vec<u8>,
}

impl Recording {
    fn start() -> Recording {
        Recording::start_with(RealTimeRules::default())
    }

    fn start_with(rules: RealTimeRules) -> Recording {
        let mut t = Recording { writer: Writer::new(), out: Vec::new() };
        let info = SessionInfo {
            command: vec![b"./app".to_vec(), b"--fast".to_vec()],
            host: "box".to_owned(),
            version: "0.1.0".to_owned(),
            started_real_ns: 1_795_256_100_000_000_000,
            started_mono_ns: START_NS,
            rules,
        };
        t.writer.start(&info, &mut t.out);
        t
    }

    fn process(&mut self, pid: u32, parent_pid: u32, stage: Stage, at_ms: u64) -> ProcessIndex {
        let info = ProcessInfo {
            pid,
            parent_pid,
            stage,
            created_mono_ns: ns(at_ms),
            created_real_ns: 1_795_256_100_000_000_000 + at_ms * 1_000_000,
            parent_created_mono_ns: if stage == Stage::Forked { START_NS } else { 0 },
            created_ticks: ns(at_ms) / 16,
            exe: b"/nonexistent/app".to_vec(),
            command: vec![b"./app".to_vec(), b"--fast".to_vec()],
            ..ProcessInfo::default()
        };
        self.writer.process(&info, &mut self.out)
    }

    fn define(&mut self, process: ProcessIndex, definitions: &[Definition<'_>]) {
        self.define_more(process, definitions, Position::default().next_node);
    }

    /// Defines what has no pcs, the next node being this one.
    fn define_more(&mut self, process: ProcessIndex, definitions: &[Definition<'_>], next_node: u32) {
        let start = Position { next_node, ..Position::default() };
        let (mut bytes, mut position) = (vec![0; 1 << 12], start);
        let mut used = 0;
        for definition in definitions {
            used += definition.encode(&mut position, &mut bytes[used..]).unwrap();
        }
        let taken = self.writer.definitions(process, start, &bytes[..used], &mut self.out);
        assert_eq!((taken.bytes, taken.bad), (used, None));
    }

    fn chunk(&mut self, process: ProcessIndex, thread: u32, at_ms: u64, events: &[(u64, Event)]) {
        let mut payload = Vec::new();
        for (dt, event) in events {
            let mut at = [0; EVENT_BYTES_MAX];
            let n = event.encode(*dt, &mut at);
            payload.extend_from_slice(&at[..n]);
        }
        let (begin_ticks, begin_mono_ns) = (ns(at_ms) / 16, ns(at_ms));
        let info = ChunkInfo { thread, begin_ticks, begin_mono_ns, ..ChunkInfo::default() };
        self.writer.events(process, &info, &payload, &mut self.out);
    }

    fn memory(&mut self, process: ProcessIndex, samples: &[(u64, u64)]) {
        let sample = |&(at_ms, rss_bytes): &(u64, u64)| MemorySample {
            mono_ns: ns(at_ms),
            rss_bytes,
            shared_bytes: 1 << 20,
            virtual_bytes: 1 << 30,
        };
        let samples: Vec<_> = samples.iter().map(sample).collect();
        self.writer.memory(process, &samples, &mut self.out);
    }

    fn end(&mut self, process: ProcessIndex, how: HowEnded, at_ms: u64, dropped: &[(LossReason, u64)]) {
        let mut end = ProcessEnd {
            ended_mono_ns: ns(at_ms),
            how,
            threads: 2,
            stacks_verified: 500,
            stacks_different: 1,
            ..ProcessEnd::default()
        };
        for (reason, count) in dropped {
            end.drops[*reason as usize] = *count;
        }
        self.writer.process_end(process, &end, &mut self.out);
    }

    fn finish(mut self) -> Vec<u8> {
        let end =
            SessionEnd { ended_mono_ns: ns(10), exit: Some(ExitStatus::Code(0)), ..SessionEnd::default() };
        self.writer.session_end(&end, &mut self.out);
        self.writer.finish(&mut self.out);
        self.out
    }
}

fn ns(at_ms: u64) -> u64 {
    START_NS + at_ms * 1_000_000
}
