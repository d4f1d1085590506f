//! Answers of the index against those of a slow twin that looks at every block, over random histories: processes,
//! threads, blocks freed by others, reallocs, small leaves, and questions whose edges lie anywhere.

use std::collections::BTreeMap;

use crate::ages::check_ages;
use crate::histories::{Action, Random, Step};
use heapscribe_analyze::moments::of_name;
use heapscribe_analyze::{
    HeapOverTime, Highest, Options, ProcessStep, extent, heap_within, lost_in_chunks, over_time,
};
use heapscribe_index::{
    Amount, BuildOptions, Columns, Death, Events, Index, Key, Question, SizeClass, Span, TraceId, build,
};
use heapscribe_wire::record::Note;
use proptest::prelude::*;

const NOTES: [Note; 4] = [Note::Mark, Note::Begin, Note::End, Note::GoesOn { age_ticks: 3 }];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![0..40u64, 0..5_000u64];
    let action = prop_oneof![
        5 => (size.clone(), 1..6u32).prop_map(|(size, stack)| Action::Alloc { size, stack }),
        4 => any::<usize>().prop_map(|which| Action::Free { which }),
        1 => (any::<usize>(), size, 1..6u32).prop_map(|(which, size, stack)| Action::Realloc { which, size, stack }),
        1 => (1..9u64, any::<u8>()).prop_map(|(count, reason)| Action::Lost { count, reason }),
        1 => (1..4u32, 0..4usize).prop_map(|(name, n)| Action::Note { name, note: NOTES[n] }),
    ];
    let step =
        (prop_oneof![4 => Just(0), 1 => Just(1usize)], 1..4u32, 1..9u64, action, prop::bool::weighted(0.05));
    let step = step.prop_map(|(process, thread, ticks, action, seals)| Step {
        process,
        thread,
        ticks,
        action,
        seals,
    });
    prop::collection::vec(step, 0..1_500)
}

/// Moments as parts of a million of the whole time, or beyond it.
fn question(moments: [u32; 4], kind: u8, last_ns: u64, begins: &[u64]) -> Question {
    let at = |part: u32| match part % 5 {
        0 => begins[part as usize / 5 % begins.len()],
        1 if part % 35 == 1 => u64::MAX,
        _ => (u128::from(part) * u128::from(last_ns + 50) / 1_000_000) as u64,
    };
    let span = |a: u32, b: u32| Span { from_ns: at(a).min(at(b)), to_ns: at(a).max(at(b)) };
    let born = span(moments[0], moments[1]);
    match kind % 7 {
        0 => Question::live_at(at(moments[0]).min(u64::MAX - 1)),
        1 => Question::allocated(born),
        2 => Question::freed(born),
        3 => Question { born, death: Death::In(span(moments[2], moments[3])) },
        4 => Question { born: Span::ALL, death: Death::Any },
        5 => Question { born, death: Death::NotUntil(at(moments[2])) },
        _ => Question { born, death: Death::After(at(moments[2]).min(u64::MAX - 1)) },
    }
}

