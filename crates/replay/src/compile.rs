//! Allocations and frees of named blocks become operations on numbered slots.
//!
//! Events of several threads are put into order by their clocks, so a block may seem to be freed before it was
//! allocated, when another thread freed it at once. Such a free is remembered until the allocation, and follows it.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use crate::op::Op;

/// The name of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Birth {
    /// The thread that allocated it.
    pub thread: u32,
    /// When, in ticks.
    pub ticks: u64,
}

/// Frees that are remembered until their block is allocated; more of them count as frees of unknown blocks.
const EARLY_MAX: usize = 1 << 20;

/// Threads that a program has at most.
const THREADS_MAX: u32 = 1024;

/// What a block is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllocRequest {
    /// Bytes.
    pub size_bytes: u64,
    /// Log2 of the alignment; 0 for none.
    pub align_log2: u8,
    /// Of zeros.
    pub zeroed: bool,
}

impl AllocRequest {
    /// Of so many bytes and nothing else.
    pub const fn bytes(size_bytes: u64) -> AllocRequest {
        AllocRequest { size_bytes, align_log2: 0, zeroed: false }
    }
}

/// A program of operations, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compiled {
    /// Operations, moments too.
    pub ops: u64,
    /// Slots that they name: as many as blocks were live at the same time, at most.
    pub slots: u64,
    /// Allocations.
    pub allocs: u64,
    /// Frees.
    pub frees: u64,
    /// Reallocations.
    pub reallocs: u64,
    /// Moments.
    pub moments: u64,
    /// Marks, and ends of sections.
    pub marks: u64,
    /// Threads, when operations say whose they are.
    pub threads: u64,
    /// The most bytes live at a time, in the order of the operations.
    pub peak_bytes: u64,
    /// Blocks that were live then.
    pub peak_blocks: u64,
    /// When that was, ns since the trace's start.
    pub peak_ns: u64,
    /// Bytes live after all of it.
    pub left_bytes: u64,
    /// Frees of blocks that were never allocated.
    pub unknown: u64,
    /// Blocks that were freed, by the order of the clocks, before they were allocated.
    pub out_of_order: u64,
}

/// A live block.
#[derive(Clone, Copy, Debug)]
struct LiveBlock {
    slot: u32,
    size_bytes: u64,
}

/// Writes operations.
#[derive(Debug)]
pub struct Compiler<W> {
    out: W,
    live: HashMap<Birth, LiveBlock>,
    empty: Vec<u32>,
    early_frees: HashSet<Birth>,
    /// The program so far.
    compiled: Compiled,
    step_ns: u64,
    next_moment_ns: u64,
    last_ns: u64,
    /// Wider than a size: what a damaged trace asks for is not held to what a machine has.
    live_bytes: u128,
    /// The numbers of threads, and whose operations are written now.
    threads: HashMap<u32, u32>,
    thread: Option<u32>,
}

impl<W: Write> Compiler<W> {
    /// Writes to `out`, with a moment after each `step_ns`.
    pub fn new(out: W, step_ns: u64) -> Compiler<W> {
        let step_ns = step_ns.max(1);
        Compiler {
            out,
            live: HashMap::new(),
            empty: Vec::new(),
            early_frees: HashSet::new(),
            compiled: Compiled::default(),
            step_ns,
            next_moment_ns: step_ns,
            last_ns: 0,
            live_bytes: 0,
            threads: HashMap::new(),
            thread: None,
        }
    }

    /// What follows are calls of this thread. Of more threads than can run at a time several share one.
    pub fn thread(&mut self, id: u32) -> io::Result<()> {
        if self.thread == Some(id) {
            return Ok(());
        }
        self.thread = Some(id);
        let next = self.threads.len() as u32;
        let number = *self.threads.entry(id).or_insert(next) % THREADS_MAX;
        self.compiled.threads = u64::from(THREADS_MAX).min(self.threads.len() as u64);
        self.write(Op::Thread { number })
    }

    /// The program has reached a mark, or the end of a section.
    pub fn marked(&mut self, ns: u64) -> io::Result<()> {
        self.moments_before(ns)?;
        self.compiled.marks += 1;
        self.write(Op::Mark)
    }

    /// A block was allocated.
    pub fn allocated(&mut self, ns: u64, birth: Birth, request: AllocRequest) -> io::Result<()> {
        self.moments_before(ns)?;
        if self.live.contains_key(&birth) {
            // Two blocks of one name are damage: nothing would ever free the first one.
            self.freed(ns, birth)?;
        }
        let slot = self.slot();
        self.compiled.allocs += 1;
        let AllocRequest { size_bytes, align_log2, zeroed } = request;
        self.write(Op::Alloc { slot, size_bytes, align_log2: align_log2.min(63), zeroed })?;
        self.live.insert(birth, LiveBlock { slot, size_bytes });
        self.grew(ns, size_bytes);
        if self.early_frees.remove(&birth) {
            self.compiled.out_of_order += 1;
            self.freed(ns, birth)?;
        }
        Ok(())
    }

    /// A block was freed.
    pub fn freed(&mut self, ns: u64, birth: Birth) -> io::Result<()> {
        self.moments_before(ns)?;
        let Some(LiveBlock { slot, size_bytes }) = self.live.remove(&birth) else {
            self.freed_early(birth);
            return Ok(());
        };
        self.empty.push(slot);
        self.compiled.frees += 1;
        self.live_bytes -= u128::from(size_bytes);
        self.write(Op::Free { slot, size_bytes })
    }

