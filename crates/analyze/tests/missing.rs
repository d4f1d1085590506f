//! Random histories of which a part is missing: what a ring evicted, what a recorder lost. A figure is the
//! truth, or bounds say where the truth lies.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::missing::TABLE_AFTER_US;
use common::{Act, BEGIN_NS, Op, Recorded, facts};
use heapscribe_analyze::answer::{Amount, Answer, Bounds, Ended, Peak};
use heapscribe_analyze::{Options, analyze};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::record::Call;
use proptest::prelude::*;

const STACKS: [&str; 5] = ["main>f", "main>g", "main>f>g", "start>f", "?"];

/// Process, thread, wait, choice.
type Byte = (u8, u8, u8, u8);

/// Blocks and bytes by stack.
type Held = BTreeMap<String, (i64, i64)>;

/// What happened, whether it was recorded or not.
#[derive(Default)]
struct Truth {
    /// us, process, stack, blocks, bytes.
    changes: Vec<(u64, usize, String, i64, i64)>,
    live: BTreeMap<(usize, String), (u64, String, u64)>,
}

impl Truth {
    fn op(&mut self, op: &Op) {
        match &op.act {
            Act::Alloc { block, size, stack, .. } => {
                self.live.insert((op.process, block.clone()), (op.us, stack.clone(), *size));
                self.changes.push((op.us, op.process, stack.clone(), 1, *size as i64));
            }
            Act::Free { block, .. } => {
                let (_, stack, size) = self.live.remove(&(op.process, block.clone())).unwrap();
                self.changes.push((op.us, op.process, stack, -1, -(size as i64)));
            }
            _ => {}
        }
    }

    fn of(&self, process: Option<usize>) -> impl Iterator<Item = &(u64, usize, String, i64, i64)> {
        self.changes.iter().filter(move |change| process.is_none_or(|process| process == change.1))
    }

    /// Who held what after the events of an instant.
    fn held(&self, process: Option<usize>, us: u64) -> Held {
        let mut held = Held::new();
        for (_, _, stack, blocks, bytes) in self.of(process).filter(|change| change.0 <= us) {
            let of_stack = held.entry(stack.clone()).or_default();
            *of_stack = (of_stack.0 + blocks, of_stack.1 + bytes);
        }
        held.retain(|_, of_stack| *of_stack != (0, 0));
        held
    }

    /// The highest level from an instant on.
    fn highest(&self, process: Option<usize>, from_us: u64) -> u64 {
        let later = self.of(process).map(|change| change.0).filter(|us| *us > from_us);
        let moments: BTreeSet<u64> = later.chain([from_us]).collect();
        let level = |us: u64| self.of(process).filter(|c| c.0 <= us).map(|c| c.4).sum::<i64>();
        moments.into_iter().map(level).max().unwrap_or(0).max(0) as u64
    }
}

/// What a program does: a process, a thread and a time each, blocks of one process freed by any thread.
fn operations(program: &[Byte], processes: u8, threads: u8) -> (Vec<Op>, Truth) {
    let (mut now, mut ops, mut truth) = (2000, Vec::new(), Truth::default());
    let mut last = BTreeMap::new();
    for (serial, &(what, who, wait, choice)) in program.iter().enumerate() {
        let (process, thread) = (usize::from(what % processes), u32::from(who / processes % threads) + 1);
        now += u64::from(wait);
        let us = now.max(last.get(&(process, thread)).map_or(0, |us| us + 1));
        last.insert((process, thread), us);
        let mine: Vec<String> =
            truth.live.keys().filter(|(of, _)| *of == process).map(|(_, block)| block.clone()).collect();
        let pick = mine.get(usize::from(choice) % mine.len().max(1)).cloned();
        let act = match (what / 16 % 8, pick) {
            (0, _) => Act::Border,
            (1..=3, Some(block)) => Act::Free { block, call: Call::Free },
            _ => Act::Alloc {
                block: serial.to_string(),
                call: Call::Malloc,
                size: u64::from(choice).pow(2) / 3,
                stack: STACKS[usize::from(choice) % STACKS.len()].to_owned(),
            },
        };
        let op = Op { process, thread, us, act };
        truth.op(&op);
        ops.push(op);
    }
    (ops, truth)
}

