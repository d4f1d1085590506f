//! The sampling rates that a process defined.

use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::RateId;
use heapscribe_wire::limits::RATES_MAX;

/// Mean bytes by the number of a rate; 0 for every block, and for rates that are not defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RateMeans([u64; RATES_MAX + 1]);

impl RateMeans {
    /// Notes a definition if it is that of a rate.
    pub(crate) fn note(&mut self, definition: &Definition<'_>) {
        if let Definition::Rate { id, mean_bytes } = definition
            && *id != RateId::FULL
            && let Some(mean) = self.0.get_mut(usize::from(id.0))
        {
            *mean = *mean_bytes;
        }
    }

    /// Mean bytes of a rate.
    pub(crate) fn mean(&self, rate: RateId) -> u64 {
        self.0.get(usize::from(rate.0)).copied().unwrap_or(0)
    }

    /// Whether there is any.
    pub(crate) fn has_any(&self) -> bool {
        self.known().next().is_some()
    }

    /// The means of the rates that are defined.
    pub(crate) fn known(&self) -> impl Iterator<Item = u64> {
        self.0.into_iter().filter(|mean| *mean != 0)
    }

    /// The rates of a set, a bit for each, that are not defined.
    pub(crate) fn undefined(&self, used: u8) -> Vec<String> {
        let numbers = (1..self.0.len()).filter(|n| used >> n & 1 == 1 && self.0[*n] == 0);
        numbers.map(|n| n.to_string()).collect()
    }
}
