//! Random histories: the passes against the slow twin, figure by figure. Steps of time are few and the
//! events that may be ordered at once fewer, so that the search for the peak has to go deep.

use std::collections::BTreeMap;

use crate::common::twin::{Highest, OfStack, Twin};
use crate::common::{Act, Op, Recorded, facts};
use crate::erased::analyze;
use heapscribe_analyze::answer::{Amount, Answer, Ended, Peak};
use heapscribe_analyze::input::{ChunkFacts, ProcessFacts};
use heapscribe_analyze::{History as _, Options, add_samples, over_time};
use heapscribe_wire::record::Call;
use proptest::prelude::*;

const STACKS: [&str; 5] = ["main>f", "main>g", "main>f>g", "start>f", "?"];

/// A byte program: each entry does something with a process, a thread, a step in time and a choice.
pub(crate) type Byte = (u8, u8, u8, u8);

/// How a process lives: up to so many operations of all, and then how it ends.
type Life = (usize, u8);

/// When a process ended, ns, as its facts have it and as it is: after its last event.
fn end_ns(ops: &[Op], process: usize, (_, how): Life, pace: u64) -> (u64, Option<u64>) {
    let events = ops.iter().filter(|op| op.process == process && !matches!(op.act, Act::Border));
    let last = events.map(|op| op.us).max();
    match how % 4 {
        0 => (0, None),
        1 => (1, last.map(|us| us * 1000 + 1)),
        later => {
            let us = last.unwrap_or(0) + 1 + u64::from(later) * pace * 20;
            (crate::common::BEGIN_NS + us * 1000, Some(us * 1000))
        }
    }
}

/// Makes operations that a program could do of whatever comes.
pub(crate) fn operations(program: &[Byte], lives: &[Life], threads: u8, pace: u64) -> Vec<Op> {
    let processes = lives.len() as u8;
    let (mut now, mut ops, mut live) = (2000, Vec::new(), Vec::<(usize, String)>::new());
    let mut last = BTreeMap::new();
    for (serial, &(what, who, wait, choice)) in program.iter().enumerate() {
        let (process, thread) = (usize::from(who % processes), u32::from(who / processes % threads) + 1);
        now += u64::from(wait) * pace / 16;
        // Threads' clocks differ a little, and each one goes on.
        if serial >= lives[process].0 {
            continue;
        }
        let skewed = now - u64::from(thread) * (pace / 4);
        let us = skewed.max(last.get(&(process, thread)).map_or(0, |us| us + 1));
        let stack = STACKS[usize::from(choice) % STACKS.len()].to_owned();
        let size = u64::from(choice).pow(2) / 3;
        let mine: Vec<usize> = (0..live.len()).filter(|&i| live[i].0 == process).collect();
        let pick = mine.get(usize::from(choice) % mine.len().max(1)).copied();
        let newest = mine.last().copied();
        let act = match (what % 16, pick, newest) {
            (0, ..) => Act::Border,
            (1, ..) => Act::UnknownFree,
            (2, ..) => Act::Failed { call: Call::Calloc, size, stack },
            (3, ..) => {
                live.push((process, serial.to_string()));
                Act::UnknownRealloc { block: serial.to_string(), size, stack }
            }
            (4 | 5, Some(at), _) => Act::Realloc { block: live[at].1.clone(), size, stack },
            (6..=8, Some(at), _) => Act::Free { block: live.remove(at).1, call: Call::Free },
            (9 | 10, _, Some(at)) => Act::Free { block: live.remove(at).1, call: Call::Realloc },
            _ => {
                live.push((process, serial.to_string()));
                Act::Alloc { block: serial.to_string(), call: Call::Malloc, size, stack }
            }
        };
        last.insert((process, thread), us);
        ops.push(Op { process, thread, us, act });
    }
    ops
}

