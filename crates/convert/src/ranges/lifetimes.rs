//! Lifetimes of blocks: by the index where it has the classes that are asked for, else in a pass over the events.

use heapscribe_analyze::input::History;
use heapscribe_index::{AgeMap, Bounds, Index, KeyFilter, Span};

use super::asked::{ByKey, Ranges};

/// Events of a time that is cut into equal columns, whatever leaves it has: each of them is read.
const EVENTS_READ: u64 = 6_000_000;

impl<H: History> Ranges<'_, H> {
    /// Blocks that were born in one time and freed in another, and lived so long, ns.
    pub fn aged(&self, born: &Span, died: &Span, age_ns: &Span) -> ByKey {
        let by_index = self.index().and_then(|index| {
            let sums = index.aged(born, died, age_ns, self.events()).ok()??;
            Some(sums.iter().map(|(key, amount)| (index.keys()[key.0 as usize], amount)).collect())
        });
        let by_events = || self.events().aged(born, died, age_ns).into_iter().collect();
        ByKey { sums: by_index.unwrap_or_else(by_events) }
    }

    /// About so many columns of a time, in which blocks are born: equal ones where it has few events or there is no
    /// index, else each of them has whole leaves of the index.
    pub fn age_bounds(&self, time: &Span, columns: u64) -> Bounds {
        match self.index() {
            Some(index) if self.events().count(time) > EVENTS_READ => index.age_bounds(time, columns),
            _ => self.equal(time, columns),
        }
    }

    fn equal(&self, time: &Span, columns: u64) -> Bounds {
        let extent = self.extent();
        let from_ns = time.from_ns.max(extent.begin_ns);
        let end_ns = extent.begin_ns.saturating_add(extent.duration_ns).saturating_add(1);
        let to_ns = time.to_ns.min(end_ns);
        let step_ns = to_ns.saturating_sub(from_ns).div_ceil(columns.max(1)).max(1);
        let inner = (1..columns).map(|n| from_ns.saturating_add(n.saturating_mul(step_ns)));
        let inner = inner.filter(|ns| *ns < to_ns);
        Bounds::new([time.from_ns].into_iter().chain(inner).chain([time.to_ns]).collect())
    }

    /// Blocks by time of birth and class of lifetime: those of the keys that are wanted, of all where none are told.
    pub fn age_map(&self, bounds: &Bounds, filter: Option<KeyFilter<'_>>) -> AgeMap {
        // A coarse index cannot tell all keys apart.
        let can_tell = |index: &&Index<_>| filter.is_none() || !index.is_coarse();
        let index = self.index().filter(can_tell);
        let by_index = index.and_then(|index| index.age_map(bounds, filter, self.events()).ok());
        by_index.unwrap_or_else(|| self.events().age_map(bounds, filter))
    }
}
