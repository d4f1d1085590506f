//! Random histories of which a recorder lost a part. A figure is the truth, or bounds say where the truth lies.

use std::collections::BTreeSet;

use crate::common::history::{Byte, Truth, amount_of, contains, operations, options, programs, recording};
use crate::common::{Act, Op, Recorded};
use crate::erased::analyze;
use heapscribe_analyze::Options;
use heapscribe_analyze::answer::{Amount, Answer};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::record::Call;
use proptest::prelude::*;

/// The way of an operation that is lost, by a byte.
fn lossy(ops: &[Op], losses: &[u8], recorded: &mut Recorded) {
    let mut untracked = BTreeSet::new();
    for (op, loss) in ops.iter().zip(losses.iter().chain(std::iter::repeat(&255))) {
        let act = |act| Op { act, ..op.clone() };
        let done = match (&op.act, loss % 8) {
            (Act::Alloc { block, .. }, reason @ (0 | 1)) => {
                let reasons = [LossReason::LogFull, LossReason::Reentered];
                recorded.count_loss(op.process, reasons[usize::from(reason)]);
                untracked.insert((op.process, block.clone()));
                vec![]
            }
            (Act::Alloc { block, .. }, 2 | 3) => {
                recorded.count_loss(op.process, LossReason::LiveTable);
                untracked.insert((op.process, block.clone()));
                vec![op.clone(), act(Act::Untracked { block: block.clone() })]
            }
            (Act::Free { block, call }, _) if untracked.contains(&(op.process, block.clone())) => {
                vec![act(if call.is_pool() { Act::UnknownPoolFree } else { Act::UnknownFree })]
            }
            (Act::Free { block, .. }, 0) => {
                recorded.count_loss(op.process, LossReason::LogFull);
                vec![act(Act::Untracked { block: block.clone() })]
            }
            (Act::Free { .. }, 1) => {
                recorded.count_loss(op.process, LossReason::Reentered);
                vec![]
            }
            _ => vec![op.clone()],
        };
        recorded.do_all(&done);
    }
}

/// `reasons` says which losses there are: 8 none, 4 all, 2 only of slots.
fn check_losses(program: &[Byte], processes: u8, losses: &[u8], has_tables: bool, options: &Options) {
    let (ops, truth) = operations(program, processes, 3);
    let (recorded, answer) = lossily(&ops, processes, losses, has_tables, options);
    let end_us = ops.iter().map(|op| op.us).max().unwrap_or(0);
    let leaked = amount_of(&truth.held(None, end_us));
    let highest = truth.highest(None, 0);
    let Some(bounds) = &answer.bounds else {
        assert_eq!((answer.leaked, answer.peak.bytes), (leaked, highest), "exact without a word");
        return;
    };
    assert!(contains(&bounds.leaked, leaked), "{leaked:?} is not in {:?}", bounds.leaked);
    assert!(bounds.peak.bytes.contains(highest), "{highest} is not in {:?}", bounds.peak);
    let allocated = truth.changes.iter().filter(|change| change.3 > 0);
    let allocated = allocated.fold(Amount::default(), |sum, change| Amount {
        blocks: sum.blocks + 1,
        bytes: sum.bytes + change.4 as u64,
    });
    assert!(contains(&bounds.allocated, allocated), "{allocated:?} is not in {:?}", bounds.allocated);
    let at_end = truth.held(None, end_us);
    for (stack, of_stack) in answer.stacks.iter().zip(&bounds.stacks) {
        let path = recorded.path(&answer, stack.node);
        let (blocks, bytes) = at_end.get(&path).copied().unwrap_or_default();
        let left = Amount { blocks: blocks as u64, bytes: bytes as u64 };
        assert!(contains(&of_stack.leaked, left), "{path}: {left:?} is not in {:?}", of_stack.leaked);
    }
    for (number, process) in answer.processes.iter().enumerate() {
        let bounds = process.bounds.clone().unwrap_or_default();
        if process.bounds.is_some() {
            assert!(contains(&bounds.leaked, amount_of(&truth.held(Some(number), end_us))));
            assert!(bounds.peak.bytes.contains(truth.highest(Some(number), 0)));
        }
    }
}

/// A recording of these operations with these losses, and its answer.
fn lossily(
    ops: &[Op],
    processes: u8,
    losses: &[u8],
    has_tables: bool,
    options: &Options,
) -> (Recorded, Answer) {
    let mut recorded = recording(processes);
    lossy(ops, losses, &mut recorded);
    recorded.has_tables = has_tables;
    let answer = analyze(&recorded, options);
    (recorded, answer)
}