fn compare(program: &[Byte], lives: &[Life], threads: u8, pace: u64, options: &Options) {
    let ops = operations(program, lives, threads, pace);
    let (mut recorded, mut ends_ns) = (Recorded::default(), Vec::new());
    for (process, life) in lives.iter().enumerate() {
        let (end_mono_ns, end) = end_ns(&ops, process, *life, pace);
        let ended = if life.1.is_multiple_of(4) { Ended::Abandoned } else { Ended::Exited };
        recorded.process(ProcessFacts { end_mono_ns, ..facts(process as u32, ended) });
        ends_ns.push(end);
    }
    recorded.do_all(&ops);
    let answer = analyze(&recorded, options);
    let mut twin = Twin::of(&ops, &ends_ns);
    let of_all = twin.highest(None);
    same_peak(&recorded, &answer, &answer.peak, &of_all);
    for (number, process) in answer.processes.iter().enumerate() {
        same_peak(&recorded, &answer, &process.peak, &twin.highest(Some(number)));
    }
    same_stacks(&recorded, &answer, twin.stacks.clone(), &of_all);
    same_stacks_by_process(&recorded, &ops, &ends_ns, &of_all, options);
    let (allocations, bytes) = twin.allocations();
    assert_eq!((answer.totals.allocations, answer.totals.allocated_bytes), (allocations, bytes));
    let by_size =
        |sum: (u64, u64), c: &heapscribe_analyze::answer::SizeClass| (sum.0 + c.count, sum.1 + c.bytes);
    assert_eq!(answer.sizes.iter().fold((0, 0), by_size), (allocations, bytes));
    let lived: u64 = answer.lifetimes.iter().map(|class| class.count).sum();
    assert_eq!(lived, answer.totals.frees);
    let steps = &answer.timeline.steps;
    assert_eq!(steps.iter().map(|step| step.allocations).sum::<u64>(), allocations);
    assert_eq!(steps.iter().map(|step| step.heap_max_bytes).max().unwrap_or(0), answer.peak.bytes);
    assert_eq!(steps.last().map_or(0, |step| step.heap_end_bytes), twin.live_at_end());
    assert_eq!(steps.iter().map(|step| step.frees).sum::<u64>(), answer.totals.frees);
    assert_eq!(steps.iter().map(|step| step.freed_bytes).sum::<u64>(), answer.totals.freed_bytes);
    same_over_time(&recorded, &answer, options);
}

/// Who asks for the heap over time alone has the same peak and the same timeline.
fn same_over_time(recorded: &Recorded, answer: &Answer, options: &Options) {
    let mut heap = over_time(recorded, options);
    assert_eq!((heap.peak.bytes, heap.peak.time_ns), (answer.peak.bytes, answer.peak.time_ns));
    add_samples(&mut heap.timeline, &recorded.processes(), answer.begin_mono_ns);
    assert_eq!(heap.timeline, answer.timeline);
    let of_last = heap.timeline.steps.last().map_or(0, |step| step.heap_end_bytes);
    let at_end: BTreeMap<u32, u64> =
        heap.processes.iter().map(|row| (row.process, row.heap_end_bytes)).collect();
    assert_eq!(at_end.values().sum::<u64>(), of_last);
}

fn same_peak(recorded: &Recorded, answer: &Answer, peak: &Peak, expected: &Highest) {
    let ns = answer.begin_mono_ns + peak.time_ns - crate::common::BEGIN_NS;
    assert_eq!(peak.bytes as i64, expected.bytes);
    if expected.bytes == 0 {
        return;
    }
    assert_eq!(ns, expected.ns);
    let holders = peak.stacks.iter().map(|holder| {
        let held = (holder.held.bytes as i64, holder.held.blocks as i64);
        (recorded.path(answer, holder.node), held)
    });
    assert_eq!(holders.collect::<BTreeMap<_, _>>(), expected.held);
}

