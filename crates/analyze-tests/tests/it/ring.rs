//! Random rings over random histories of several processes and threads, of which some processes are evicted
//! completely. A figure is the truth, or bounds say where the truth lies, and shares add up to what they are of.

use std::collections::BTreeSet;

use crate::common::history::{Byte, Held, Truth, amount_of, operations, options, programs, recording};
use crate::common::missing::TABLE_AFTER_US;
use crate::common::{Act, BEGIN_NS, BEGIN_TICKS, Op, Recorded};
use crate::erased::analyze;
use heapscribe_analyze::Options;
use heapscribe_analyze::answer::{Amount, Answer, Bounds, Ended, Frame, Holder, NodeId, Peak};
use heapscribe_formats::model::UNKNOWN;
use heapscribe_formats::{EndedImages, Evicted, OwnPeak};
use proptest::prelude::*;

/// What a ring is like.
#[derive(Clone, Copy, Debug)]
struct Ring {
    processes: u8,
    threads: u8,
    /// Chunks that are evicted.
    evict: usize,
    /// Whether the last one is evicted first.
    is_late: bool,
    /// Whether it has tables of what is live at the end.
    has_tables: bool,
    /// Whether it says how much processes held at most.
    knows_peaks: bool,
    /// Processes that end after their own last event, by bits; the others are not seen to end.
    ended: u8,
    /// Processes that are evicted completely when nothing else of them is there, by bits.
    whole: u8,
}

/// A ring, what happened, and the number of each of its processes in that.
struct Case {
    recorded: Recorded,
    truth: Truth,
    ops: Vec<Op>,
    left: Vec<usize>,
    /// When each process ended.
    ends_us: Vec<u64>,
    end_us: u64,
}

fn allocated(truth: &Truth, process: Option<usize>) -> Amount {
    let allocs = truth.of(process).filter(|change| change.3 > 0);
    allocs.fold(Amount::default(), |sum, change| Amount {
        blocks: sum.blocks + 1,
        bytes: sum.bytes + change.4 as u64,
    })
}

/// What is known of a process that is evicted completely, and when it ended.
fn figures(number: usize, evicted: &Evicted, truth: &mut Truth, ring: &Ring) -> (EndedImages, u64) {
    let last_us = truth.of(Some(number)).map(|change| change.0).max().unwrap_or(0);
    let end_us = last_us.max((evicted.until_mono_ns - BEGIN_NS) / 1000) + 1;
    let leaked = amount_of(&truth.held(Some(number), end_us));
    let peak = truth.highest(Some(number), 0);
    truth.end(number, end_us);
    let ended = EndedImages {
        images: 1,
        first_mono_ns: BEGIN_NS,
        leaked_blocks_min: leaked.blocks,
        leaked_blocks_max: leaked.blocks,
        leaked_bytes_min: leaked.bytes,
        leaked_bytes_max: leaked.bytes,
        one_peak_bytes: if ring.knows_peaks { peak } else { 0 },
        peaks_bytes: if ring.knows_peaks { peak } else { UNKNOWN },
        ..EndedImages::default()
    };
    (ended, end_us)
}

fn case(program: &[Byte], ring: &Ring) -> Case {
    let (ops, mut truth) = operations(program, ring.processes, ring.threads);
    let mut recorded = recording(ring.processes);
    recorded.do_all(&ops);
    recorded.has_tables = ring.has_tables;
    recorded.evict(ring.evict, ring.is_late);
    let end_us = ops.iter().map(|op| op.us).max().unwrap_or(0);
    for number in 0..usize::from(ring.processes) {
        let bytes = truth.highest(Some(number), 0);
        let ticks = BEGIN_TICKS + truth.first_at(number, bytes);
        let facts = recorded.facts_mut(number);
        facts.peak = ring.knows_peaks.then_some(OwnPeak { bytes, ticks });
        facts.end_mono_ns = BEGIN_NS + end_us * 1000;
    }
    let is_picked = |number: usize| ring.whole >> number & 1 != 0;
    let left =
        recorded.evict_processes(is_picked, |number, evicted| figures(number, evicted, &mut truth, ring));
    let mut ends_us = vec![end_us; usize::from(ring.processes)];
    for (index, &number) in left.iter().enumerate().filter(|(_, number)| ring.ended >> **number & 1 != 0) {
        ends_us[number] = truth.of(Some(number)).map(|change| change.0).max().unwrap_or(0) + 1;
        truth.end(number, ends_us[number]);
        let facts = recorded.facts_mut(index);
        (facts.ended, facts.end_mono_ns) = (Ended::Exited, BEGIN_NS + ends_us[number] * 1000);
    }
    Case { recorded, truth, ops, left, ends_us, end_us }
}

