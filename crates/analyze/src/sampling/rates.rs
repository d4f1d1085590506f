//! The sampling rates of processes. A recording of every block has none, so the definitions are read for
//! them only when an event names one.

use std::sync::OnceLock;

use heapscribe_wire::ids::RateId;

use crate::input::History;
use crate::stacks::RateMeans;

/// The rates of all processes.
pub struct Rates<'h, H> {
    history: &'h H,
    known: Vec<OnceLock<RateMeans>>,
}

impl<'h, H: History> Rates<'h, H> {
    /// Of so many processes.
    pub fn new(history: &'h H, processes: usize) -> Self {
        Rates { history, known: (0..processes).map(|_| OnceLock::new()).collect() }
    }

    /// Mean bytes of a rate.
    pub fn mean(&self, process: usize, rate: RateId) -> u64 {
        if rate == RateId::FULL {
            return 0;
        }
        let Some(known) = self.known.get(process) else { return 0 };
        known.get_or_init(|| self.read(process)).mean(rate)
    }

    /// Whether a process has any.
    pub fn has_any(&self, process: usize) -> bool {
        self.known.get(process).is_some_and(|known| known.get_or_init(|| self.read(process)).has_any())
    }

    fn read(&self, process: usize) -> RateMeans {
        let mut means = RateMeans::default();
        // What cannot be read is reported where the definitions are read for good.
        let _ = self.history.definitions(process, &mut |_, definition| means.note(definition));
        means
    }
}