/// The same operations, those of blocks that are picked with the calls of a program's own pools.
fn with_pools(ops: &[Op], is_picked: impl Fn(u64) -> bool) -> Vec<Op> {
    let is_pool = |block: &str| is_picked(block.parse().unwrap());
    let mut ops = ops.to_vec();
    for op in &mut ops {
        match &mut op.act {
            Act::Alloc { block, call, .. } if is_pool(block) => *call = Call::PoolAlloc,
            Act::Free { block, call } if is_pool(block) => *call = Call::PoolFree,
            _ => {}
        }
    }
    ops
}

/// Every other block is one of a pool.
fn check_pools(program: &[Byte], processes: u8, losses: &[u8], has_tables: bool, options: &Options) {
    let ops = with_pools(&operations(program, processes, 3).0, |block| block % 2 == 1);
    let (recorded, answer) = lossily(&ops, processes, losses, has_tables, options);
    let of_pools =
        |op: &&Op| matches!(&op.act, Act::Alloc { call, .. } | Act::Free { call, .. } if call.is_pool());
    let truth = Truth::of_all(ops.iter().filter(of_pools));
    let end_us = ops.iter().map(|op| op.us).max().unwrap_or(0);
    let at_end = truth.held(None, end_us);
    let leaked = amount_of(&at_end);
    let highest = (0..usize::from(processes)).map(|process| truth.highest(Some(process), 0)).max().unwrap();
    let pools = &answer.pools;
    let Some(bounds) = &pools.bounds else {
        assert_eq!((pools.leaked, pools.peak_bytes), (leaked, highest), "exact without a word");
        return;
    };
    assert!(contains(&bounds.leaked, leaked), "{leaked:?} is not in {:?}", bounds.leaked);
    assert!(bounds.peak_bytes.contains(highest), "{highest} is not in {:?}", bounds.peak_bytes);
    let allocated = truth
        .changes
        .iter()
        .filter(|change| change.3 > 0)
        .fold((0, 0), |sum, change| (sum.0 + 1, sum.1 + change.4 as u64));
    let allocated = Amount { blocks: allocated.0, bytes: allocated.1 };
    assert!(contains(&bounds.allocated, allocated), "{allocated:?} is not in {:?}", bounds.allocated);
    for stack in &pools.stacks {
        let path = recorded.path(&answer, stack.node);
        let (blocks, bytes) = at_end.get(&path).copied().unwrap_or_default();
        let left = Amount { blocks: blocks as u64, bytes: bytes as u64 };
        let holds = stack.leaked_bounds.is_none_or(|bounds| contains(&bounds, left));
        assert!(holds, "{path}: {left:?} is not in {:?}", stack.leaked_bounds);
    }
}

/// What is true of a heap is true of pools: where all blocks are of pools, bounds are the same.
fn check_twin(program: &[Byte], losses: &[u8], has_tables: bool, options: &Options) {
    let ops = operations(program, 1, 3).0;
    let (_, of_heap) = lossily(&ops, 1, losses, has_tables, options);
    let (_, of_pools) = lossily(&with_pools(&ops, |_| true), 1, losses, has_tables, options);
    let (heap, pools) = (&of_heap, &of_pools.pools);
    assert_eq!((heap.leaked, heap.peak.bytes), (pools.leaked, pools.peak_bytes));
    let of_heap = heap.bounds.as_ref().map(|of| (of.allocated, of.freed, of.peak.bytes, of.leaked));
    let of_heap = of_heap.filter(|(allocated, freed, peak, leaked)| {
        !([allocated, freed, leaked].iter().all(|of| of.is_exact()) && peak.is_exact())
    });
    let of_pools = pools.bounds.map(|of| (of.allocated, of.freed, of.peak_bytes, of.leaked));
    assert_eq!(of_pools, of_heap);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds_contain_what_happened(
        program in programs(), processes in 1u8..3, has_tables: bool, options in options(),
        losses in prop::collection::vec(any::<u8>(), 0..300),
        is_of_slots: bool,
    ) {
        let losses: Vec<u8> =
            losses.iter().map(|loss| if is_of_slots { loss | 2 } else { *loss }).collect();
        check_losses(&program, processes, &losses, has_tables, &options);
    }

    #[test]
    fn bounds_of_pools_contain_what_happened(
        program in programs(), processes in 1u8..3, has_tables: bool, options in options(),
        losses in prop::collection::vec(any::<u8>(), 0..300),
        is_of_slots: bool,
    ) {
        let losses: Vec<u8> =
            losses.iter().map(|loss| if is_of_slots { loss | 2 } else { *loss }).collect();
        check_pools(&program, processes, &losses, has_tables, &options);
        check_twin(&program, &losses, has_tables, &options);
    }
}
