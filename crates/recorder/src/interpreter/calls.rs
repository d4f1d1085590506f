//! Which call of the interpreter's loop runs which frames: told by what each call has in its part of the stack.
//!
//! ```text
//!   3.10        a record for each call, and a frame for each
//!   3.11        a record for each call, which leads to the innermost of its frames
//!   3.12 on     a frame without code at the end of each call's frames
//! ```
//! Before 3.10 there is nothing of the kind, and calls are counted when both stacks are put together. There, and in 3.10,
//! a generator's `throw` has others that delegate it in the list, which no call runs: such a stack stays native.

use super::chain::InterpretedFrames;
use super::layout::{Chain, Shape, Shaped};
use super::raw::{Place, Source};
use super::read::Read;

impl InterpretedFrames {
    /// Works out which call runs each frame. False when the calls are not as many as the frames say.
    #[cold]
    pub(crate) fn find_calls<R: Read, S: Shaped>(&mut self, source: Source<'_, R, S>) -> bool {
        let Source { read, shape, thread_state, .. } = source;
        let Shape { thread: fields, chain, .. } = shape.shape();
        let record = match chain {
            Chain::Unrecorded => return true,
            Chain::Shims => return self.find_calls_by_shims(chain),
            _ => read.word(thread_state.wrapping_add(fields.record)).unwrap_or(0),
        };
        let next = |record: usize| read.word(record.wrapping_add(fields.record_previous)).unwrap_or(0);
        let innermost = |record: usize| read.word(record.wrapping_add(fields.record_frame)).unwrap_or(0);
        let (mut call, mut outer) = (record, next(record));
        for index in (0..self.len).rev() {
            let Some(entry) = self.entries.get_mut(index) else { break };
            // Not by the mark: `throw` has generators that delegate it in the list, which no call runs.
            if chain == Chain::Marked && outer != 0 && innermost(outer) == entry.raw.frame {
                (call, outer) = (outer, next(outer));
            }
            entry.call = call;
            if call == 0 {
                return false;
            }
            if chain == Chain::Objects {
                (call, outer) = (outer, next(outer));
            }
        }
        true
    }

    fn find_calls_by_shims(&mut self, chain: Chain) -> bool {
        let (mut call, mut is_new) = (0, true);
        for index in (0..self.len).rev() {
            // Once for each call: for each frame, `test_json` of CPython 3.13 took minutes at its deepest.
            if is_new {
                let inner = self.entries.get(..=index).unwrap_or_default();
                let shim = inner.iter().rev().find(|entry| entry.raw.place(chain) == Place::Shim);
                call = shim.map_or(0, |entry| entry.raw.frame);
            }
            let Some(entry) = self.entries.get_mut(index) else { break };
            entry.call = call;
            if call == 0 {
                return false;
            }
            is_new = entry.raw.place(chain) == Place::Shim;
        }
        true
    }
}
