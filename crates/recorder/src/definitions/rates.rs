//! The sampling rates of a process: each has a number, named in the definitions when it is new.

use core::sync::atomic::{AtomicU64, Ordering};

use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::RateId;
use heapscribe_wire::limits::RATES_MAX;

use super::writer::DefinitionWriter;
use crate::platform::lock::Lock;

/// A sampling rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rate {
    /// Its number in events.
    pub id: RateId,
    /// Bytes between two samples, on average; 0: no sample at all.
    pub mean_bytes: u64,
}

impl Rate {
    /// Of a process that records nothing new.
    pub(crate) const NONE: Rate = Rate { id: RateId::FULL, mean_bytes: 0 };
}

/// No room for one more rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRate;

/// The rates that have a number.
#[derive(Debug)]
pub(crate) struct Rates([AtomicU64; RATES_MAX]);

impl Default for Rates {
    fn default() -> Self {
        Rates([const { AtomicU64::new(0) }; RATES_MAX])
    }
}

impl Rates {
    fn find(&self, mean_bytes: u64) -> Option<Rate> {
        let is_it = |rate: &AtomicU64| rate.load(Ordering::Acquire) == mean_bytes;
        let index = self.0.iter().position(is_it)?;
        Some(Rate { id: RateId(index as u8 + 1), mean_bytes })
    }

    /// The rate of this mean, named when it is new.
    #[cold]
    pub(crate) fn find_or_define(
        &self,
        mean_bytes: u64,
        definitions: &DefinitionWriter,
        lock: &Lock,
    ) -> Result<Rate, NoRate> {
        if let Some(rate) = self.find(mean_bytes) {
            return Ok(rate);
        }
        let held = lock.hold().ok_or(NoRate)?;
        if let Some(rate) = self.find(mean_bytes) {
            return Ok(rate);
        }
        let is_free = |rate: &AtomicU64| rate.load(Ordering::Relaxed) == 0;
        let index = self.0.iter().position(is_free).ok_or(NoRate)?;
        let id = RateId(index as u8 + 1);
        definitions.append(&Definition::Rate { id, mean_bytes }, &held).map_err(|_| NoRate)?;
        if let Some(place) = self.0.get(index) {
            place.store(mean_bytes, Ordering::Release);
        }
        Ok(Rate { id, mean_bytes })
    }

    /// The rate that was named last: a process that has too many stays with it.
    pub(crate) fn last(&self) -> Option<Rate> {
        let index = self.0.iter().rposition(|rate| rate.load(Ordering::Acquire) != 0)?;
        Some(Rate { id: RateId(index as u8 + 1), mean_bytes: self.0.get(index)?.load(Ordering::Acquire) })
    }
}