/// The same where each process is a node above its stacks.
fn same_stacks_by_process(
    recorded: &Recorded,
    ops: &[Op],
    ends_ns: &[Option<u64>],
    of_all: &Highest,
    options: &Options,
) {
    let answer = analyze(recorded, &Options { splits_processes: true, ..*options });
    let (mut expected, mut at_peak) = (BTreeMap::new(), Highest { held: BTreeMap::new(), ..of_all.clone() });
    for process in 0..ends_ns.len() {
        let mine: Vec<Op> = ops.iter().filter(|op| op.process == process).cloned().collect();
        let twin = Twin::of(&mine, ends_ns);
        let below = |path: &String| match path.as_str() {
            "?" => format!("process {process}"),
            path => format!("process {process}>{path}"),
        };
        expected.extend(twin.stacks.iter().map(|(path, of_stack)| (below(path), of_stack.clone())));
        at_peak.held.extend(twin.held(process, of_all.ns).iter().map(|(path, held)| (below(path), *held)));
    }
    same_stacks(recorded, &answer, expected, &at_peak);
}

fn same_stacks(
    recorded: &Recorded,
    answer: &Answer,
    mut expected: BTreeMap<String, OfStack>,
    of_all: &Highest,
) {
    let pair = |amount: &Amount| (amount.blocks, amount.bytes);
    for stack in &answer.stacks {
        let path = recorded.path(answer, stack.node);
        let twin = expected.remove(&path).unwrap_or_default();
        assert_eq!(pair(&stack.allocated), twin.allocated, "{path}");
        assert_eq!(pair(&stack.freed), twin.freed, "{path}");
        assert_eq!(pair(&stack.temporary), twin.temporary, "{path}");
        assert_eq!(pair(&stack.leaked), twin.leaked, "{path}");
        assert_eq!(stack.freed_by_others, twin.by_others, "{path}");
        assert_eq!(stack.size_min_bytes, twin.sizes.iter().copied().min().unwrap_or(0));
        assert_eq!(stack.size_max_bytes, twin.sizes.iter().copied().max().unwrap_or(0));
        assert_eq!(stack.lifetime.min_ns, twin.ages_us.iter().min().map_or(0, |us| us * 1000));
        assert_eq!(stack.lifetime.max_ns, twin.ages_us.iter().max().map_or(0, |us| us * 1000));
        if of_all.bytes > 0 {
            let held = of_all.held.get(&path).copied().unwrap_or_default();
            assert_eq!((stack.at_peak.bytes as i64, stack.at_peak.blocks as i64), held);
        }
    }
    assert!(expected.is_empty(), "stacks that the answer forgot: {expected:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_passes_say_what_the_slow_twin_says(
        program in prop::collection::vec(any::<Byte>(), 0..400),
        lives in prop::collection::vec((0usize..500, any::<u8>()), 1..4),
        threads in 1u8..5,
        pace in prop::sample::select(vec![4u64, 16, 400]),
        timeline_steps in 1u32..20,
        ordered_events_max in prop::sample::select(vec![0u64, 3, 30, 1 << 20]),
    ) {
        compare(&program, &lives, threads, pace, &Options { timeline_steps, ordered_events_max, ..Options::default() });
    }

    #[test]
    fn bytes_that_no_recorder_wrote_give_some_answer(
        chunks in prop::collection::vec((any::<[u64; 4]>(), prop::collection::vec(any::<u8>(), 0..300)), 0..6),
        timeline_steps in 0u32..20,
    ) {
        let mut recorded = Recorded::default();
        recorded.process(facts(1, Ended::Unknown));
        for ([begin_ticks, last_ticks, last_alloc_ticks, other], mut payload) in chunks {
            // Kinds and calls that exist get further than most bytes; stacks stay small for the speed.
            payload.iter_mut().step_by(3).for_each(|byte| *byte = (*byte % 7) | (*byte & 0x88));
            let (process, thread, events) = ((other % 3) as usize, other as u32 % 3, other >> 50);
            let chunk = ChunkFacts { process, thread, begin_ticks, last_ticks, last_alloc_ticks, events, is_made_up: false };
            recorded.raw(chunk, payload);
        }
        let options = Options { timeline_steps, ordered_events_max: 3, ..Options::default() };
        analyze(&recorded, &options);
        over_time(&recorded, &options);
    }
}