/// The peak is the first of the highest levels; steps end at their level, and have what happened in them.
fn check_heap(random: &Random, heap: &HeapOverTime) {
    let (begin_ns, levels) = (extent(random).begin_ns, random.levels(None));
    let peak = levels.iter().rev().max_by_key(|(_, level)| **level).filter(|(_, level)| **level > 0);
    let expected = peak.map_or((0, 0), |(ns, level)| (*level as u64, ns - begin_ns));
    assert_eq!((heap.peak.bytes, heap.peak.time_ns), expected);
    let level_at = |levels: &BTreeMap<u64, i64>, ns: u64| {
        levels.range(..ns).next_back().map_or(0, |(_, level)| *level as u64)
    };
    let of_processes = [random.levels(Some(0)), random.levels(Some(1))];
    let mut rows = heap.processes.iter().peekable();
    for (number, step) in heap.timeline.steps.iter().enumerate() {
        let from_ns = begin_ns + heap.timeline.step_ns * number as u64;
        // What ends after the last event is in the last step.
        let is_last = number + 1 == heap.timeline.steps.len();
        let to_ns = if is_last { u64::MAX } else { from_ns + heap.timeline.step_ns };
        let traffic = [step.allocations, step.allocated_bytes, step.frees, step.freed_bytes];
        assert_eq!(traffic, random.traffic(None, from_ns, to_ns), "step {number}");
        assert_eq!(step.heap_end_bytes, level_at(&levels, to_ns), "step {number}");
        let within = levels.range(from_ns..to_ns).map(|(_, level)| *level as u64);
        let most = within.max().unwrap_or(0).max(level_at(&levels, from_ns));
        assert!((step.heap_end_bytes..=most).contains(&step.heap_max_bytes), "step {number}");
        let has_peak = (from_ns..to_ns).contains(&(begin_ns + heap.peak.time_ns));
        assert!(!has_peak || step.heap_max_bytes == heap.peak.bytes, "step {number}");
        for process in 0..2 {
            let of_process = &of_processes[process as usize];
            let traffic = random.traffic(Some(process), from_ns, to_ns);
            let is_it = |row: &&ProcessStep| (row.step, row.process) == (number as u32, process);
            let Some(row) = rows.next_if(is_it) else {
                assert_eq!(traffic, [0; 4]);
                assert_eq!(level_at(of_process, from_ns), level_at(of_process, to_ns), "step {number}");
                continue;
            };
            assert_eq!([row.allocations, row.allocated_bytes, row.frees, row.freed_bytes], traffic);
            assert_eq!(row.heap_end_bytes, level_at(of_process, to_ns), "step {number}");
        }
    }
    assert_eq!(rows.next(), None);
}

/// A part of the time is as all of it is, step by step.
fn check_part(random: &Random, peak: Highest, from_ns: u64, to_ns: u64) {
    let level_at =
        |process, ns: u64| random.levels(process).range(..ns).next_back().map_or(0, |(_, level)| *level);
    let before_bytes = [0, 1].map(|process| level_at(Some(process), from_ns));
    let options = Options { timeline_steps: 7, ..Options::default() };
    let part = heap_within(random, (from_ns, to_ns), &before_bytes, peak, &options);
    let begin_ns = extent(random).begin_ns;
    let is_past = from_ns >= begin_ns;
    assert!(!is_past || part.begin_ns == from_ns - begin_ns);
    let levels = random.levels(None);
    for (number, step) in (0..).zip(&part.steps) {
        let from_ns = from_ns + part.step_ns * number;
        let end_ns = (from_ns + part.step_ns).min(to_ns);
        let traffic = [step.allocations, step.allocated_bytes, step.frees, step.freed_bytes];
        assert_eq!(traffic, random.traffic(None, from_ns, end_ns), "step {number}");
        assert_eq!(step.heap_end_bytes, level_at(None, end_ns) as u64, "step {number}");
        let within = levels.range(from_ns..end_ns).map(|(_, level)| *level as u64).max().unwrap_or(0);
        let most = within.max(level_at(None, from_ns) as u64);
        assert!((step.heap_end_bytes..=most).contains(&step.heap_max_bytes), "step {number}");
        let has_peak = (from_ns..end_ns).contains(&(begin_ns + peak.time_ns));
        assert!(!has_peak || step.heap_max_bytes == peak.bytes, "step {number}");
    }
    assert!(part.step_ns * part.steps.len() as u64 >= to_ns - from_ns && part.steps.len() <= 7);
}

/// Notes are all there, or none of them where there were too many; as a pass over the events has them, too.
fn check_notes(random: &Random, index: &Index<Vec<u8>>, notes_max: usize) {
    if random.notes().values().map(Vec::len).sum::<usize>() > notes_max {
        assert_eq!(index.note_names().unwrap(), None);
        assert_eq!(index.notes(b"name 1").unwrap(), None);
        return;
    }
    let mut expected = random.notes().clone();
    expected.retain(|_, moments| !moments.is_empty());
    assert_eq!(index.note_names().unwrap(), Some(expected.keys().cloned().collect()));
    for (name, moments) in &expected {
        assert_eq!(index.notes(name).unwrap().as_ref(), Some(moments));
        assert_eq!(&of_name(random, name), moments);
    }
    assert_eq!(index.notes(b"another").unwrap(), Some(Vec::new()));
}

