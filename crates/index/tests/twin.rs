//! Answers of the index against those of a slow twin that looks at every block, over random histories: processes,
//! threads, blocks freed by others, reallocs, small leaves, and questions whose edges lie anywhere.

mod histories;

use std::collections::BTreeMap;

use heapscribe_index::{Amount, BuildOptions, Death, Events, Index, Key, Question, Span, TraceId, build};
use histories::{Action, Random, Step};
use proptest::prelude::*;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![0..40u64, 0..5_000u64];
    let action = prop_oneof![
        5 => (size.clone(), 1..6u32).prop_map(|(size, stack)| Action::Alloc { size, stack }),
        4 => any::<usize>().prop_map(|which| Action::Free { which }),
        1 => (any::<usize>(), size, 1..6u32).prop_map(|(which, size, stack)| Action::Realloc { which, size, stack }),
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn every_answer_is_that_of_a_replay(
        steps in steps(),
        end_ns in 0..9_000u64,
        events_per_leaf in 1..40u64,
        survivors_bytes_max in prop_oneof![Just(1usize), Just(2_000), Just(1 << 20)],
        keys_max in prop_oneof![Just(usize::MAX), 1..20usize],
        chunks_at_once in 1..9usize,
        questions in prop::collection::vec((any::<[u32; 4]>(), any::<u8>()), 60),
    ) {
        let random = Random::new(&steps, end_ns);
        let options = BuildOptions { events_per_leaf, survivors_bytes_max, keys_max, chunks_at_once };
        let (trace, mut file) = (TraceId { bytes: 7, checksum: 8 }, Vec::new());
        let built = build(&random, &trace, &options, &mut file, &mut |_, _| {}).unwrap();
        prop_assert_eq!(built.bytes, file.len() as u64);
        prop_assert_eq!(built.problems, Vec::<String>::new());
        let index = Index::open(file, &trace).unwrap();
        let events = Events::new(&random);
        for (moments, kind) in questions {
            let moments = moments.map(|part| part % 1_000_000);
            let question = question(moments, kind, random.last_ns(), index.axis().begins_ns());
            let (sums, expected) = (index.ask(&question, &events).unwrap(), random.answer(&question));
            let by_pass: BTreeMap<Key, Amount> = events.ask(&question).into_iter().collect();
            prop_assert_eq!(&by_pass, &expected, "{:?} without the index", question);
            let mut whole = Amount::default();
            expected.values().for_each(|amount| whole.add(*amount));
            prop_assert_eq!(sums.total(), whole, "{:?} {:?}", question, index.axis());
            if !index.is_coarse() {
                let found: BTreeMap<Key, Amount> =
                    sums.iter().map(|(key, amount)| (index.keys()[key.0 as usize], amount)).collect();
                prop_assert_eq!(&found, &expected, "{:?} {:?}", question, index.axis());
            }
        }
    }
}