fn is_evicted(answer: &Answer, node: NodeId) -> bool {
    answer.tree.nodes[node.0 as usize].frame == Frame::EVICTED
}

/// Who holds what, and what of it is of evicted events.
fn held(recorded: &Recorded, answer: &Answer, holders: &[Holder]) -> (Held, Amount) {
    let (mut held, mut evicted) = (Held::new(), Amount::default());
    for holder in holders {
        match is_evicted(answer, holder.node) {
            true => evicted = holder.held,
            false => {
                let amount = (holder.held.blocks as i64, holder.held.bytes as i64);
                held.insert(recorded.path(answer, holder.node), amount);
            }
        }
    }
    (held, evicted)
}

/// What both hold.
fn added(mut sum: Held, other: Held) -> Held {
    for (stack, (blocks, bytes)) in other {
        let of_stack = sum.entry(stack).or_default();
        *of_stack = (of_stack.0 + blocks, of_stack.1 + bytes);
    }
    sum
}

impl Case {
    /// What processes held that are in the ring, all of them or one.
    fn held(&self, process: Option<usize>, us: u64) -> Held {
        let of_one = |number: &usize| self.truth.held(Some(*number), us);
        let numbers = process.map_or(self.left.clone(), |process| vec![process]);
        numbers.iter().map(of_one).fold(Held::new(), added)
    }

    /// The peak is the highest moment of the window, and who held what then is the truth; without a table what of
    /// it was allocated by evicted events is one share.
    fn check_peak(&self, answer: &Answer, peak: &Peak, process: Option<usize>, has_tables: bool) {
        let from_us = self.recorded.window_us();
        assert_eq!(peak.bytes, self.truth.highest(process, from_us), "of {process:?} from {from_us} us on");
        let us = (answer.begin_mono_ns + peak.time_ns - BEGIN_NS) / 1000;
        let (held, evicted) = held(&self.recorded, answer, &peak.stacks);
        let (whole, mut sum) = (self.held(process, us), amount_of(&held));
        sum.add(&evicted);
        assert_eq!((peak.blocks, peak.bytes), (sum.blocks, sum.bytes), "shares of {process:?}");
        assert_eq!((peak.blocks, peak.bytes), (amount_of(&whole).blocks, amount_of(&whole).bytes));
        if has_tables {
            assert_eq!(held, whole, "of {process:?} at {us} us");
        }
    }

    /// What was never freed: by process, by stack, and the rest.
    fn check_leaks(&self, answer: &Answer, has_tables: bool) {
        let all = |number| amount_of(&self.truth_of_leaks(Some(number)));
        assert_eq!(answer.leaked, amount_of(&self.truth_of_leaks(None)));
        let mut sum = answer.leaked_by_evicted;
        for (process, number) in answer.processes.iter().zip(&self.left) {
            assert_eq!(process.leaked, all(*number), "of {number}");
            let of_stacks = process.leaked_stacks.iter().fold(Amount::default(), |mut sum, holder| {
                sum.add(&holder.held);
                sum
            });
            assert_eq!(of_stacks, process.leaked);
            sum.add(&process.leaked);
        }
        assert_eq!(sum, answer.leaked);
        let stacks = answer.stacks.iter().filter(|stack| stack.leaked != Amount::default());
        let holders: Vec<_> = stacks.map(|stack| Holder { node: stack.node, held: stack.leaked }).collect();
        let (by_stack, of_evicted) = held(&self.recorded, answer, &holders);
        let mut shares = amount_of(&by_stack);
        shares.add(&of_evicted);
        assert_eq!(shares, answer.leaked);
        if has_tables {
            assert_eq!(
                by_stack,
                self.left.iter().map(|number| self.truth_of_leaks(Some(*number))).fold(Held::new(), added)
            );
            assert_eq!(of_evicted, answer.leaked_by_evicted);
        }
    }

    fn truth_of_leaks(&self, process: Option<usize>) -> Held {
        let mut held = Held::new();
        for ((_, _), (_, stack, size)) in
            self.truth.live.iter().filter(|((of, _), _)| process.is_none_or(|process| process == *of))
        {
            let of_stack = held.entry(stack.clone()).or_default();
            *of_stack = (of_stack.0 + 1, of_stack.1 + *size as i64);
        }
        held
    }

