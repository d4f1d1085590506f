//! Blocks as they came and went become operations: names of blocks become slots.
//!
//! Events of several threads are put into order by their clocks, so a block may seem to go before it came, when
//! another thread freed it at once. Such an end is kept until the block comes, which then goes at once.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::op::Op;

/// The name of a block: its thread and the ticks of its birth.
pub type Birth = (u32, u64);

/// Ends that are kept until their block comes; beyond these they count as ends of unknown blocks.
const EARLY_MAX: usize = 1 << 20;

/// What a block is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Bytes.
    pub size_bytes: u64,
    /// Log2 of the alignment; 0 for none.
    pub align_log2: u8,
    /// Of zeros.
    pub zeroed: bool,
}

impl Wish {
    /// Of so many bytes and nothing else.
    pub const fn bytes(size_bytes: u64) -> Wish {
        Wish { size_bytes, align_log2: 0, zeroed: false }
    }
}

/// A program of operations, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compiled {
    /// Operations, moments too.
    pub ops: u64,
    /// Slots that they name: blocks that were live at the same time, at most.
    pub slots: u64,
    /// Blocks that come.
    pub allocs: u64,
    /// Blocks that go.
    pub frees: u64,
    /// Blocks that change their size.
    pub reallocs: u64,
    /// Moments.
    pub moments: u64,
    /// The most bytes live at a time.
    pub peak_bytes: u64,
    /// Blocks that were live then.
    pub peak_blocks: u64,
    /// When that was, ns since the trace's start.
    pub peak_ns: u64,
    /// Bytes live after all of it.
    pub left_bytes: u64,
    /// Ends of blocks that never came.
    pub unknown: u64,
    /// Blocks that went, by the order of the clocks, before they had come.
    pub out_of_order: u64,
}

/// A block in its slot.
#[derive(Clone, Copy, Debug)]
struct Kept {
    slot: u32,
    size_bytes: u64,
}

/// Writes operations.
#[derive(Debug)]
pub struct Compiler<W> {
    out: W,
    live: HashMap<Birth, Kept>,
    empty: Vec<u32>,
    early: HashMap<Birth, ()>,
    /// The program so far.
    compiled: Compiled,
    step_ns: u64,
    next_moment_ns: u64,
    last_ns: u64,
    /// Wider than a size: what a damaged trace asks for is not held to what a machine has.
    live_bytes: u128,
}

impl<W: Write> Compiler<W> {
    /// Writes to `out`, with a moment after each `step_ns`.
    pub fn new(out: W, step_ns: u64) -> Compiler<W> {
        let step_ns = step_ns.max(1);
        Compiler {
            out,
            live: HashMap::new(),
            empty: Vec::new(),
            early: HashMap::new(),
            compiled: Compiled::default(),
            step_ns,
            next_moment_ns: step_ns,
            last_ns: 0,
            live_bytes: 0,
        }
    }

    /// A block came.
    pub fn came(&mut self, ns: u64, birth: Birth, wish: Wish) -> io::Result<()> {
        self.passed(ns)?;
        if self.live.contains_key(&birth) {
            // Two blocks of one name are damage: nothing would ever free the first one.
            self.went(ns, birth)?;
        }
        let slot = self.slot();
        self.compiled.allocs += 1;
        let Wish { size_bytes, align_log2, zeroed } = wish;
        self.write(Op::Alloc { slot, size_bytes, align_log2: align_log2.min(63), zeroed })?;
        self.live.insert(birth, Kept { slot, size_bytes });
        self.grew(ns, size_bytes);
        if self.early.remove(&birth).is_some() {
            self.compiled.out_of_order += 1;
            self.went(ns, birth)?;
        }
        Ok(())
    }

    /// A block went.
    pub fn went(&mut self, ns: u64, birth: Birth) -> io::Result<()> {
        self.passed(ns)?;
        let Some(Kept { slot, size_bytes }) = self.live.remove(&birth) else {
            self.is_early(birth);
            return Ok(());
        };
        self.empty.push(slot);
        self.compiled.frees += 1;
        self.live_bytes -= u128::from(size_bytes);
        self.write(Op::Free { slot, size_bytes })
    }

    /// A block became another one.
    pub fn resized(&mut self, ns: u64, old: Birth, new: Birth, size_bytes: u64) -> io::Result<()> {
        self.passed(ns)?;
        let Some(kept) = self.live.remove(&old) else {
            self.is_early(old);
            return self.came(ns, new, Wish::bytes(size_bytes));
        };
        if self.live.contains_key(&new) {
            // As in `came`.
            self.went(ns, new)?;
        }
        self.compiled.reallocs += 1;
        self.write(Op::Realloc { slot: kept.slot, size_bytes })?;
        self.live_bytes -= u128::from(kept.size_bytes);
        self.live.insert(new, Kept { size_bytes, ..kept });
        self.grew(ns, size_bytes);
        if self.early.remove(&new).is_some() {
            self.compiled.out_of_order += 1;
            self.went(ns, new)?;
        }
        Ok(())
    }

    /// A block that is not known went.
    pub fn unknown(&mut self) {
        self.compiled.unknown += 1;
    }

    /// Ends the program: what it is, and where it was written.
    pub fn finish(mut self) -> io::Result<(Compiled, W)> {
        let ns = self.last_ns;
        self.write(Op::Moment { ns })?;
        self.compiled.moments += 1;
        self.compiled.unknown += self.early.len() as u64;
        self.compiled.left_bytes = told(self.live_bytes);
        self.out.flush()?;
        Ok((self.compiled, self.out))
    }

