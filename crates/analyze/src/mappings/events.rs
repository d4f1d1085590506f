//! The events of the mappings of a process, gathered from its chunks.

use heapscribe_wire::record::Mapping;

/// Events that are kept of a process: 128 MiB. With more nothing is followed, since figures of a part would be wrong.
const EVENTS_MAX: u64 = 2 << 20;

/// The events, in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct MappingEvents {
    events: Vec<(u64, Mapping)>,
    count: u64,
}

impl MappingEvents {
    /// Adds the event of these ticks.
    #[cold]
    pub(crate) fn add(&mut self, ticks: u64, mapping: Mapping) {
        self.count += 1;
        if self.count <= EVENTS_MAX {
            self.events.push((ticks, mapping));
        }
    }

    /// Adds others of the same process.
    pub(crate) fn merge(&mut self, mut other: MappingEvents) {
        self.count = self.count.saturating_add(other.count);
        if self.count <= EVENTS_MAX {
            self.events.append(&mut other.events);
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// All of them, by their ticks; `None` when they are too many.
    pub(crate) fn sorted(mut self) -> Option<Vec<(u64, Mapping)>> {
        self.events.sort_by_key(|(ticks, _)| *ticks);
        (self.count <= EVENTS_MAX).then_some(self.events)
    }
}
