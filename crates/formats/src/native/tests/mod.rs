//! What all tests of the format need: a small trace with one of everything, and all that a trace says.

mod damage;
mod hostile;
mod memory_maps;
mod resealed;
mod round_trip;
mod symbols;

use std::cell::Cell;
use std::io;

use heapscribe_wire::definitions::{Definition, Module, Node, Position};
use heapscribe_wire::head::{ClockKind, DROP_COUNTERS};
use heapscribe_wire::heap::HeapCounts;
use heapscribe_wire::ids::{CodeAddress, HeapAddress, NameId, RateId, StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{self, Block, Call, Event, MappingFlags, MappingKind, Note};

use crate::model::*;
use crate::{Problem, Scratch, Source, Trace, TraceError, Writer};

pub(super) fn event_bytes(events: &[(u64, Event)]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), [0; EVENT_BYTES_MAX]);
    for (dt, event) in events {
        let n = event.encode(*dt, &mut at);
        out.extend_from_slice(&at[..n]);
    }
    out
}

pub(super) fn definition_bytes(definitions: &[Definition<'_>], position: &mut Position) -> Vec<u8> {
    let mut out = Vec::new();
    for d in definitions {
        let mut at = [0; heapscribe_wire::definitions::DEFINITION_BYTES_MAX];
        let n = d.encode(position, &mut at).unwrap();
        out.extend_from_slice(&at[..n]);
    }
    out
}

fn some_definitions(position: &mut Position) -> Vec<u8> {
    let module = Module { start: 1 << 30, end: 1 << 31, bias: 4096, name: b"/bin/x", build_id: &[1, 2] };
    let node = |parent, pc| {
        Definition::Node(Node { parent: StackId(parent), pc: CodeAddress(pc), guesses: false, exact: false })
    };
    let first = position.next_node;
    let thread = Definition::Thread { id: ThreadId(1), tid: 9, born_ticks: 5, name: b"main" };
    let root = Definition::Cut { reason: 5, parent: StackId::UNKNOWN };
    definition_bytes(&[thread, Definition::Module(module), root, node(first, 1 << 30)], position)
}

pub(super) fn some_events(seed: u64) -> Vec<u8> {
    let stack = StackId(2);
    let block = |size_bytes, birth_thread| Block { size_bytes, stack, age_ticks: 7, birth_thread };
    event_bytes(&[
        (1, Event::Alloc { call: Call::Malloc, size_bytes: 100 + seed, stack, align_log2: 0 }),
        (2, Event::Alloc { call: Call::Memalign, size_bytes: 64, stack, align_log2: 6 }),
        (300, Event::Free { call: Call::Free, block: block(64, Some(ThreadId(2))) }),
        (0, Event::Took { units: 77 + seed }),
        (1, Event::Realloc { call: Call::Realloc, old: block(100 + seed, None), size_bytes: 5, stack }),
        (1, Event::Failed { call: Call::Calloc, size_bytes: 1 << 60, stack }),
        (9, Event::UnknownFree { call: Call::Free }),
        (9, Event::UnknownRealloc { call: Call::Realloc, size_bytes: 40, stack }),
        (1, Event::Lost { count: 12, reason: 0 }),
        (1, Event::Note { note: Note::GoesOn { age_ticks: 500 }, name: NameId(1) }),
        (1, Event::Note { note: Note::Begin, name: NameId(2) }),
        (1, Event::Alloc { call: Call::PoolAlloc, size_bytes: 16, stack, align_log2: 0 }),
        (1, Event::Free { call: Call::PoolFree, block: Block { age_ticks: 1, ..block(16, None) } }),
        (1, Event::Note { note: Note::End, name: NameId(2) }),
        (1, Event::Note { note: Note::Mark, name: NameId(3) }),
    ])
}

pub(super) fn process_info(pid: u32) -> ProcessInfo {
    ProcessInfo {
        pid,
        parent_pid: 1,
        stage: Stage::Forked,
        created_mono_ns: 1_000_000 * u64::from(pid),
        created_real_ns: 1 << 60,
        parent_created_mono_ns: 77,
        created_ticks: 50_000 * u64::from(pid),
        clock_kind: ClockKind::Tsc,
        clock_shift: 5,
        early_ns: 0,
        counts_calls: false,
        exe: b"/bin/x".to_vec(),
        command: vec![b"x".to_vec(), b"".to_vec(), b"-y\xff".to_vec()],
    }
}

fn write_process(w: &mut Writer, pid: u32, out: &mut Vec<u8>) {
    let process = w.process(&process_info(pid), out);
    let mut position = Position::default();
    for sequence in 0..2 {
        let begins = position;
        let bytes = some_definitions(&mut position);
        assert_eq!(w.definitions(process, begins, &bytes, out).position, position);
        let begin_mono_ns = 1_000_000 * u64::from(pid) + 500_000 * sequence;
        let begin_ticks = begin_mono_ns / 20;
        let info = ChunkInfo { thread: 1, sequence, begin_ticks, begin_mono_ns, ..ChunkInfo::default() };
        w.events(process, &info, &some_events(sequence), out);
    }
    let sample = MemorySample { mono_ns: 5, rss_bytes: 1 << 20, shared_bytes: 4096, virtual_bytes: 1 << 30 };
    w.memory(process, &[sample, MemorySample { mono_ns: 6, ..sample }], out);
    let heap = HeapInfo { name: "tlsf".into(), configuration: "pool=1".into() };
    let counts = HeapCounts { pool_bytes: 1 << 20, used_bytes: 1 << 10, ..HeapCounts::default() };
    w.heap(process, &heap, &[HeapSample { mono_ns: 5, counts }, HeapSample::default()], out);
    write_live(w, process, out);
    let (map, mappings, runs, free) = some_memory_map();
    w.memory_map(process, &map, (&mappings, &runs, &free), out);
    let mut drops = [0; DROP_COUNTERS];
    drops[3] = 4;
    let end = ProcessEnd { how: HowEnded::Execed, drops, lost_note: "n".into(), ..ProcessEnd::default() };
    w.process_end(process, &end, out);
}

/// Two tables of blocks, one of them without any.
fn write_live(w: &mut Writer, process: ProcessIndex, out: &mut Vec<u8>) {
    let table = LiveTable {
        mono_ns: 11_000_000,
        ticks: 550_000,
        name: "after".into(),
        inexact: "busy".into(),
        blocks: 3,
        allocated_bytes: 1 << 40,
        ..LiveTable::default()
    };
    w.live(process, &table, out);
    w.live(process, &LiveTable { number: 1, role: LiveRole::Before, blocks: 0, ..table }, out);
    w.blocks(process, 0, &some_blocks()[..2], out);
    w.blocks(process, 0, &some_blocks()[2..], out);
}

pub(super) fn some_blocks() -> Vec<LiveBlock> {
    let block = |address, size_bytes, stack, rate, is_pool| LiveBlock {
        address: HeapAddress(address),
        size_bytes,
        stack: StackId(stack),
        thread: ThreadId(stack / 2),
        birth_ticks: u64::from(stack) << 30,
        rate: RateId(rate),
        is_pool,
    };
    vec![
        block(0x5555_5555_0000, 24, 2, 0, false),
        block(0x5555_5555_0020, 1 << 40, 1, 3, false),
        block(0x1000, 0, 0, 0, true),
    ]
}

pub(super) fn some_memory_map() -> (MemoryMap, Vec<Mapping>, Vec<PageRun>, Vec<FreeRange>) {
    let map = MemoryMap {
        begin_mono_ns: 12_000_000,
        page_bytes: 4096,
        freed_bytes: 24,
        heap: HeapLayout::Glibc,
        mappings: 3,
        runs: 2,
        lists: ListsRead::Whole,
        free: 2,
        ..MemoryMap::default()
    };
    let mapping = |start, end, path: &[u8]| Mapping {
        start,
        end,
        access: Access { read: true, write: path != b"/bin/x", execute: false, shared: false },
        path: path.to_vec(),
        resident_bytes: 8192,
        huge_bytes: 1 << 31,
        ..Mapping::default()
    };
    let heap = mapping(0x5555_5555_0000, 0x5555_5556_0000, b"[heap]");
    let mappings = vec![mapping(0x1000, 0x3000, b"/bin/x"), mapping(0x3000, 0x4000, b"/bin/x"), heap];
    let run = |start, is_swapped| PageRun { start, pages: 1, is_swapped };
    let free = |start, kind| FreeRange { start, bytes: 64, kind };
    let lists = vec![free(0x5555_5555_0018, FreeKind::FastBin), free(0x5555_5555_0418, FreeKind::Own)];
    (map, mappings, vec![run(0x5555_5555_0000, false), run(0x5555_5555_2000, true)], lists)
}

/// A small trace with one of everything.
pub(super) fn sample(level: i32) -> Vec<u8> {
    let mut w = Writer::new();
    w.set_level(level);
    let mut out = Vec::new();
    let session = SessionInfo {
        command: vec![b"x".to_vec()],
        host: "here".into(),
        version: "0.1.0".into(),
        started_real_ns: 3,
        started_mono_ns: 4,
        rules: RealTimeRules { after_mark: Some(b"ready".to_vec()), ..RealTimeRules::default() },
    };
    w.start(&session, &mut out);
    write_process(&mut w, 10, &mut out);
    write_process(&mut w, 11, &mut out);
    w.session_end(
        &SessionEnd { ended_mono_ns: 8, exit: Some(ExitStatus::Signal(9)), ..SessionEnd::default() },
        &mut out,
    );
    w.finish(&mut out);
    assert_eq!(out.len() as u64, w.bytes());
    out
}

/// Everything that a trace says, and everything that was wrong with it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Contents {
    pub session: Option<SessionInfo>,
    pub session_end: Option<SessionEnd>,
    pub processes: Vec<Process>,
    pub chunks: Vec<ChunkEntry>,
    pub definitions: Vec<String>,
    pub memory: Vec<MemorySample>,
    pub heap: Vec<(HeapInfo, HeapSample)>,
    pub blocks: Vec<LiveBlock>,
    pub mappings: Vec<Mapping>,
    pub runs: Vec<PageRun>,
    pub free: Vec<FreeRange>,
    pub events: Vec<(u64, Event)>,
    pub problems: Vec<Problem>,
    pub errors: Vec<String>,
}

