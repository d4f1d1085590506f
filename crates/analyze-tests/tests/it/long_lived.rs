//! What lives long and is large, against a twin that has the birth and the end of every block. All is done by one thread
//! of a process: clocks of two threads differ, and a block can be younger than nothing.

use std::collections::BTreeMap;

use crate::common::{Act, Op, Recorded, facts};
use crate::erased::analyze;
use crate::oracle::{Byte, operations};
use heapscribe_analyze::Options;
use heapscribe_analyze::answer::{Amount, Answer, Ended};
use heapscribe_analyze::findings::{LARGE_BYTES, LONG_PERCENT, Owners, long_lived};
use proptest::prelude::*;

/// A block: its process, size, stack, and when it was allocated and freed.
struct Life {
    process: usize,
    bytes: u64,
    stack: String,
    birth_us: u64,
    freed_us: Option<u64>,
}

fn lives(ops: &[Op]) -> Vec<Life> {
    let (mut lives, mut live) = (Vec::<Life>::new(), BTreeMap::<(usize, String), usize>::new());
    for op in ops {
        let key = |block: &String| (op.process, block.clone());
        if let Act::Free { block, .. } | Act::Realloc { block, .. } = &op.act {
            let number = live.remove(&key(block)).unwrap();
            lives[number].freed_us = Some(op.us);
        }
        if let Act::Alloc { block, size, stack, .. }
        | Act::Realloc { block, size, stack }
        | Act::UnknownRealloc { block, size, stack } = &op.act
        {
            live.insert(key(block), lives.len());
            let (process, bytes, stack) = (op.process, *size, stack.clone());
            lives.push(Life { process, bytes, stack, birth_us: op.us, freed_us: None });
        }
    }
    lives
}

/// Those that lived for long and are large, and of them those that were freed, by stack.
fn expected(answer: &Answer, lives: &[Life]) -> BTreeMap<String, [Amount; 2]> {
    let us = |ns: u64| (answer.begin_mono_ns + ns - crate::common::BEGIN_NS).div_ceil(1000);
    let mut expected = BTreeMap::<String, [Amount; 2]>::new();
    for life in lives.iter().filter(|life| life.bytes >= LARGE_BYTES) {
        let process = &answer.processes[life.process];
        let (begin_us, end_us) = (us(process.begin_ns), us(process.end_ns));
        let long_us = ((end_us - begin_us) * LONG_PERCENT / 100).max(1);
        if life.freed_us.unwrap_or(end_us) - life.birth_us < long_us {
            continue;
        }
        let one = Amount { blocks: 1, bytes: life.bytes };
        let [all, freed] = expected.entry(life.stack.clone()).or_default();
        all.add(&one);
        freed.add(&if life.freed_us.is_some() { one } else { Amount::default() });
    }
    expected
}

fn compare(program: &[Byte], processes: usize, pace: u64) {
    let mut ops = operations(program, &vec![(usize::MAX, 1); processes], 1, pace);
    for op in &mut ops {
        if let Act::Alloc { size, .. } | Act::Realloc { size, .. } | Act::UnknownRealloc { size, .. } =
            &mut op.act
        {
            *size *= 6;
        }
    }
    let mut recorded = Recorded::default();
    (0..processes).for_each(|process| recorded.process(facts(process as u32, Ended::Exited)));
    recorded.do_all(&ops);
    let answer = analyze(&recorded, &Options::default());
    let expected = expected(&answer, &lives(&ops));
    let stacks = answer.stacks.iter().filter(|stack| stack.patterns.long_lived.blocks > 0);
    let found = stacks.map(|stack| {
        (recorded.path(&answer, stack.node), [stack.patterns.long_lived, stack.patterns.long_lived_freed])
    });
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
    let whole = long_lived(&answer, &Owners::default()).unwrap();
    let sum = |n: usize| expected.values().map(|of| of[n].bytes).sum::<u64>();
    assert_eq!((whole.all.bytes, whole.freed.bytes), (sum(0), sum(1)));
    for (number, process) in answer.processes.iter().enumerate() {
        // What is freed late is a part of what lived for long.
        for late in &process.freed_late {
            let stack = answer.stacks.iter().find(|stack| stack.node == late.node).unwrap();
            assert!(late.held.blocks <= stack.patterns.long_lived_freed.blocks, "{number} {late:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn large_and_long_is_what_a_list_of_all_blocks_says(
        program in prop::collection::vec(any::<Byte>(), 0..120),
        processes in 1usize..3,
        pace in prop::sample::select(vec![16u64, 400]),
    ) {
        compare(&program, processes, pace);
    }
}