    /// A block was reallocated, and has another name since.
    pub fn reallocated(&mut self, ns: u64, old: Birth, new: Birth, size_bytes: u64) -> io::Result<()> {
        self.moments_before(ns)?;
        let Some(block) = self.live.remove(&old) else {
            self.freed_early(old);
            return self.allocated(ns, new, AllocRequest::bytes(size_bytes));
        };
        if self.live.contains_key(&new) {
            // As in `allocated`.
            self.freed(ns, new)?;
        }
        self.compiled.reallocs += 1;
        self.write(Op::Realloc { slot: block.slot, size_bytes })?;
        self.live_bytes -= u128::from(block.size_bytes);
        self.live.insert(new, LiveBlock { size_bytes, ..block });
        self.grew(ns, size_bytes);
        if self.early_frees.remove(&new) {
            self.compiled.out_of_order += 1;
            self.freed(ns, new)?;
        }
        Ok(())
    }

    /// A block was freed that is not known.
    pub fn unknown_block(&mut self) {
        self.compiled.unknown += 1;
    }

    /// Ends the program: what it is, and where it was written.
    pub fn finish(mut self) -> io::Result<(Compiled, W)> {
        let ns = self.last_ns;
        self.write(Op::Moment { ns })?;
        self.compiled.moments += 1;
        self.compiled.unknown += self.early_frees.len() as u64;
        self.compiled.left_bytes = saturated(self.live_bytes);
        self.out.flush()?;
        Ok((self.compiled, self.out))
    }

    /// Writes the moments before this time. Where nothing happened for long there is one, not one for each step.
    fn moments_before(&mut self, ns: u64) -> io::Result<()> {
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
        if saturated(self.live_bytes) > self.compiled.peak_bytes {
            self.compiled.peak_bytes = saturated(self.live_bytes);
            self.compiled.peak_blocks = self.live.len() as u64;
            self.compiled.peak_ns = ns;
        }
    }

    fn freed_early(&mut self, birth: Birth) {
        if self.early_frees.len() < EARLY_MAX {
            self.early_frees.insert(birth);
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

fn saturated(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OP_BYTES;

    fn ops(bytes: &[u8]) -> Vec<Op> {
        bytes.chunks_exact(OP_BYTES).map(|op| Op::decode(op.try_into().unwrap()).unwrap()).collect()
    }

    fn birth(thread: u32, ticks: u64) -> Birth {
        Birth { thread, ticks }
    }

    fn alloc(slot: u32, size_bytes: u64) -> Op {
        Op::Alloc { slot, size_bytes, align_log2: 0, zeroed: false }
    }

    #[test]
    fn slots_are_reused_and_the_peak_is_counted() {
        let mut compiler = Compiler::new(Vec::new(), 1000);
        compiler.allocated(1, birth(1, 1), AllocRequest::bytes(100)).unwrap();
        compiler
            .allocated(2, birth(1, 2), AllocRequest { size_bytes: 50, align_log2: 6, zeroed: true })
            .unwrap();
        compiler.freed(3, birth(1, 1)).unwrap();
        compiler.allocated(2500, birth(2, 1), AllocRequest::bytes(70)).unwrap();
        compiler.marked(2550).unwrap();
        compiler.reallocated(2600, birth(1, 2), birth(2, 2), 500).unwrap();
        compiler.freed(2700, birth(2, 2)).unwrap();
        compiler.freed(2700, birth(9, 9)).unwrap();
        compiler.unknown_block();
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
                Op::Mark,
                Op::Realloc { slot: 1, size_bytes: 500 },
                Op::Free { slot: 1, size_bytes: 500 },
                Op::Moment { ns: 2700 },
            ]
        );
        let expected = Compiled {
            ops: 9,
            slots: 2,
            allocs: 3,
            frees: 2,
            reallocs: 1,
            moments: 2,
            marks: 1,
            threads: 0,
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
    fn sizes_beyond_all_memory_are_counted() {
        let mut compiler = Compiler::new(Vec::new(), 1000);
        compiler.allocated(1, birth(1, 1), AllocRequest::bytes(u64::MAX)).unwrap();
        compiler.allocated(2, birth(1, 2), AllocRequest::bytes(u64::MAX)).unwrap();
        compiler.reallocated(u64::MAX, birth(1, 1), birth(1, 3), u64::MAX - 1).unwrap();
        compiler.freed(4, birth(1, 2)).unwrap();
        compiler.freed(4, birth(1, 3)).unwrap();
        compiler.allocated(5, birth(1, 4), AllocRequest::bytes(7)).unwrap();
        let (compiled, _) = compiler.finish().unwrap();
        assert_eq!((compiled.peak_bytes, compiled.left_bytes, compiled.frees), (u64::MAX, 7, 2));
    }

    /// Clocks of two cores may differ by a little: the block of one thread that another one freed at once.
    #[test]
    fn a_free_before_the_allocation_follows_it() {
        let mut compiler = Compiler::new(Vec::new(), 1000);
        compiler.freed(4, birth(1, 5)).unwrap();
        compiler.allocated(5, birth(1, 5), AllocRequest::bytes(8)).unwrap();
        compiler.reallocated(6, birth(1, 6), birth(2, 7), 30).unwrap();
        compiler.allocated(7, birth(1, 6), AllocRequest::bytes(9)).unwrap();
        let (compiled, bytes) = compiler.finish().unwrap();
        let free = |size_bytes, slot| Op::Free { slot, size_bytes };
        assert_eq!(
            ops(&bytes),
            [alloc(0, 8), free(8, 0), alloc(0, 30), alloc(1, 9), free(9, 1), Op::Moment { ns: 7 }]
        );
        assert_eq!((compiled.unknown, compiled.out_of_order, compiled.left_bytes), (0, 2, 30));
    }
}
