//! What is written while a recording goes on has the same blocks as what is converted from its trace at
//! the end, in whatever order the chunks of threads come.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use heapscribe_formats::memtrace::{Event as Theirs, ReadOptions, Reader};
use heapscribe_formats::model::{ChunkInfo, ProcessInfo, SessionEnd, SessionInfo};
use heapscribe_formats::{Trace, Writer};
use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Node, Position};
use heapscribe_wire::ids::{CodeAddress, StackId, ThreadId};
use heapscribe_wire::record::{Block, Call, Event, Events};
use proptest::prelude::*;

use super::image::Image;
use super::message::Piece;
use super::plan::FilesPlan;
use heapscribe_convert::memtrace::to;
use heapscribe_convert::native::thread_chunk::{ThreadChunk, ticks_at};
use heapscribe_symbols::{CachedResolver, Resolver};

const START_NS: u64 = 1_000_000_000;
const STACKS: u32 = 5;

/// A thing that a thread does, so long after the thing before.
#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    gap_ns: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Alloc {
        size_bytes: u64,
        stack: u32,
    },
    Free {
        which: usize,
    },
    Realloc {
        which: usize,
        size_bytes: u64,
    },
    /// Its chunk is handed over.
    Seal,
}

fn step() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        4 => (0u64..5_000, 1..=STACKS).prop_map(|(size_bytes, stack)| What::Alloc { size_bytes, stack }),
        3 => any::<usize>().prop_map(|which| What::Free { which }),
        1 => (any::<usize>(), 0u64..99).prop_map(|(which, size_bytes)| What::Realloc { which, size_bytes }),
        1 => Just(What::Seal),
    ];
    (0usize..4, 0u64..40_000, what).prop_map(|(thread, gap_ns, what)| Step { thread, gap_ns, what })
}

/// A live block.
#[derive(Clone, Copy)]
struct Live {
    thread: u32,
    birth_ticks: u64,
    size_bytes: u64,
    stack: u32,
}

/// Chunks in the order in which they were handed over.
fn chunks(steps: &[Step]) -> Vec<(ChunkInfo, Vec<u8>)> {
    let mut threads: Vec<_> = (1..=4).map(|number| ThreadChunk::new(number, ticks_at(START_NS))).collect();
    let (mut now_ns, mut live, mut sealed) = (START_NS, Vec::<Live>::new(), Vec::new());
    for step in steps {
        now_ns += step.gap_ns;
        let thread = &mut threads[step.thread];
        let ticks = thread.ticks(now_ns);
        match step.what {
            What::Alloc { size_bytes, stack } => {
                let event =
                    Event::Alloc { call: Call::Malloc, size_bytes, stack: StackId(stack), align_log2: 0 };
                thread.put(ticks, &event);
                live.push(Live { thread: thread.number, birth_ticks: ticks, size_bytes, stack });
            }
            What::Free { which } if !live.is_empty() => {
                let block = block(live.swap_remove(which % live.len()), thread.number, ticks);
                thread.put(ticks, &Event::Free { call: Call::Free, block });
            }
            What::Realloc { which, size_bytes } if !live.is_empty() => {
                let old = live.swap_remove(which % live.len());
                let stack = old.stack;
                let old = block(old, thread.number, ticks);
                let call = Call::Realloc;
                thread.put(ticks, &Event::Realloc { call, old, size_bytes, stack: StackId(stack) });
                live.push(Live { thread: thread.number, birth_ticks: ticks, size_bytes, stack });
            }
            What::Seal => sealed.push(thread.seal()),
            What::Free { .. } | What::Realloc { .. } => {}
        }
    }
    sealed.extend(threads.iter_mut().map(ThreadChunk::seal));
    sealed
}

/// A block as a thread names it that ends it at this time; ticks of threads may be a little apart.
fn block(live: Live, thread: u32, ticks: u64) -> Block {
    let Live { thread: birth_thread, birth_ticks, size_bytes, stack } = live;
    let birth_thread = (birth_thread != thread).then_some(ThreadId(birth_thread));
    Block { size_bytes, stack: StackId(stack), age_ticks: ticks.wrapping_sub(birth_ticks), birth_thread }
}

fn definitions() -> Vec<u8> {
    let (mut position, mut bytes, mut at) = (Position::default(), Vec::new(), [0; DEFINITION_BYTES_MAX]);
    for number in 1..=STACKS {
        let pc = CodeAddress(0x1000 + u64::from(number));
        let node = Node { parent: StackId(number - 1), pc, guesses: false, exact: true };
        let n = Definition::Node(node).encode(&mut position, &mut at).unwrap();
        bytes.extend_from_slice(&at[..n]);
    }
    bytes
}