fn recording(processes: u8) -> Recorded {
    let mut recorded = Recorded::default();
    (0..processes).for_each(|pid| recorded.process(facts(pid.into(), Ended::Unknown)));
    recorded
}

fn amount_of(held: &Held) -> Amount {
    let sum = held.values().fold((0, 0), |sum, held| (sum.0 + held.0, sum.1 + held.1));
    Amount { blocks: sum.0 as u64, bytes: sum.1 as u64 }
}

fn contains(bounds: &Bounds, truth: Amount) -> bool {
    bounds.blocks.contains(truth.blocks) && bounds.bytes.contains(truth.bytes)
}

/// The peak is the highest moment of the window, and who held what then is the truth.
fn check_peak(recorded: &Recorded, answer: &Answer, peak: &Peak, truth: &Truth, process: Option<usize>) {
    let from_us = recorded.window_us();
    assert_eq!(peak.bytes, truth.highest(process, from_us), "of {process:?} from {from_us} us on");
    if peak.bytes > 0 {
        let us = (answer.begin_mono_ns + peak.time_ns - BEGIN_NS) / 1000;
        let holder = |holder: &heapscribe_analyze::answer::Holder| {
            let held = (holder.held.blocks as i64, holder.held.bytes as i64);
            (recorded.path(answer, holder.node), held)
        };
        let held: Held = peak.stacks.iter().map(holder).collect();
        assert_eq!(held, truth.held(process, us), "of {process:?} at {us} us");
        assert_eq!(peak.blocks, amount_of(&held).blocks);
    }
}

fn check_ring(program: &[Byte], processes: u8, threads: u8, evict: usize, options: &Options) {
    let (ops, truth) = operations(program, processes, threads);
    let mut recorded = recording(processes);
    recorded.do_all(&ops);
    recorded.has_tables = true;
    recorded.evict(evict);
    let answer = analyze(&recorded, options);
    let end_us = ops.last().map_or(0, |_| ops.iter().map(|op| op.us).max().unwrap_or(0));
    let left = truth.held(None, end_us);
    assert_eq!(answer.leaked, amount_of(&left));
    assert_eq!(answer.problems, [""; 0]);
    let mut found = Held::new();
    for stack in answer.stacks.iter().filter(|stack| stack.leaked != Amount::default()) {
        let path = recorded.path(&answer, stack.node);
        let ages = truth.live.values().filter(|live| live.1 == path).map(|live| (end_us - live.0) * 1000);
        let oldest = ages.max().expect("a block of this stack is live");
        assert!(
            stack.leaked_age.is_some_and(|age| age.oldest_ns <= oldest + TABLE_AFTER_US * 1000),
            "{path}"
        );
        found.insert(path, (stack.leaked.blocks as i64, stack.leaked.bytes as i64));
    }
    assert_eq!(found, left);
    check_peak(&recorded, &answer, &answer.peak, &truth, None);
    let window_us = recorded.window_us();
    for (number, process) in answer.processes.iter().enumerate() {
        check_peak(&recorded, &answer, &process.peak, &truth, Some(number));
    }
    let highest = Amount { blocks: answer.peak.blocks, bytes: truth.highest(None, 0) };
    match &answer.bounds {
        None => assert_eq!(window_us, 0),
        Some(bounds) => {
            assert!(contains(&bounds.peak, highest) && bounds.peak.bytes.high.is_none(), "{bounds:?}");
            assert_eq!(bounds.leaked, Bounds::exact(answer.leaked));
        }
    }
    let steps = &answer.timeline.steps;
    assert_eq!(steps.iter().map(|step| step.heap_max_bytes).max().unwrap_or(0), answer.peak.bytes);
    assert_eq!(steps.last().map_or(0, |step| step.heap_end_bytes), answer.leaked.bytes);
}

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

fn programs() -> impl Strategy<Value = Vec<Byte>> {
    prop::collection::vec(any::<Byte>(), 0..300)
}

fn options() -> impl Strategy<Value = Options> {
    (1u32..20, prop::sample::select(vec![0u64, 3, 1 << 20]))
        .prop_map(|(timeline_steps, ordered_events_max)| Options { timeline_steps, ordered_events_max })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_ring_has_left_is_the_truth_of_its_window(
        program in programs(), processes in 1u8..4, threads in 1u8..5, evict in 0usize..60, options in options(),
    ) {
        check_ring(&program, processes, threads, evict, &options);
    }

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
