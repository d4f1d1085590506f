//! What is written is read, whatever it is.

use heapscribe_wire::mode::Mode;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::native::splice::offsets;
use crate::{ChunkSums, RealTimeRules, RuleViolation, Unrecorded, UnrecordedProgram, UnrecordedReason, Why};

fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn words() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(text(), 0..5)
}

fn block() -> impl Strategy<Value = Block> {
    (any::<u64>(), any::<u32>(), any::<u64>(), any::<Option<u32>>()).prop_map(|(s, stack, age, t)| Block {
        size_bytes: s >> (s % 64),
        stack: StackId(stack),
        age_ticks: age >> (17 + age % 47),
        birth_thread: t.map(ThreadId),
    })
}

fn event() -> impl Strategy<Value = Event> {
    let call = (0..Call::ALL.len()).prop_map(|i| Call::ALL[i]);
    let size = any::<u64>().prop_map(|s| s >> (s % 64));
    (0..10u8, call, size, any::<u32>(), block()).prop_map(|(kind, call, size_bytes, n, block)| {
        let stack = StackId(n);
        let align_log2 = if call.is_aligned() { (n % 64) as u8 } else { 0 };
        match kind {
            0 => Event::Alloc { call, size_bytes, stack, align_log2 },
            1 => Event::Free { call, block },
            2 => Event::Realloc { call, old: block, size_bytes, stack },
            3 => Event::Failed { call, size_bytes, stack },
            4 => Event::UnknownFree { call },
            5 => Event::UnknownRealloc { call, size_bytes, stack },
            6 => Event::Note { note: Note::GoesOn { age_ticks: size_bytes }, name: NameId(n) },
            7 => {
                let note = [Note::Mark, Note::Begin, Note::End][n as usize % 3];
                Event::Note { note, name: NameId(n) }
            }
            8 => Event::Mapping(mapping(n, size_bytes >> 1)),
            _ => Event::Lost { count: size_bytes, reason: n as u8 },
        }
    })
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    vec((1..1u64 << 40, event()), 0..200)
}

fn chunk_info() -> impl Strategy<Value = ChunkInfo> {
    (any::<u32>(), any::<[u64; 6]>()).prop_map(|(thread, w)| ChunkInfo {
        thread,
        sequence: w[0],
        begin_ticks: w[1],
        begin_mono_ns: w[2],
        end_ticks: w[3],
        end_mono_ns: w[4],
        last_alloc_ticks: w[5],
    })
}

fn process() -> impl Strategy<Value = ProcessInfo> {
    (any::<[u32; 3]>(), any::<[bool; 3]>(), any::<[u64; 4]>(), 0..32u32, text(), words()).prop_map(
        |(n, b, w, clock_shift, exe, command)| ProcessInfo {
            pid: n[0],
            parent_pid: n[1],
            stage: if b[0] { Stage::Forked } else { Stage::Execed },
            created_mono_ns: w[0],
            created_real_ns: w[1],
            parent_created_mono_ns: w[2],
            created_ticks: w[3],
            clock_kind: if b[1] { ClockKind::Tsc } else { ClockKind::Monotonic },
            clock_shift,
            early_ns: n[2],
            counts_calls: b[2],
            exe,
            command,
        },
    )
}

fn process_end() -> impl Strategy<Value = ProcessEnd> {
    let how = prop_oneof![
        Just(HowEnded::Exited),
        (1..128u8).prop_map(HowEnded::Killed),
        Just(HowEnded::Unseen),
        Just(HowEnded::Execed),
        Just(HowEnded::Abandoned),
        Just(HowEnded::Unknown)
    ];
    (any::<[u64; 7]>(), how, any::<[u64; DROP_COUNTERS]>(), ".{0,20}", broke(), own_peak(), modes()).prop_map(
        |(w, how, drops, lost_note, broke, peak, modes)| ProcessEnd {
            ended_mono_ns: w[0],
            own_bytes: w[1],
            spilled_bytes: w[2],
            stacks_verified: w[3],
            stacks_different: w[4],
            how,
            drops,
            threads: w[6] as u32,
            lost_note,
            broke,
            peak: peak.filter(|_| modes.is_empty()),
            modes,
            exact_from_ticks: w[5],
        },
    )
}