fn process() -> ProcessInfo {
    ProcessInfo {
        pid: 7,
        created_mono_ns: START_NS,
        created_real_ns: 1_700_000_000_000_000_000,
        created_ticks: ticks_at(START_NS),
        ..ProcessInfo::default()
    }
}

/// A chunk as it is taken out: whole, or looked into after each event while it is open.
fn pieces(info: &ChunkInfo, payload: &[u8], looked_into: bool) -> Vec<Piece> {
    let mut ends = vec![0];
    let mut events = Events::new(payload);
    while events.next().is_some() {
        ends.push(events.offset());
    }
    if !looked_into {
        ends = vec![0, payload.len()];
    }
    let open = ChunkInfo { end_ticks: 0, end_mono_ns: 0, ..*info };
    let piece = |ends: &[usize]| Piece {
        info: if ends[1] == payload.len() { *info } else { open },
        from: ends[0],
        payload: payload[ends[0]..ends[1]].to_vec(),
        copied_mono_ns: u64::MAX,
    };
    ends.windows(2).map(piece).collect()
}

/// Written while it goes on.
fn written(chunks: &[(ChunkInfo, Vec<u8>)], flush: bool) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.ctf");
    let debug_dir = dir.path().to_owned();
    let plan = FilesPlan { output: path.clone(), host: String::new(), sample_rate: 1.0, debug_dir };
    let mut resolver = CachedResolver::new(Resolver::new(plan.debug_dir.clone()));
    let mut image = Image::new(process());
    image.definitions(Position::default(), &definitions());
    image.open(path.clone(), &plan, 1);
    for (info, payload) in chunks {
        for piece in pieces(info, payload, flush) {
            image.events(&piece, &mut resolver);
            if flush {
                image.flush();
            }
        }
    }
    let file = image.end().unwrap();
    let bytes = std::fs::read(path).unwrap();
    assert_eq!((file.bytes, file.is_cut), (bytes.len() as u64, false));
    assert_eq!(file.problems, Vec::<String>::new());
    bytes
}

/// Converted at the end.
fn converted(chunks: &[(ChunkInfo, Vec<u8>)]) -> Vec<u8> {
    let (mut writer, mut bytes) = (Writer::new(), Vec::new());
    let info = SessionInfo { started_mono_ns: START_NS, ..SessionInfo::default() };
    writer.start(&info, &mut bytes);
    let process = writer.process(&process(), &mut bytes);
    writer.definitions(process, Position::default(), &definitions(), &mut bytes);
    for (info, payload) in chunks {
        writer.events(process, info, payload, &mut bytes);
    }
    writer.session_end(&SessionEnd::default(), &mut bytes);
    writer.finish(&mut bytes);
    let trace = Trace::open(bytes.as_slice()).unwrap();
    let mut out = Vec::new();
    let resolver = Resolver::new("/nonexistent");
    let converted = to::convert(&trace, &trace.processes()[0], &resolver, &mut out).unwrap();
    assert_eq!(converted.problems, Vec::<String>::new());
    out
}

/// What a file has of a block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Object {
    begin_us: i64,
    domain: u16,
    words: i64,
    samples: i64,
    stack: Vec<i64>,
    end_us: Option<i64>,
}

fn objects(file: &[u8]) -> Vec<Object> {
    let mut reader = Reader::open(file, ReadOptions { stacks: true, salvage: false }).unwrap();
    let (mut blocks, mut ends) = (BTreeMap::new(), BTreeMap::new());
    let all: Option<()> = reader
        .for_each(|moment, event| {
            match event {
                Theirs::Alloc(alloc) => {
                    let stack = alloc.stack.iter().map(|code| code.0).collect();
                    let object = Object {
                        begin_us: moment.time_us,
                        domain: moment.domain,
                        words: alloc.length_words,
                        samples: alloc.samples,
                        stack,
                        end_us: None,
                    };
                    blocks.insert(alloc.id, object);
                }
                Theirs::Collect(id) => assert_eq!(ends.insert(*id, moment.time_us), None),
                Theirs::Promote(_) => unreachable!("blocks are in no heap of OCaml's"),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(all, None);
    for (id, end_us) in ends {
        blocks.get_mut(&id).unwrap().end_us = Some(end_us);
    }
    let mut blocks: Vec<_> = blocks.into_values().collect();
    blocks.sort();
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn written_directly_and_converted_have_the_same_blocks(
        steps in prop::collection::vec(step(), 0..300),
        flush in any::<bool>(),
    ) {
        let chunks = chunks(&steps);
        let is_alloc = |step: &&Step| matches!(step.what, What::Alloc { .. });
        let directly = objects(&written(&chunks, flush));
        prop_assert!(directly.len() >= steps.iter().filter(is_alloc).count());
        prop_assert_eq!(directly, objects(&converted(&chunks)));
    }
}
