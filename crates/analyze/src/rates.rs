//! The sampling rates of processes. A recording of every block has none, so the definitions are read for
//! them only when an event names one.

use std::sync::OnceLock;

use heapscribe_wire::defs::Definition;
use heapscribe_wire::ids::RateId;
use heapscribe_wire::limits::RATES_MAX;

use crate::input::History;

/// Mean bytes by the number of a rate; 0 for every block, and for rates that are not defined.
pub(crate) type Means = [u64; RATES_MAX + 1];

/// The rates of all processes.
pub(crate) struct Rates<'h, H> {
    history: &'h H,
    known: Vec<OnceLock<Means>>,
}

impl<'h, H: History> Rates<'h, H> {
    /// Of so many processes.
    pub(crate) fn new(history: &'h H, processes: usize) -> Self {
        Rates { history, known: (0..processes).map(|_| OnceLock::new()).collect() }
    }

    /// Mean bytes of a rate.
    pub(crate) fn mean(&self, process: usize, rate: RateId) -> u64 {
        if rate == RateId::FULL {
            return 0;
        }
        let Some(known) = self.known.get(process) else { return 0 };
        known.get_or_init(|| self.read(process)).get(usize::from(rate.0)).copied().unwrap_or(0)
    }

    /// Whether a process has any.
    pub(crate) fn has_any(&self, process: usize) -> bool {
        (1..=RATES_MAX).any(|number| self.mean(process, RateId(number as u8)) != 0)
    }

    fn read(&self, process: usize) -> Means {
        let mut means = Means::default();
        // What cannot be read is told where the definitions are read for good.
        let _ = self.history.definitions(process, &mut |_, definition| note(&mut means, definition));
        means
    }
}

/// Notes a definition if it is that of a rate.
pub(crate) fn note(means: &mut Means, definition: &Definition<'_>) {
    if let Definition::Rate { id, mean_bytes } = definition
        && *id != RateId::FULL
        && let Some(mean) = means.get_mut(usize::from(id.0))
    {
        *mean = *mean_bytes;
    }
}