fn modes() -> impl Strategy<Value = Vec<ModeChange>> {
    let change = |(mono_ns, word)| ModeChange { mono_ns, mode: Mode::from_word(word) };
    vec(any::<(u64, u64)>().prop_map(change), 0..3)
}

fn own_peak() -> impl Strategy<Value = Option<OwnPeak>> {
    any::<Option<(u64, u64)>>().prop_map(|peak| peak.map(|(bytes, ticks)| OwnPeak { bytes, ticks }))
}

fn broke() -> impl Strategy<Value = Option<RuleViolation>> {
    let why = prop_oneof![Just(Why::Section), Just(Why::Mark), Just(Why::Thread)];
    let call = (0..Call::ALL.len()).prop_map(|i| Call::ALL[i]);
    let broke =
        (why, call, any::<[u32; 3]>(), any::<[u64; 2]>()).prop_map(|(why, call, n, w)| RuleViolation {
            why,
            call,
            thread: ThreadId(n[0]),
            name: NameId(n[1]),
            stack: StackId(n[2]),
            size_bytes: w[0],
            ticks: w[1],
        });
    prop::option::of(broke)
}

fn rules() -> impl Strategy<Value = RealTimeRules> {
    (words(), prop::option::of(text()), words()).prop_map(|(sections, after_mark, threads)| RealTimeRules {
        sections,
        after_mark,
        threads,
    })
}

fn heap_info(info: &ProcessInfo) -> HeapInfo {
    HeapInfo { name: format!("{}", info.pid), configuration: "pool=1 lock=no".to_owned() }
}

/// Samples of a heap, of numbers of all kinds.
fn heap_samples(samples: &[MemorySample]) -> Vec<HeapSample> {
    let numbers =
        |s: &MemorySample| std::array::from_fn(|n| s.rss_bytes.rotate_left(5 * n as u32) ^ s.shared_bytes);
    let sample =
        |s: &MemorySample| HeapSample { mono_ns: s.mono_ns, counts: HeapCounts::from_words(numbers(s)) };
    samples.iter().map(sample).collect()
}

fn sample_of_memory() -> impl Strategy<Value = MemorySample> {
    any::<[u64; 4]>().prop_map(|w| MemorySample {
        mono_ns: w[0],
        rss_bytes: w[1],
        shared_bytes: w[2],
        virtual_bytes: w[3],
    })
}

fn session() -> impl Strategy<Value = (SessionInfo, SessionEnd)> {
    let exit = prop_oneof![
        Just(None),
        any::<i32>().prop_map(|n| Some(ExitStatus::Code(n))),
        any::<i32>().prop_map(|n| Some(ExitStatus::Signal(n)))
    ];
    (words(), ".{0,20}", ".{0,9}", any::<[u64; 3]>(), exit, rules()).prop_map(
        |(command, host, version, w, exit, rules)| {
            let (started_real_ns, started_mono_ns) = (w[0], w[1]);
            let info = SessionInfo { command, host, version, started_real_ns, started_mono_ns, rules };
            let drainer =
                Drainer { waiting_ns: w[0], cpu_ns: w[1], peak_rss_bytes: w[2], ..Drainer::default() };
            let programs = info.command.iter().zip(0..).map(|(name, pid)| UnrecordedProgram {
                pid,
                mono_ns: w[0],
                reason: UnrecordedReason::from_number(pid),
                name: name.clone(),
            });
            let unrecorded = Unrecorded { programs: programs.collect(), others: Vec::new() };
            (info, SessionEnd { ended_mono_ns: w[2], exit, drainer, unrecorded })
        },
    )
}