/// What a heap gives follows from the size of each block.
fn check_given(random: &Random, events: &Events<'_, Random>, question: &Question) {
    let given = |size: u64| size + 7;
    let found = events.given(question, given, &|key: &Key| key.thread != 2);
    let mut expected = BTreeMap::<SizeClass, (Amount, i64)>::new();
    for (key, amount) in random.answer(question).into_iter().filter(|(key, _)| key.thread != 2) {
        let (asked, bytes) = expected.entry(key.size).or_default();
        asked.add(amount);
        *bytes += amount.bytes + 7 * amount.blocks;
    }
    let found: BTreeMap<_, _> =
        found.into_iter().map(|(class, sum)| (class, (sum.asked, sum.given_bytes))).collect();
    assert_eq!(found, expected, "{question:?}");
}

/// What threads hold at the end of a step is what is live then, but for what went with a process.
fn check_threads(random: &Random, events: &Events<'_, Random>) {
    let columns = Columns { begin_ns: 0, step_ns: 865, count: 12 };
    let mut held = BTreeMap::<(u32, u32), i64>::new();
    let rows = events.of_threads(&columns);
    for step in 0..columns.count {
        for row in rows.iter().filter(|row| row.step == step) {
            *held.entry((row.process, row.thread)).or_default() += row.net_bytes;
        }
        held.retain(|_, bytes| *bytes != 0);
        let until_ns = columns.step_ns * (step as u64 + 1) - 1;
        let live = Question { born: Span::until(until_ns), death: Death::NotUntil(until_ns) };
        let mut expected = BTreeMap::<(u32, u32), i64>::new();
        for (key, amount) in random.answer(&live) {
            *expected.entry((key.process, key.thread)).or_default() += amount.bytes;
        }
        expected.retain(|_, bytes| *bytes != 0);
        assert_eq!(held, expected, "until {until_ns}");
    }
}

/// So many leaves that a step has more than 64 of them.
#[test]
fn answers_over_many_leaves_are_those_of_a_replay() {
    let step = |n: u64| {
        let action = match n * 7 % 5 {
            0..3 => Action::Alloc { size: n * 31 % 900, stack: 1 + (n % 5) as u32 },
            _ => Action::Free { which: (n * n % 1_009) as usize },
        };
        Step {
            process: (n % 2) as usize,
            thread: 1 + (n / 3 % 2) as u32,
            ticks: 1 + n % 8,
            action,
            seals: n.is_multiple_of(97),
        }
    };
    let random = Random::new(&(0..9_000).map(step).collect::<Vec<_>>(), 0);
    let (trace, mut file) = (TraceId { bytes: 7, checksum: 8 }, Vec::new());
    let options = BuildOptions { events_per_leaf: 1, ..BuildOptions::default() };
    build(&random, &trace, &options, &mut file, &mut |_, _| {}).unwrap();
    let (index, events) = (Index::open(file, &trace).unwrap(), Events::new(&random));
    assert!(index.axis().leaves_per_step() > 64, "{} leaves", index.axis().leaves());
    for n in 0..42u32 {
        let moments = [0, 1, 2, 3].map(|part| (n * 7_919 + part * 271_829) * 13 % 1_000_000);
        let question = question(moments, n as u8, random.last_ns(), index.axis().begins_ns());
        let sums = index.ask(&question, &events).unwrap();
        let found: BTreeMap<Key, Amount> =
            sums.iter().map(|(key, amount)| (index.keys()[key.0 as usize], amount)).collect();
        assert_eq!(found, random.answer(&question), "{question:?}");
        assert_eq!(index.totals(&[question], None, &events).unwrap(), [sums.total()], "{question:?}");
        if let Question { born, death: Death::In(died) } = question {
            check_ages(&random, &index, &events, born, died);
        }
        check_ages(&random, &index, &events, question.born, Span::ALL);
    }
}

