//! Who looks on while sessions are drained: what goes into the trace passes by, chunk by chunk, before its session may
//! forget it. The agent makes its windows of this, without a trace.

use std::cell::RefCell;
use std::rc::Rc;

use heapscribe_formats::model::{ChunkInfo, ProcessEnd, ProcessIndex, ProcessInfo};
use heapscribe_wire::definitions::Position;

/// A tap that the drainer shares with its owner.
pub type SharedTap = Rc<RefCell<dyn Tap>>;

/// Looks on.
pub trait Tap {
    /// A process image appears, under this number.
    fn process(&mut self, process: ProcessIndex, info: &ProcessInfo);

    /// Definitions of it, which begin at this position.
    fn definitions(&mut self, process: ProcessIndex, position: Position, bytes: &[u8]);

    /// The events of a chunk, from its first one on. A chunk that is still being filled may pass several times, each time
    /// with more of them.
    fn events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]);

    /// These chunks, by thread and number, are in the session no more, and pass no more.
    fn freed(&mut self, process: ProcessIndex, chunks: &[(u32, u64)]);

    /// Up to where the file has passed to which the process wrote chunks itself, be it by another before us.
    fn spilled(&self, process: ProcessIndex) -> u64;

    /// It has passed up to here.
    fn has_spilled(&mut self, process: ProcessIndex, bytes: u64);

    /// The image has ended, and all of it has passed.
    fn ended(&mut self, process: ProcessIndex, end: &ProcessEnd);

    /// What has passed is about to be freed: now it must be where it outlives us.
    fn commit(&mut self);
}