/// The sums by the definition of each, one pass for each.
fn plain_sums(events: &[(u64, Event)]) -> (u64, u64, i64) {
    let of_heap = || events.iter().filter(|(_, e)| !e.is_pool());
    let sum = |f: &dyn Fn(&Event) -> u64| of_heap().fold(0u64, |n, (_, e)| n.saturating_add(f(e)));
    let allocated = sum(&|e| match e {
        Event::Alloc { size_bytes, .. }
        | Event::Realloc { size_bytes, .. }
        | Event::UnknownRealloc { size_bytes, .. } => *size_bytes,
        _ => 0,
    });
    let freed = sum(&|e| match e {
        Event::Free { block, .. } | Event::Realloc { old: block, .. } => block.size_bytes,
        _ => 0,
    });
    let blocks = sum(&|e| matches!(e, Event::Alloc { .. } | Event::UnknownRealloc { .. }).into()) as i64
        - sum(&|e| matches!(e, Event::Free { .. }).into()) as i64;
    (allocated, freed, blocks)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_small_blocks(
        level in 0..4,
        session in session(),
        processes in vec((process(), process_end(), vec(sample_of_memory(), 0..20)), 0..4),
    ) {
        let (mut w, mut out) = (Writer::new(), Vec::new());
        w.set_level(level);
        w.start(&session.0, &mut out);
        for (info, end, samples) in &processes {
            let index = w.process(info, &mut out);
            w.memory(index, samples, &mut out);
            w.heap(index, &heap_info(info), &heap_samples(samples), &mut out);
            w.process_end(index, end, &mut out);
        }
        w.session_end(&session.1, &mut out);
        w.finish(&mut out);
        let contents = contents_of(&out).unwrap();
        prop_assert!(contents.is_clean(), "{:?}", contents.problems);
        prop_assert_eq!((contents.session, contents.session_end), (Some(session.0), Some(session.1)));
        let memory: Vec<_> = processes.iter().flat_map(|p| p.2.clone()).collect();
        prop_assert_eq!(contents.memory, memory);
        let heap = processes.iter().flat_map(|(info, _, samples)| {
            heap_samples(samples).into_iter().map(|sample| (heap_info(info), sample))
        });
        prop_assert_eq!(contents.heap, heap.collect::<Vec<_>>());
        for (got, (info, end, _)) in contents.processes.iter().zip(&processes) {
            prop_assert_eq!((got.info.as_ref(), got.end.as_ref()), (Some(info), Some(end)));
        }
        prop_assert_eq!(contents.processes.len(), processes.len());
    }

    #[test]
    fn chunks_by_index_and_by_scan(
        level in 0..4,
        chunks in vec((chunk_info(), events()), 0..6),
        junk in vec(any::<u8>(), 0..8),
    ) {
        let (mut w, mut out) = (Writer::new(), Vec::new());
        w.set_level(level);
        w.start(&SessionInfo::default(), &mut out);
        let process = w.process(&ProcessInfo::default(), &mut out);
        let mut sums: Vec<ChunkSums> = Vec::new();
        for (info, events) in &chunks {
            let mut payload = event_bytes(events);
            payload.extend(junk.iter().map(|b| b & 0x78));
            sums.push(w.events(process, info, &payload, &mut out));
        }
        w.finish(&mut out);
        let contents = contents_of(&out).unwrap();
        prop_assert!(contents.is_clean());
        for ((entry, (info, events)), sums) in contents.chunks.iter().zip(&chunks).zip(&sums) {
            prop_assert_eq!((&entry.info, &entry.sums), (info, sums));
            prop_assert_eq!(sums.cut_bytes as usize, junk.len());
            let (allocated, freed, blocks) = plain_sums(events);
            prop_assert_eq!((sums.alloc_bytes, sums.freed_bytes, sums.net_blocks), (allocated, freed, blocks));
            prop_assert_eq!(sums.events as usize, events.len());
        }
        let events: Vec<_> = chunks.iter().flat_map(|(_, e)| e.iter().map(|(_, e)| *e)).collect();
        prop_assert_eq!(contents.events.iter().map(|(_, e)| *e).collect::<Vec<_>>(), events);
        let scanned = contents_of(&out[..out.len() - 32]).unwrap();
        prop_assert_eq!(scanned.chunks, contents.chunks);
    }
}

#[test]
fn many_chunks_make_several_index_blocks_and_any_of_them_can_be_lost() {
    let (mut w, mut out) = (Writer::new(), Vec::new());
    w.start(&SessionInfo::default(), &mut out);
    let process = w.process(&process_info(3), &mut out);
    for sequence in 0..4000 {
        let info = ChunkInfo { thread: 1, sequence, begin_ticks: sequence << 20, ..ChunkInfo::default() };
        w.events(process, &info, &some_events(sequence), &mut out);
    }
    w.finish(&mut out);
    let trace = Trace::open(&out).unwrap();
    assert!(trace.is_complete() && trace.chunks().len() == 4000);
    let chunks = trace.chunks().to_vec();
    let is_index = |at: &usize| out[*at..].starts_with(b"\xf1hsB\x08");
    let indexes: Vec<_> = (0..out.len()).filter(is_index).collect();
    assert!(indexes.len() > 2, "{indexes:?}");
    for at in indexes {
        let mut damaged = out.clone();
        damaged[at + 50] ^= 1;
        let trace = Trace::open(&damaged).unwrap();
        assert!(!trace.is_complete() && trace.chunks() == chunks);
    }
}

