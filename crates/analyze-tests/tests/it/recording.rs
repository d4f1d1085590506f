//! A history through the bytes of a trace and back gives the answer that it gives directly.

use crate::common::{Act, BEGIN_NS, Op, Recorded, facts};
use heapscribe_analyze::answer::{Ended, Exit};
use heapscribe_analyze::{Answer, Options, Recording, analyze, extent};
use heapscribe_formats::{
    ChunkInfo, ExitStatus, HowEnded, LiveBlock, LiveRole, LiveTable, MemorySample, ProcessEnd, ProcessInfo,
    SessionEnd, SessionInfo, Stage, Trace, Writer,
};
use heapscribe_wire::head::ClockKind;
use heapscribe_wire::ids::{StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event};

/// A time stamp counter whose ticks are us, as `common` has them.
const SHIFT: u32 = 12;

fn two_processes() -> Recorded {
    let mut recorded = Recorded::default();
    recorded.process(facts(10, Ended::Exited));
    recorded.process(facts(11, Ended::Abandoned));
    let mut ops = Vec::new();
    for n in 0..3000u64 {
        let (process, thread) = ((n % 2) as usize, (n / 2 % 3) as u32 + 1);
        let stack = ["main>f", "main>g", "main>f>h"][(n % 3) as usize].to_owned();
        let act = match n % 7 {
            0 if n % 35 == 0 => Act::Border,
            1 => Act::UnknownFree,
            _ => Act::Alloc { block: n.to_string(), call: Call::Malloc, size: n, stack },
        };
        let born = n.saturating_sub(10);
        let goes = matches!(act, Act::Alloc { .. }) && n >= 10 && born % 7 > 1 && n % 5 != 0;
        ops.push(Op { process, thread, us: 2 * n, act });
        if goes {
            let act = Act::Free { block: born.to_string(), call: Call::Free };
            ops.push(Op { process, thread, us: 2 * n + 1, act });
        }
    }
    recorded.do_all(&ops);
    recorded
}

fn written(recorded: &Recorded) -> Vec<u8> {
    let (mut out, mut writer) = (Vec::new(), Writer::new());
    let session = SessionInfo { started_mono_ns: BEGIN_NS, started_real_ns: 5, ..SessionInfo::default() };
    writer.start(&session, &mut out);
    for (number, pid) in [10, 11].into_iter().enumerate() {
        let info = ProcessInfo {
            pid,
            parent_pid: 10,
            parent_created_mono_ns: if pid == 11 { BEGIN_NS } else { 0 },
            stage: if pid == 11 { Stage::Forked } else { Stage::Execed },
            created_mono_ns: BEGIN_NS,
            created_ticks: crate::common::BEGIN_TICKS,
            clock_kind: ClockKind::Tsc,
            clock_shift: SHIFT,
            ..ProcessInfo::default()
        };
        let index = writer.process(&info, &mut out);
        recorded.write(number, index, &mut writer, &mut out);
        let samples = [MemorySample { mono_ns: BEGIN_NS + 1, rss_bytes: 4096, ..MemorySample::default() }];
        writer.memory(index, &samples, &mut out);
        let how = if pid == 11 { HowEnded::Abandoned } else { HowEnded::Exited };
        let mut end = ProcessEnd { how, ..ProcessEnd::default() };
        end.drops[3] = u64::from(pid);
        writer.process_end(index, &end, &mut out);
    }
    writer.session_end(
        &SessionEnd { ended_mono_ns: 0, exit: Some(ExitStatus::Code(3)), ..SessionEnd::default() },
        &mut out,
    );
    writer.finish(&mut out);
    out
}

#[test]
fn through_a_trace_and_back() {
    let recorded = two_processes();
    let direct = crate::erased::analyze(&recorded, &Options::default());
    let trace = Trace::open(written(&recorded)).unwrap();
    let read = analyze(&Recording::new(&trace), &Options::default());
    assert!(direct.peak.bytes > 0 && direct.temporary.blocks == 0 && direct.totals.frees > 500);

    let known: Vec<_> = read.processes.iter().map(|p| (p.pid, p.parent, p.is_fork, p.ended)).collect();
    assert_eq!(known, [(10, None, false, Ended::Exited), (11, Some(0), true, Ended::Abandoned)]);
    assert_eq!(read.dropped.iter().map(|d| (d.reason, d.count)).collect::<Vec<_>>(), [(3, 21)]);
    assert_eq!((read.exit, read.begin_real_ns, read.complete), (Some(Exit::Code(3)), 5, false));
    let first = &read.timeline.steps[0];
    assert_eq!((first.rss_bytes, first.rss_processes, first.anonymous_bytes), (8192, 2, 8192));
    assert_eq!(read.processes[0].rss_peak_bytes, 4096);
    assert_eq!(figures(read), figures(direct));
}

/// What comes from events and definitions alone.
fn figures(mut answer: Answer) -> Answer {
    for process in &mut answer.processes {
        *process = heapscribe_analyze::answer::Process {
            totals: process.totals,
            peak: process.peak.clone(),
            leaked: process.leaked,
            leaked_stacks: process.leaked_stacks.clone(),
            ..Default::default()
        };
    }
    answer
        .timeline
        .steps
        .iter_mut()
        .for_each(|step| (step.rss_bytes, step.rss_processes, step.anonymous_bytes) = (0, 0, 0));
    Answer { exit: None, begin_real_ns: 0, dropped: Vec::new(), ..answer }
}

