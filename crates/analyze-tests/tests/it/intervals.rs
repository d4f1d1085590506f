//! What the heap did between marks, against a count of every operation by itself.

use crate::common::{Act, BEGIN_NS, Op, Recorded, facts};
use heapscribe_analyze::answer::Ended;
use heapscribe_analyze::intervals::{Interval, Intervals, cut};
use heapscribe_analyze::selection::Split;
use heapscribe_wire::record::Call;
use proptest::prelude::*;

/// Allocations and frees at microseconds, by two threads of each of two processes.
fn recorded(ops: &[(usize, u32, u64, u64, bool)]) -> Recorded {
    let mut recorded = Recorded::default();
    recorded.process(facts(1, Ended::Exited));
    recorded.process(facts(2, Ended::Exited));
    for (n, &(process, thread, us, size, frees)) in ops.iter().enumerate() {
        let block = n.to_string();
        let op = |act| Op { process, thread, us, act };
        let came = Act::Alloc { block: block.clone(), call: Call::Malloc, size, stack: "main".to_owned() };
        recorded.do_all(&[op(came)]);
        if frees {
            // The time of a thread goes on.
            let act = Act::Free { block, call: Call::Free };
            recorded.do_all(&[Op { process, thread, us: us + 1, act }]);
        }
    }
    recorded
}

/// The same by looking at each operation.
fn counted(ops: &[(usize, u32, u64, u64, bool)], marks_us: &[u64], wanted: usize) -> Intervals {
    let mut cut = Intervals { intervals: vec![Interval::default(); marks_us.len()], ..Intervals::default() };
    for &(process, _, us, size, frees) in ops {
        if process != wanted {
            continue;
        }
        let (ended, ended_bytes) = if frees { (1, size) } else { (0, 0) };
        let mut add = |us, what| match marks_us.iter().filter(|mark| **mark <= us).count() {
            0 => cut.before.add(&what),
            n => cut.intervals[n - 1].add(&what),
        };
        add(
            us,
            Interval { allocations: 1, allocated_bytes: size, ended, ended_bytes, ..Interval::default() },
        );
        if frees {
            add(us + 1, Interval { frees: 1, freed_bytes: size, ..Interval::default() });
        }
    }
    cut
}

fn check(ops: &[(usize, u32, u64, u64, bool)], marks_us: &[u64]) {
    let recorded = recorded(ops);
    let marks_ns: Vec<u64> = marks_us.iter().map(|us| BEGIN_NS + us * 1000).collect();
    for wanted in 0..2 {
        let found = cut(&Split::new(&recorded).only(&[wanted]), &marks_ns);
        assert_eq!(found, counted(ops, marks_us, wanted), "process {wanted}");
    }
}

#[test]
fn an_event_belongs_to_the_last_mark_before_it() {
    let ops = [(0, 1, 5, 10, false), (0, 1, 10, 20, true), (0, 2, 11, 40, false), (0, 1, 30, 80, false)];
    check(&ops, &[10, 20]);
    check(&ops, &[]);
    check(&ops, &[0]);
    check(&ops, &[100]);
    // Of two marks of one moment the last has it.
    check(&ops, &[10, 10, 30, 30]);
}

proptest! {
    #[test]
    fn every_event_is_counted_once(
        steps in prop::collection::vec((0usize..2, 1u32..3, 0u64..9, 1u64..1000, any::<bool>()), 0..60),
        mut marks_us in prop::collection::vec(0u64..300, 0..40),
    ) {
        let mut now = 0;
        let ops: Vec<_> = steps
            .into_iter()
            .map(|(process, thread, step, size, frees)| {
                now += step + 2;
                (process, thread, now, size, frees)
            })
            .collect();
        marks_us.sort_unstable();
        check(&ops, &marks_us);
    }
}
