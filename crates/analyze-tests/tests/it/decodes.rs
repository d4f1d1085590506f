//! How often an analysis reads each chunk: once, and once more where a peak, a mark or a step lies in it that
//! several threads were at work in.

use crate::common::counting::Counting;
use crate::common::{Act, Op, Recorded, facts};
use crate::erased::analyze;
use heapscribe_analyze::Options;
use heapscribe_analyze::answer::Ended;
use heapscribe_analyze::calls::{Place, Question, calls};
use heapscribe_analyze::input::History as _;
use heapscribe_wire::record::{Call, Note};

/// Chunks of each thread.
const CHUNKS: u64 = 200;
/// Allocations of a chunk, each 10 us after the one before.
const OF_CHUNK: u64 = 20;

/// What a recording has besides allocations and frees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    Annotations,
    Latency,
}

/// Threads of processes that are at work all the time, with a peak at two thirds of it: first they keep
/// every other block, then they free two for each one that they allocate.
fn recorded(processes: usize, threads: u32, with: With) -> Recorded {
    let mut recorded = Recorded::default();
    for pid in 1..=processes as u32 {
        recorded.process(facts(pid, Ended::Exited));
    }
    let mut live: Vec<(usize, u32, u64)> = Vec::new();
    for n in 0..CHUNKS * OF_CHUNK {
        for process in 0..processes {
            for thread in 1..=threads {
                let mut us = 2000 + n * 10 + u64::from(thread);
                let mut act = |act| {
                    // How long a call took has the time of the call.
                    us += u64::from(!matches!(act, Act::Took { .. }));
                    recorded.do_all(&[Op { process, thread, us, act }]);
                };
                if n % OF_CHUNK == 0 && n > 0 {
                    act(Act::Border);
                }
                if with == With::Annotations {
                    annotate(n, &mut act);
                }
                let block = format!("{process}.{thread}.{n}");
                act(Act::Alloc { block, call: Call::Malloc, size: 100 + n % 7, stack: "main>f".to_owned() });
                if with == With::Latency {
                    act(Act::Took { units: 1 + n % 3 });
                }
                live.push((process, thread, n));
                let frees = if n * 3 < CHUNKS * OF_CHUNK * 2 { n % 2 } else { 2 };
                for _ in 0..frees {
                    let mine = |(p, t, _): &(usize, u32, u64)| (*p, *t) == (process, thread);
                    if let Some(at) = live.iter().position(mine) {
                        let (p, t, n) = live.remove(at);
                        act(Act::Free { block: format!("{p}.{t}.{n}"), call: Call::Free });
                    }
                }
            }
        }
    }
    recorded
}

/// A section in every other chunk, a mark in each tenth of the time.
fn annotate(n: u64, act: &mut impl FnMut(Act)) {
    let note = |note, name: &str| Act::Note { note, name: name.to_owned() };
    match n % (2 * OF_CHUNK) {
        0 => act(note(Note::Begin, "part")),
        5 => act(note(Note::End, "part")),
        _ => {}
    }
    if n % (CHUNKS * OF_CHUNK / 10) == 7 {
        act(note(Note::Mark, "round"));
    }
}

/// Analyzes, and says how many loads there were of how many chunks, and how many the most of one chunk.
fn loads(recorded: &Recorded) -> (u64, u64, u64) {
    let counting = Counting::new(recorded);
    let answer = analyze(&counting, &Options::default());
    assert!(answer.peak.bytes > 0 && answer.problems.is_empty(), "{:?}", answer.problems);
    let loads = counting.loads();
    (loads.iter().sum(), loads.len() as u64, loads.iter().max().copied().unwrap_or(0))
}

/// At most so many loads of chunks besides the first one of each.
fn check(recorded: &Recorded, more_max: u64, most_max: u64) {
    let (loads, chunks, most) = loads(recorded);
    assert!(loads >= chunks && loads - chunks <= more_max, "{loads} loads of {chunks} chunks");
    assert!(most <= most_max, "{most} loads of one chunk");
}

#[test]
fn chunks_of_one_thread_are_read_once_but_for_the_group_of_the_peak() {
    check(&recorded(1, 1, With::Nothing), CHUNKS / 32, 2);
    check(&recorded(1, 1, With::Latency), CHUNKS / 32, 2);
}

#[test]
fn marks_read_the_chunks_that_they_lie_in() {
    // The first and the last of the marks, in a chunk of each thread.
    check(&recorded(1, 1, With::Annotations), CHUNKS / 32 + 2, 2);
    check(&recorded(1, 4, With::Annotations), 4 * CHUNKS / 32 + 2 * 4 + 4 * 8, 3);
}

#[test]
fn several_threads_and_processes_read_the_steps_of_the_peak_besides() {
    check(&recorded(1, 4, With::Nothing), 4 * CHUNKS / 32 + 4 * 8, 3);
    check(&recorded(3, 2, With::Nothing), 3 * 2 * (2 * CHUNKS / 32 + 2 * 8), 5);
}

#[test]
fn questions_about_calls_read_each_chunk_once_and_again_only_for_marks() {
    let recorded = recorded(1, 2, With::Annotations);
    let counting = Counting::new(&recorded);
    let anyone: &(dyn Fn(&[u8]) -> bool + Sync) = &|_| true;
    let inside = Question { place: Place::Section(b"part"), threads: anyone };
    let found = calls(&counting, &[inside]);
    assert!(found.processes[0][0].kinds().all() > 0);
    assert!(counting.loads().iter().all(|loads| *loads == 1));
    calls(&counting, &[inside, Question { place: Place::After(b"round"), threads: anyone }]);
    assert!(counting.loads().iter().all(|loads| *loads == 2));
    assert!(counting.events_decoded() > recorded.chunks().iter().map(|chunk| chunk.events).sum());
}