/// A trace of processes that ended so many ms after its begin, with an event at 3 ms each; it was finished at 900 ms.
fn finished_late(ends: &[(HowEnded, u64)]) -> Vec<u8> {
    let (mut out, mut writer) = (Vec::new(), Writer::new());
    let session = SessionInfo { started_mono_ns: BEGIN_NS, ..SessionInfo::default() };
    writer.start(&session, &mut out);
    let ms = |n: u64| BEGIN_NS + n * 1_000_000;
    for (pid, (how, end_ms)) in (1..).zip(ends) {
        let info = ProcessInfo {
            pid,
            created_mono_ns: BEGIN_NS,
            created_ticks: BEGIN_NS,
            clock_kind: ClockKind::Monotonic,
            clock_shift: 0,
            ..ProcessInfo::default()
        };
        let index = writer.process(&info, &mut out);
        let event = Event::Alloc { call: Call::Malloc, size_bytes: 8, stack: StackId(0), align_log2: 0 };
        let mut at = [0; EVENT_BYTES_MAX];
        let len = event.encode(3_000_000, &mut at);
        let chunk =
            ChunkInfo { thread: 1, begin_ticks: BEGIN_NS, begin_mono_ns: BEGIN_NS, ..ChunkInfo::default() };
        writer.events(index, &chunk, &at[..len], &mut out);
        let end = ProcessEnd { how: *how, ended_mono_ns: ms(*end_ms), ..ProcessEnd::default() };
        writer.process_end(index, &end, &mut out);
    }
    writer.session_end(&SessionEnd { ended_mono_ns: ms(900), ..SessionEnd::default() }, &mut out);
    writer.finish(&mut out);
    out
}

/// `sort` lived 43 ms, and the report said 336, because `record` had taken so long to write all of it.
#[test]
fn a_recording_is_as_long_as_its_processes_live() {
    let check = |ends: &[(HowEnded, u64)], expected_us: u64, ends_us: &[u64]| {
        let trace = Trace::open(finished_late(ends)).unwrap();
        let recording = Recording::new(&trace);
        let answer = analyze(&recording, &Options::default());
        assert_eq!(answer.duration_ns / 1000, expected_us, "{ends:?}");
        assert_eq!(extent(&recording).duration_ns, answer.duration_ns, "{ends:?}");
        let of_processes: Vec<_> = answer.processes.iter().map(|process| process.end_ns / 1000).collect();
        assert_eq!(of_processes, ends_us, "{ends:?}");
        let rate = answer.totals.calls.all() as f64 * 1e9 / answer.duration_ns as f64;
        assert_eq!(answer.calls_per_second(), rate);
    };
    check(&[(HowEnded::Exited, 43)], 43_000, &[43_000]);
    check(&[(HowEnded::Exited, 43), (HowEnded::Unseen, 50)], 50_000, &[43_000, 50_000]);
    // One that was found dead lived until its last event.
    check(&[(HowEnded::Unseen, 1)], 3_000, &[3_000]);
    check(&[(HowEnded::Exited, 43), (HowEnded::Abandoned, 50)], 900_000, &[43_000, 50_000]);
}

/// A trace of which the oldest events were left out, with what was live before the others.
fn newest_events_only() -> Vec<u8> {
    let (mut out, mut writer) = (Vec::new(), Writer::new());
    writer.start(&SessionInfo::default(), &mut out);
    let index = writer.process(&ProcessInfo::default(), &mut out);
    let stack = StackId(0);
    let block = |thread, size_bytes, birth_ticks| LiveBlock {
        size_bytes,
        thread: ThreadId(thread),
        birth_ticks,
        ..LiveBlock::default()
    };
    let table = LiveTable { role: LiveRole::Before, ticks: 900, blocks: 3, ..LiveTable::default() };
    writer.live(index, &table, &mut out);
    writer.blocks(index, 0, &[block(2, 50, 700), block(1, 100, 600), block(1, 7, 500)], &mut out);
    let gone = Block { size_bytes: 100, stack, age_ticks: 400, birth_thread: None };
    let mut events = Vec::new();
    for (dt, event) in [
        (0, Event::Free { call: Call::Free, block: gone }),
        (5, Event::Alloc { call: Call::Calloc, size_bytes: 20, stack, align_log2: 0 }),
    ] {
        let mut at = [0; EVENT_BYTES_MAX];
        let n = event.encode(dt, &mut at);
        events.extend_from_slice(&at[..n]);
    }
    let info = ChunkInfo { thread: 1, begin_ticks: 1000, begin_mono_ns: 16_000, ..ChunkInfo::default() };
    writer.events(index, &info, &events, &mut out);
    writer.process_end(index, &ProcessEnd { how: HowEnded::Exited, ..ProcessEnd::default() }, &mut out);
    writer.finish(&mut out);
    out
}

#[test]
fn what_was_live_before_the_events_counts_as_it_came() {
    let trace = Trace::open(newest_events_only()).unwrap();
    let answer = analyze(&Recording::new(&trace), &Options::default());
    assert_eq!(answer.problems, Vec::<String>::new());
    assert_eq!((answer.totals.allocations, answer.totals.frees), (4, 1));
    assert_eq!((answer.totals.calls.all(), answer.totals.calls.malloc), (2, 0));
    assert_eq!((answer.peak.bytes, answer.peak.blocks), (157, 3));
    assert_eq!((answer.leaked.bytes, answer.leaked.blocks), (77, 3));
    assert_eq!(answer.threads.iter().map(|t| t.totals.allocations).collect::<Vec<_>>(), [3, 1]);
}