    /// Moments that lie before this one. Where nothing happened for long there is one, not one for each step.
    fn passed(&mut self, ns: u64) -> io::Result<()> {
        self.last_ns = self.last_ns.max(ns);
        if ns < self.next_moment_ns {
            return Ok(());
        }
        let moment = ns - ns % self.step_ns;
        self.next_moment_ns = moment.saturating_add(self.step_ns);
        self.compiled.moments += 1;
        self.write(Op::Moment { ns: moment })
    }

    fn grew(&mut self, ns: u64, size_bytes: u64) {
        self.live_bytes += u128::from(size_bytes);
        if told(self.live_bytes) > self.compiled.peak_bytes {
            self.compiled.peak_bytes = told(self.live_bytes);
            self.compiled.peak_blocks = self.live.len() as u64;
            self.compiled.peak_ns = ns;
        }
    }

    fn is_early(&mut self, birth: Birth) {
        if self.early.len() < EARLY_MAX {
            self.early.insert(birth, ());
        } else {
            self.compiled.unknown += 1;
        }
    }

    fn slot(&mut self) -> u32 {
        self.empty.pop().unwrap_or_else(|| {
            let slot = self.compiled.slots as u32;
            self.compiled.slots += 1;
            slot
        })
    }

    fn write(&mut self, op: Op) -> io::Result<()> {
        if self.compiled.slots > u64::from(u32::MAX) {
            return Err(io::Error::other("more blocks live at a time than can be numbered"));
        }
        self.compiled.ops += 1;
        self.out.write_all(&op.encode())
    }
}

fn told(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OP_BYTES;

    fn ops(bytes: &[u8]) -> Vec<Op> {
        bytes.chunks_exact(OP_BYTES).map(|op| Op::decode(op.try_into().unwrap()).unwrap()).collect()
    }

    fn alloc(slot: u32, size_bytes: u64) -> Op {
        Op::Alloc { slot, size_bytes, align_log2: 0, zeroed: false }
    }

    #[test]
    fn slots_are_used_again_and_the_peak_is_counted() {
        let mut compiler = Compiler::new(Vec::new(), 1000);
        compiler.came(1, (1, 1), Wish::bytes(100)).unwrap();
        compiler.came(2, (1, 2), Wish { size_bytes: 50, align_log2: 6, zeroed: true }).unwrap();
        compiler.went(3, (1, 1)).unwrap();
        compiler.came(2500, (2, 1), Wish::bytes(70)).unwrap();
        compiler.resized(2600, (1, 2), (2, 2), 500).unwrap();
        compiler.went(2700, (2, 2)).unwrap();
        compiler.went(2700, (9, 9)).unwrap();
        compiler.unknown();
        let (compiled, bytes) = compiler.finish().unwrap();
        let aligned = Op::Alloc { slot: 1, size_bytes: 50, align_log2: 6, zeroed: true };
        assert_eq!(
            ops(&bytes),
            [
                alloc(0, 100),
                aligned,
                Op::Free { slot: 0, size_bytes: 100 },
                Op::Moment { ns: 2000 },
                alloc(0, 70),
                Op::Realloc { slot: 1, size_bytes: 500 },
                Op::Free { slot: 1, size_bytes: 500 },
                Op::Moment { ns: 2700 },
            ]
        );
        let expected = Compiled {
            ops: 8,
            slots: 2,
            allocs: 3,
            frees: 2,
            reallocs: 1,
            moments: 2,
            peak_bytes: 570,
            peak_blocks: 2,
            peak_ns: 2600,
            left_bytes: 70,
            unknown: 2,
            out_of_order: 0,
        };
        assert_eq!(compiled, expected);
    }

    #[test]
    fn sizes_beyond_all_memory_come_and_go() {
        let mut compiler = Compiler::new(Vec::new(), 1000);
        compiler.came(1, (1, 1), Wish::bytes(u64::MAX)).unwrap();
        compiler.came(2, (1, 2), Wish::bytes(u64::MAX)).unwrap();
        compiler.resized(u64::MAX, (1, 1), (1, 3), u64::MAX - 1).unwrap();
        compiler.went(4, (1, 2)).unwrap();
        compiler.went(4, (1, 3)).unwrap();
        compiler.came(5, (1, 4), Wish::bytes(7)).unwrap();
        let (compiled, _) = compiler.finish().unwrap();
        assert_eq!((compiled.peak_bytes, compiled.left_bytes, compiled.frees), (u64::MAX, 7, 2));
    }

    /// Clocks of two cores may differ by a little: the block of one thread that another one freed at once.
    #[test]
    fn what_goes_before_it_comes_goes_when_it_comes() {
        let mut compiler = Compiler::new(Vec::new(), 1000);
        compiler.went(4, (1, 5)).unwrap();
        compiler.came(5, (1, 5), Wish::bytes(8)).unwrap();
        compiler.resized(6, (1, 6), (2, 7), 30).unwrap();
        compiler.came(7, (1, 6), Wish::bytes(9)).unwrap();
        let (compiled, bytes) = compiler.finish().unwrap();
        let free = |size_bytes, slot| Op::Free { slot, size_bytes };
        assert_eq!(
            ops(&bytes),
            [alloc(0, 8), free(8, 0), alloc(0, 30), alloc(1, 9), free(9, 1), Op::Moment { ns: 7 }]
        );
        assert_eq!((compiled.unknown, compiled.out_of_order, compiled.left_bytes), (0, 2, 30));
    }
}