impl Contents {
    pub(super) fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.errors.is_empty()
    }
}

pub(super) fn contents_of<S: Source>(source: S) -> Result<Contents, TraceError> {
    let trace = Trace::open(source)?;
    let mut scratch = Scratch::default();
    let mut contents = Contents {
        session: trace.session().cloned(),
        session_end: trace.session_end().cloned(),
        processes: trace.processes().to_vec(),
        chunks: trace.chunks().to_vec(),
        problems: trace.problems().to_vec(),
        ..Contents::default()
    };
    for process in trace.processes() {
        let mut definitions = |id: StackId, d: &Definition<'_>| {
            contents.definitions.push(format!("{:?} {id:?} {d:?}", process.index));
        };
        contents.problems.extend(trace.definitions(process.index, &mut scratch, &mut definitions)?);
        let samples = &mut contents.memory;
        contents.problems.extend(trace.memory(process.index, &mut scratch, |s| samples.push(*s))?);
        let heap = &mut contents.heap;
        contents
            .problems
            .extend(trace.heap(process.index, &mut scratch, |info, s| heap.push((info.clone(), *s)))?);
        for table in &process.live {
            let blocks = &mut contents.blocks;
            contents.problems.extend(trace.blocks(process.index, table, &mut scratch, |b| blocks.push(*b))?);
        }
        for map in &process.memory_maps {
            let Contents { mappings, runs, free, .. } = &mut contents;
            let take = (|mapping| mappings.push(mapping), |run| runs.push(run), |range| free.push(range));
            let found = trace.memory_map(process.index, map, &mut scratch, take)?;
            contents.problems.extend(found);
        }
    }
    for entry in trace.chunks() {
        let mut visit = |ticks, event: &Event| contents.events.push((ticks, *event));
        let chunk = trace.load_chunk(entry, &mut scratch);
        if let Err(e) = chunk.and_then(|chunk| chunk.for_each(&mut visit)) {
            contents.errors.push(e.to_string());
        }
        let _ = trace.clock(entry.process).time_ns(&entry.info, u64::MAX);
    }
    Ok(contents)
}

/// Counts what is read, so that a test can say "not much" without a clock.
pub(super) struct Counted<'a> {
    pub bytes: &'a [u8],
    pub read: Cell<u64>,
}

impl Source for Counted<'_> {
    fn len(&self) -> u64 {
        Source::len(self.bytes)
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> io::Result<usize> {
        let n = self.bytes.read_at(offset, at)?;
        self.read.set(self.read.get() + n as u64 + 1);
        Ok(n)
    }
}

/// A mapping of any kind, by a number.
fn mapping(n: u32, address: u64) -> record::Mapping {
    let kinds = [MappingKind::Map, MappingKind::Unmap, MappingKind::Move, MappingKind::Protect];
    let kind = kinds[n as usize % kinds.len()];
    let (old_address, old_len_bytes) = if kind == MappingKind::Move { (address / 2, 4096) } else { (0, 0) };
    let (flags, stack, len_bytes) = (MappingFlags(n as u8 % 16), StackId(n), u64::from(n));
    record::Mapping { kind, flags, took_ticks: n, stack, address, len_bytes, old_address, old_len_bytes }
}