/// The histories are tried by two tests, on two threads.
macro_rules! answers_are_those_of_a_replay {
    ($name:ident) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 15, ..ProptestConfig::default() })]
            #[test]
            fn $name(
                steps in steps(),
                end_ns in 0..9_000u64,
                events_per_leaf in 1..40u64,
                survivors_bytes_max in prop_oneof![Just(1usize), Just(2_000), Just(1 << 20)],
                keys_max in prop_oneof![Just(usize::MAX), 1..20usize],
                chunks_at_once in 1..9usize,
                notes_max in prop_oneof![4 => Just(usize::MAX), 1 => 0..40usize],
                questions in prop::collection::vec((any::<[u32; 4]>(), any::<u8>()), 60),
            ) {
                let random = Random::new(&steps, end_ns);
                let options = BuildOptions { events_per_leaf, survivors_bytes_max, keys_max, chunks_at_once, notes_max };
                let (trace, mut file) = (TraceId { bytes: 7, checksum: 8 }, Vec::new());
                let built = build(&random, &trace, &options, &mut file, &mut |_, _| {}).unwrap();
                prop_assert_eq!(built.bytes, file.len() as u64);
                prop_assert_eq!(built.problems, Vec::<String>::new());
                let index = Index::open(file, &trace).unwrap();
                let events = Events::new(&random);
                prop_assert_eq!(index.heap().unwrap(), over_time(&random, &Options::default()));
                prop_assert_eq!(&index.lost_in_chunks().unwrap(), random.lost());
                prop_assert_eq!(&lost_in_chunks(&random), random.lost());
                check_heap(&random, &index.heap().unwrap());
                check_notes(&random, &index, notes_max);
                check_threads(&random, &events);
                let question = |(moments, kind): ([u32; 4], u8)| {
                    let moments = moments.map(|part| part % 1_000_000);
                    question(moments, kind, random.last_ns(), index.axis().begins_ns())
                };
                let questions: Vec<Question> = questions.into_iter().map(question).collect();
                let mut together = Vec::new();
                index.ask_each(&questions, &events, &mut |number, sums| together.push((number, sums))).unwrap();
                let totals = index.totals(&questions, None, &events).unwrap();
                let is_wanted = |key: &Key| key.process != 1;
                let of_some = index.totals(&questions, Some(&is_wanted), &events).unwrap();
                for (number, question) in questions.into_iter().enumerate() {
                    if number < 6 && !question.born.is_empty() && question.born.to_ns != u64::MAX {
                        check_part(&random, index.heap().unwrap().peak, question.born.from_ns, question.born.to_ns);
                    }
                    if number < 6 {
                        check_given(&random, &events, &question);
                    }
                    if let Question { born, death: Death::In(died) } = question {
                        check_ages(&random, &index, &events, born, died);
                    }
                    prop_assert_eq!(&together[number], &(number, index.ask(&question, &events).unwrap()));
                    let (sums, expected) = (index.ask(&question, &events).unwrap(), random.answer(&question));
                    let by_pass: BTreeMap<Key, Amount> = events.ask(&question).into_iter().collect();
                    prop_assert_eq!(&by_pass, &expected, "{:?} without the index", question);
                    let mut whole = Amount::default();
                    expected.values().for_each(|amount| whole.add(*amount));
                    prop_assert_eq!(sums.total(), whole, "{:?} {:?}", question, index.axis());
                    prop_assert_eq!(totals[number], whole, "{:?} {:?}", question, index.axis());
                    let mut some = Amount::default();
                    expected.iter().filter(|(key, _)| is_wanted(key)).for_each(|(_, amount)| some.add(*amount));
                    prop_assert_eq!(of_some[number], some, "{:?} {:?}", question, index.axis());
                    if !index.is_coarse() {
                        let found: BTreeMap<Key, Amount> =
                            sums.iter().map(|(key, amount)| (index.keys()[key.0 as usize], amount)).collect();
                        prop_assert_eq!(&found, &expected, "{:?} {:?}", question, index.axis());
                    }
                }
            }
        }
    };
}

answers_are_those_of_a_replay!(every_answer_is_that_of_a_replay);
answers_are_those_of_a_replay!(and_of_another_one);