#[test]
fn a_trace_is_continued_behind_any_of_its_blocks() {
    let (mut w, mut out) = (Writer::new(), Vec::new());
    w.start(&SessionInfo::default(), &mut out);
    let process = w.process(&process_info(3), &mut out);
    for sequence in 0..3000 {
        let info = ChunkInfo { thread: 1, sequence, begin_ticks: sequence << 20, ..ChunkInfo::default() };
        w.events(process, &info, &some_events(sequence), &mut out);
    }
    let whole = offsets(&out).unwrap();
    assert!(whole.len() > 3002, "more than one index block");
    for blocks in [1, 2, 3, 700, 1500, whole.len() - 1] {
        let mut begun = out[..whole[blocks] as usize].to_vec();
        let chunks = Trace::open(&begun).unwrap().chunks().to_vec();
        let mut w = Writer::resume(&begun).unwrap();
        let process = w.process(&process_info(3), &mut begun);
        w.process_end(process, &ProcessEnd::default(), &mut begun);
        w.finish(&mut begun);
        let trace = Trace::open(&begun).unwrap();
        assert!(trace.is_complete(), "{blocks} blocks: {:?}", trace.problems());
        assert_eq!(trace.chunks(), chunks);
        assert_eq!(trace.processes().len(), if blocks == 1 { 1 } else { 2 });
        assert_eq!(trace.processes().last().unwrap().info, Some(process_info(3)));
    }
}

#[test]
fn definitions_are_written_in_slices_up_to_the_first_invalid_one() {
    let (mut w, mut out) = (Writer::new(), Vec::new());
    w.start(&SessionInfo::default(), &mut out);
    let process = w.process(&ProcessInfo::default(), &mut out);
    let mut position = Position::default();
    let nodes: Vec<_> = (0..200_000u64)
        .map(|i| Node {
            parent: StackId(i as u32 / 2),
            pc: CodeAddress(i * 977),
            guesses: false,
            exact: false,
        })
        .map(Definition::Node)
        .collect();
    let mut bytes = definition_bytes(&nodes, &mut position);
    let whole = bytes.len();
    bytes.push(1);
    let taken = w.definitions(process, Position::default(), &bytes, &mut out);
    assert_eq!((taken.position, taken.bytes), (position, whole));
    assert_eq!(taken.bad.map(|bad| bad.offset), Some(whole));
    w.finish(&mut out);
    let trace = Trace::open(&out).unwrap();
    let mut read = Vec::new();
    let problems = trace.definitions(process, &mut Scratch::default(), |id, d| {
        let Definition::Node(node) = *d else { panic!("{d:?}") };
        read.push((id, node));
    });
    assert_eq!(problems.unwrap(), []);
    assert!(whole > 3 << 18, "several slices");
    for (i, ((id, read), written)) in read.iter().zip(&nodes).enumerate() {
        assert_eq!((id.0, Definition::Node(*read)), (i as u32 + 1, *written));
    }
    assert_eq!(read.len(), nodes.len());
}

#[test]
fn a_command_that_is_too_long_is_cut() {
    let (mut w, mut out) = (Writer::new(), Vec::new());
    let long = SessionInfo { command: vec![b"x".to_vec(); 10_000], ..SessionInfo::default() };
    w.start(&long, &mut out);
    let huge = ProcessInfo { command: vec![vec![b'a'; 60_000]; 2], ..ProcessInfo::default() };
    w.process(&huge, &mut out);
    w.finish(&mut out);
    let contents = contents_of(&out).unwrap();
    assert_eq!(contents.session.unwrap().command.len(), 4096);
    assert_eq!(contents.processes[0].info.as_ref().unwrap().command.len(), 1);
}

#[test]
fn threads_can_share_a_trace() {
    let trace = Trace::open(sample(1)).unwrap();
    std::thread::scope(|scope| {
        for entry in trace.chunks() {
            let trace = &trace;
            scope.spawn(move || {
                let mut scratch = Scratch::default();
                assert_eq!(trace.load_chunk(entry, &mut scratch).unwrap().events().count(), 15);
            });
        }
    });
}
