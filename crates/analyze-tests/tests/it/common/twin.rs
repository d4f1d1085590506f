//! The slow twin: does what a reader would expect of the words in `answer`, with a map of live blocks and
//! all events in order of time. The analysis has to say the same.

use std::collections::{BTreeMap, HashMap};

use super::{Act, Op};

/// Bytes and blocks by stack.
pub type Held = BTreeMap<String, (i64, i64)>;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Highest {
    pub bytes: i64,
    pub ns: u64,
    pub held: Held,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct OfStack {
    pub allocated: (u64, u64),
    pub freed: (u64, u64),
    pub temporary: (u64, u64),
    pub leaked: (u64, u64),
    pub by_others: u64,
    pub ages_us: Vec<u64>,
    pub sizes: Vec<u64>,
}

struct Change {
    ns: u64,
    process: usize,
    stack: String,
    bytes: i64,
    blocks: i64,
}

struct Live {
    serial: usize,
    thread: u32,
    us: u64,
    size: u64,
    stack: String,
}

#[derive(Default)]
pub struct Twin {
    live: HashMap<(usize, String), Live>,
    last: HashMap<(usize, u32), usize>,
    changes: Vec<Change>,
    pub stacks: BTreeMap<String, OfStack>,
    serial: usize,
}

impl Twin {
    /// `ends_ns` has a process's end, where it has one: what is live in it goes then.
    pub fn of(ops: &[Op], ends_ns: &[Option<u64>]) -> Twin {
        let mut twin = Twin::default();
        ops.iter().for_each(|op| twin.op(op));
        for ((process, _), live) in &twin.live {
            let Some(ns) = ends_ns[*process] else { continue };
            let (stack, bytes) = (live.stack.clone(), -(live.size as i64));
            twin.changes.push(Change { ns, process: *process, stack, bytes, blocks: -1 });
        }
        let left: Vec<_> = twin.live.values().map(|live| (live.stack.clone(), live.size)).collect();
        for (stack, size) in left {
            add(&mut twin.stacks.entry(stack).or_default().leaked, size);
        }
        twin
    }

    fn op(&mut self, op: &Op) {
        match &op.act {
            Act::Alloc { block, size, stack, .. } | Act::UnknownRealloc { block, size, stack } => {
                self.came(op, block, *size, stack);
            }
            Act::Free { block, .. } => self.went(op, block),
            Act::Realloc { block, size, stack } => {
                self.went(op, block);
                self.came(op, block, *size, stack);
            }
            _ => {}
        }
    }

    fn came(&mut self, op: &Op, block: &str, size: u64, stack: &str) {
        self.serial += 1;
        let live = Live { serial: self.serial, thread: op.thread, us: op.us, size, stack: stack.to_owned() };
        self.live.insert((op.process, block.to_owned()), live);
        self.last.insert((op.process, op.thread), self.serial);
        let of_stack = self.stacks.entry(stack.to_owned()).or_default();
        add(&mut of_stack.allocated, size);
        of_stack.sizes.push(size);
        self.change(op, stack, size as i64, 1);
    }

    fn went(&mut self, op: &Op, block: &str) {
        let live = self.live.remove(&(op.process, block.to_owned())).unwrap();
        let of_stack = self.stacks.entry(live.stack.clone()).or_default();
        add(&mut of_stack.freed, live.size);
        of_stack.ages_us.push(op.us.saturating_sub(live.us));
        of_stack.by_others += u64::from(live.thread != op.thread);
        if live.thread == op.thread && self.last.get(&(op.process, op.thread)) == Some(&live.serial) {
            add(&mut of_stack.temporary, live.size);
        }
        self.change(op, &live.stack, -(live.size as i64), -1);
    }

    fn change(&mut self, op: &Op, stack: &str, bytes: i64, blocks: i64) {
        self.changes.push(Change {
            ns: op.us * 1000,
            process: op.process,
            stack: stack.to_owned(),
            bytes,
            blocks,
        });
    }

    /// The highest moment of one process or of all.
    pub fn highest(&mut self, process: Option<usize>) -> Highest {
        self.changes.sort_by_key(|change| change.ns);
        let mine = |change: &&Change| process.is_none_or(|process| process == change.process);
        let mine: Vec<&Change> = self.changes.iter().filter(mine).collect();
        let (mut bytes, mut highest) = (0, Highest::default());
        for instant in mine.chunk_by(|a, b| a.ns == b.ns) {
            bytes += instant.iter().map(|change| change.bytes).sum::<i64>();
            if bytes > highest.bytes {
                highest = Highest { bytes, ns: instant[0].ns, held: Held::new() };
            }
        }
        if highest.bytes > 0 {
            highest.held = held(mine.into_iter().filter(|change| change.ns <= highest.ns));
        }
        highest
    }

    /// Who held what of a process at a moment.
    pub fn held(&self, process: usize, ns: u64) -> Held {
        held(self.changes.iter().filter(|change| change.process == process && change.ns <= ns))
    }

    /// What is live when all is over: in processes without an end.
    pub fn live_at_end(&self) -> u64 {
        self.changes.iter().map(|change| change.bytes).sum::<i64>() as u64
    }

    /// What came at or before 0 bytes is of no interest, so a peak of nothing has no holders; else all
    /// that is not zero, and nothing below it.
    pub fn allocations(&self) -> (u64, u64) {
        let sum = |s: (u64, u64), o: &OfStack| (s.0 + o.allocated.0, s.1 + o.allocated.1);
        self.stacks.values().fold((0, 0), sum)
    }
}

fn held<'a>(changes: impl Iterator<Item = &'a Change>) -> Held {
    let mut held = Held::new();
    for change in changes {
        let of_stack = held.entry(change.stack.clone()).or_default();
        of_stack.0 += change.bytes;
        of_stack.1 += change.blocks;
    }
    held.values_mut().for_each(|of_stack| *of_stack = (of_stack.0.max(0), of_stack.1.max(0)));
    held.retain(|_, of_stack| *of_stack != (0, 0));
    held
}

fn add(sum: &mut (u64, u64), bytes: u64) {
    sum.0 += 1;
    sum.1 += bytes;
}
