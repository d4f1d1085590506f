//! Bytes as programs: any bytes are a sequence of calls, so that they can be generated at random and a failure can be
//! shrunk by removing bytes.
//!
//! ```text
//!   of each 4 bytes
//!   0  0-4 alloc, 5 alloc_zeroed, 6-8 free, 9-10 realloc       modulo 11
//!   1  size: times two to the power of this modulo 13
//!   2  size: this plus 1;  free and realloc: which block
//!   3  alignment: below 160 none, else two to the power of 4 and up to 16 more; realloc: below 200 none
//! ```

use heapscribe_alloc::{Heap, Request};

use crate::shadow::ShadowHeap;

/// Bytes of a call.
pub const CALL_BYTES: usize = 4;

/// The result of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Calls made.
    pub calls: usize,
    /// Requests that got nothing.
    pub failures: usize,
    /// The most bytes that were asked for at the same time.
    pub peak_bytes: usize,
    /// The highest address that a block reached, less the lowest one that a block began at.
    pub extent_bytes: usize,
}

/// The blocks of a program that runs.
struct Run<'a> {
    shadow: ShadowHeap<'a>,
    blocks: Vec<usize>,
    outcome: Outcome,
    lowest: usize,
    highest: usize,
}

/// Runs a program and frees all blocks in the end. The error says what was wrong at which call.
pub fn run(heap: &dyn Heap, program: &[u8]) -> Result<Outcome, String> {
    let mut run = Run {
        shadow: ShadowHeap::new(heap),
        blocks: Vec::new(),
        outcome: Outcome::default(),
        lowest: usize::MAX,
        highest: 0,
    };
    for call in program.chunks_exact(CALL_BYTES) {
        run.step(call).map_err(|e| format!("call {} {call:?}: {e}", run.outcome.calls))?;
        run.outcome.calls += 1;
        run.outcome.peak_bytes = run.outcome.peak_bytes.max(run.shadow.live_bytes());
    }
    run.shadow.verify_all()?;
    run.shadow.clear()?;
    run.outcome.extent_bytes = run.highest.saturating_sub(run.lowest);
    Ok(run.outcome)
}

impl Run<'_> {
    fn step(&mut self, call: &[u8]) -> Result<(), String> {
        let [kind, shift, number, align] = [call[0] % 11, call[1] % 13, call[2], call[3]];
        let size = (usize::from(number) + 1) << shift;
        match kind {
            0..=5 => {
                let align = if align < 160 { 1 } else { 16 << (align % 17) };
                let request = Request::new(size, align).ok_or("no request")?;
                let block = match kind {
                    5 => self.shadow.alloc_zeroed(request)?,
                    _ => self.shadow.alloc(request)?,
                };
                self.record_alloc(block, request);
            }
            6..=8 => {
                if let Some(block) = self.pick(number) {
                    self.shadow.free(block)?;
                }
            }
            _ => {
                let Some(block) = self.pick(shift) else { return Ok(()) };
                let align = if align < 200 { 1 } else { 16 << (align % 9) };
                let request = Request::new(size, align).ok_or("no request")?;
                let new = self.shadow.realloc(block, request)?;
                self.record_alloc(new, request);
                if new.is_none() {
                    self.blocks.push(block);
                }
            }
        }
        Ok(())
    }

    fn record_alloc(&mut self, block: Option<usize>, request: Request) {
        match block {
            Some(block) => {
                self.blocks.push(block);
                self.lowest = self.lowest.min(block);
                self.highest = self.highest.max(block + request.size_bytes());
            }
            None => self.outcome.failures += 1,
        }
    }

    fn pick(&mut self, number: u8) -> Option<usize> {
        let count = self.blocks.len();
        (count > 0).then(|| self.blocks.swap_remove(usize::from(number) % count))
    }
}
