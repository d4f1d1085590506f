//! Random histories of which a recorder lost a part. A figure is the truth, or bounds say where the truth lies.

use std::collections::BTreeSet;

use crate::common::history::{Byte, amount_of, contains, operations, options, programs, recording};
use crate::common::{Act, Op, Recorded};
use crate::erased::analyze;
use heapscribe_analyze::Options;
use heapscribe_analyze::answer::Amount;
use heapscribe_wire::head::LossReason;
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
            (Act::Free { block, .. }, _) if untracked.contains(&(op.process, block.clone())) => {
                vec![act(Act::UnknownFree)]
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
    let mut recorded = recording(processes);
    lossy(&ops, losses, &mut recorded);
    recorded.has_tables = has_tables;
    let answer = analyze(&recorded, options);
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
}
