//! Random histories of several processes and threads, and what is true of them.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_analyze::Options;
use heapscribe_analyze::answer::{Amount, Bounds, Ended};
use heapscribe_wire::record::Call;
use proptest::prelude::*;

use super::{Act, Op, Recorded, facts};

const STACKS: [&str; 5] = ["main>f", "main>g", "main>f>g", "start>f", "?"];

/// Process, thread, wait, choice.
pub type Byte = (u8, u8, u8, u8);

/// Blocks and bytes by stack.
pub type Held = BTreeMap<String, (i64, i64)>;

/// What happened, whether it was recorded or not.
#[derive(Default)]
pub struct Truth {
    /// us, process, stack, blocks, bytes.
    pub changes: Vec<(u64, usize, String, i64, i64)>,
    pub live: BTreeMap<(usize, String), (u64, String, u64)>,
}

impl Truth {
    /// Of all that these do.
    pub fn of_all<'a>(ops: impl Iterator<Item = &'a Op>) -> Truth {
        let mut truth = Truth::default();
        ops.for_each(|op| truth.op(op));
        truth
    }

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

    pub fn of(&self, process: Option<usize>) -> impl Iterator<Item = &(u64, usize, String, i64, i64)> {
        self.changes.iter().filter(move |change| process.is_none_or(|process| process == change.1))
    }

    /// Who held what after the events of an instant.
    pub fn held(&self, process: Option<usize>, us: u64) -> Held {
        let mut held = Held::new();
        for (_, _, stack, blocks, bytes) in self.of(process).filter(|change| change.0 <= us) {
            let of_stack = held.entry(stack.clone()).or_default();
            *of_stack = (of_stack.0 + blocks, of_stack.1 + bytes);
        }
        held.retain(|_, of_stack| *of_stack != (0, 0));
        held
    }

    /// A process ends, and what is live in it with it.
    pub fn end(&mut self, process: usize, us: u64) {
        let live: Vec<_> = self.live.iter().filter(|((of, _), _)| *of == process).collect();
        let gone = live.iter().map(|(_, (_, stack, size))| (us, process, stack.clone(), -1, -(*size as i64)));
        let gone: Vec<_> = gone.collect();
        self.changes.extend(gone);
    }

    /// When a level was first reached, in us.
    pub fn first_at(&self, process: usize, bytes: u64) -> u64 {
        let mut moments: Vec<u64> = self.of(Some(process)).map(|change| change.0).collect();
        moments.sort_unstable();
        let level = |us: u64| self.of(Some(process)).filter(|c| c.0 <= us).map(|c| c.4).sum::<i64>();
        moments.into_iter().find(|us| level(*us) == bytes as i64).unwrap_or(0)
    }

    /// The highest level from an instant on.
    pub fn highest(&self, process: Option<usize>, from_us: u64) -> u64 {
        let later = self.of(process).map(|change| change.0).filter(|us| *us > from_us);
        let moments: BTreeSet<u64> = later.chain([from_us]).collect();
        let level = |us: u64| self.of(process).filter(|c| c.0 <= us).map(|c| c.4).sum::<i64>();
        moments.into_iter().map(level).max().unwrap_or(0).max(0) as u64
    }
}

/// What a program does: a process, a thread and a time each, blocks of one process freed by any thread.
pub fn operations(program: &[Byte], processes: u8, threads: u8) -> (Vec<Op>, Truth) {
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

pub fn recording(processes: u8) -> Recorded {
    let mut recorded = Recorded::default();
    (0..processes).for_each(|pid| recorded.process(facts(pid.into(), Ended::Unknown)));
    recorded
}

pub fn amount_of(held: &Held) -> Amount {
    let sum = held.values().fold((0, 0), |sum, held| (sum.0 + held.0, sum.1 + held.1));
    Amount { blocks: sum.0 as u64, bytes: sum.1 as u64 }
}

pub fn contains(bounds: &Bounds, truth: Amount) -> bool {
    bounds.blocks.contains(truth.blocks) && bounds.bytes.contains(truth.bytes)
}

pub fn programs() -> impl Strategy<Value = Vec<Byte>> {
    prop::collection::vec(any::<Byte>(), 0..300)
}

pub fn options() -> impl Strategy<Value = Options> {
    (1u32..20, prop::sample::select(vec![0u64, 3, 1 << 20])).prop_map(
        |(timeline_steps, ordered_events_max)| Options {
            timeline_steps,
            ordered_events_max,
            ..Options::default()
        },
    )
}