    /// How old leaks are: when their process ended, not when its table was read.
    fn check_ages(&self, answer: &Answer) {
        for stack in answer.stacks.iter().filter(|stack| stack.leaked_age.is_some()) {
            let path = self.recorded.path(answer, stack.node);
            let live = self.truth.live.iter();
            let of_stack = live.filter(|((of, _), live)| self.left.contains(of) && live.1 == path);
            let ages: BTreeSet<u64> =
                of_stack.map(|((of, _), live)| (self.ends_us[*of] - live.0) * 1000).collect();
            let (youngest, oldest) = (ages.first().copied(), ages.last().copied());
            let found = stack.leaked_age.unwrap();
            assert_eq!((Some(found.youngest_ns), Some(found.oldest_ns)), (youngest, oldest), "{path}");
        }
    }

    /// Figures of the whole run are exact or lie in bounds.
    fn check_bounds(&self, answer: &Answer, knows_peaks: bool) {
        let highest = self.truth.highest(None, 0);
        let Some(bounds) = &answer.bounds else {
            assert_eq!((self.recorded.window_us(), answer.peak.bytes), (0, highest));
            return;
        };
        assert!(bounds.peak.bytes.contains(highest), "{highest}: {bounds:?}");
        assert_eq!(bounds.peak.bytes.high.is_some(), knows_peaks);
        assert_eq!(bounds.leaked, Bounds::exact(answer.leaked));
        assert_eq!(bounds.allocated, Bounds::exact(allocated(&self.truth, None)));
        if let Some(whole) = answer.whole_peak {
            assert_eq!(whole.bytes, highest);
        }
        for (process, number) in answer.processes.iter().zip(&self.left) {
            let bounds = process.bounds.clone().expect("each began before the window");
            let highest = self.truth.highest(Some(*number), 0);
            assert!(bounds.peak.bytes.contains(highest), "{highest}: {bounds:?}");
            assert_eq!(bounds.peak.bytes.is_exact(), knows_peaks);
            assert_eq!(bounds.allocated, Bounds::exact(allocated(&self.truth, Some(*number))));
            if let Some(whole) = process.whole_peak {
                let us = (answer.begin_mono_ns + whole.time_ns - BEGIN_NS) / 1000;
                assert_eq!((whole.bytes, us), (highest, self.truth.first_at(*number, highest)));
            }
        }
    }

    /// Rates are of the window: what threads did before it is in no rate.
    fn check_window(&self, answer: &Answer) {
        let Some(window) = answer.window else { return };
        let from_us = self.recorded.window_us();
        let in_window = |op: &&Op| op.us > from_us && self.left.contains(&op.process);
        let ops: Vec<_> = self.ops.iter().filter(in_window).collect();
        let calls = ops.iter().filter(|op| matches!(op.act, Act::Alloc { .. } | Act::Free { .. })).count();
        let sizes = ops.iter().filter_map(|op| match op.act {
            Act::Alloc { size, .. } => Some(size),
            _ => None,
        });
        assert_eq!(window.calls, calls as u64);
        assert_eq!((window.allocations, window.allocated_bytes), (sizes.clone().count() as u64, sizes.sum()));
        assert_eq!(window.length_ns, answer.duration_ns - (from_us * 1000 + 1).min(answer.duration_ns));
    }
}

fn check(program: &[Byte], ring: &Ring, options: &Options) {
    let case = case(program, ring);
    let answer = analyze(&case.recorded, options);
    assert_eq!(answer.problems, [""; 0]);
    case.check_leaks(&answer, ring.has_tables);
    case.check_ages(&answer);
    case.check_bounds(&answer, ring.knows_peaks);
    case.check_window(&answer);
    case.check_peak(&answer, &answer.peak, None, ring.has_tables);
    for (number, process) in case.left.iter().zip(&answer.processes) {
        case.check_peak(&answer, &process.peak, Some(*number), ring.has_tables);
    }
    let steps = &answer.timeline.steps;
    assert_eq!(steps.iter().map(|step| step.heap_max_bytes).max().unwrap_or(0), answer.peak.bytes);
    let live_at_end = amount_of(&case.held(None, case.end_us + TABLE_AFTER_US)).bytes;
    assert_eq!(steps.last().map_or(0, |step| step.heap_end_bytes), live_at_end);
}

fn rings() -> impl Strategy<Value = Ring> {
    (1u8..5, 1u8..5, 0usize..60, any::<[bool; 3]>(), any::<[u8; 2]>()).prop_map(
        |(processes, threads, evict, [is_late, has_tables, knows_peaks], [ended, whole])| Ring {
            processes,
            threads,
            evict,
            is_late,
            has_tables,
            knows_peaks,
            ended,
            whole,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn figures_of_a_ring_are_the_truth_or_bounds_of_it(
        program in programs(), ring in rings(), options in options(),
    ) {
        check(&program, &ring, &options);
    }
}
