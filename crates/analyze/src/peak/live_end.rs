//! What was live in a process when its recording ended, as the process's own table of live blocks has it.
//!
//! The events say the same where all of them are there. Where a ring has evicted some or a recorder has lost
//! some they do not: a free whose allocation is missing takes from its stack what that never had. The table
//! needs none of them.

use std::collections::HashMap;

use heapscribe_formats::LiveBlock;
use heapscribe_wire::ids::{RateId, StackId};

use super::net::{Held, Net};
use crate::input::{History, TableMoment};
use crate::sampling::{Birth, Moments, Rates, Weight};

/// The blocks of a table, added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveEnd {
    pub(crate) moment: TableMoment,
    /// By stack, pools left out.
    pub(crate) net: Net,
    /// The same of the program's own pools.
    pub(crate) pools: Net,
    /// All of the heap's.
    pub(crate) all: Held,
    /// Size of the largest block.
    pub(crate) largest_bytes: u64,
    /// The same of pools.
    pub(crate) largest_of_pools_bytes: u64,
    births: HashMap<StackId, Births>,
}

/// Ticks at which the blocks of a stack were allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Births {
    pub(crate) first_ticks: u64,
    pub(crate) last_ticks: u64,
}

impl LiveEnd {
    /// Reads the table of a process, when the recording has one; and what cannot be read of it.
    pub(crate) fn read<H: History>(
        history: &H,
        process: usize,
        rates: &Rates<'_, H>,
    ) -> (Option<LiveEnd>, Option<String>) {
        let mut end = LiveEnd::default();
        let mut add = |block: &LiveBlock| {
            let mean_bytes = if block.rate == RateId::FULL { 0 } else { rates.mean(process, block.rate) };
            end.add(block, mean_bytes);
        };
        match history.live_at_end(process, &mut add) {
            Ok(Some(moment)) => (Some(LiveEnd { moment, ..end }), None),
            Ok(None) => (None, None),
            Err(why) => (None, Some(why)),
        }
    }

    fn add(&mut self, block: &LiveBlock, mean_bytes: u64) {
        let birth = Birth { thread: block.thread.0, ticks: block.birth_ticks };
        let weight = match mean_bytes {
            0 => Weight::one(block.size_bytes),
            _ => Weight::of(block.size_bytes, mean_bytes, birth),
        };
        let held = Held { blocks: weight.blocks as i64, bytes: weight.bytes as i64 };
        let net = if block.is_pool { &mut self.pools } else { &mut self.net };
        net.held.row(block.stack).add(&held);
        if mean_bytes != 0 {
            net.sampled.note(block.stack, block.size_bytes, weight, Moments::add);
        }
        if block.is_pool {
            self.largest_of_pools_bytes = self.largest_of_pools_bytes.max(block.size_bytes);
            return;
        }
        self.all.add(&held);
        self.largest_bytes = self.largest_bytes.max(block.size_bytes);
        let one = Births { first_ticks: block.birth_ticks, last_ticks: block.birth_ticks };
        let births = self.births.entry(block.stack).or_insert(one);
        births.first_ticks = births.first_ticks.min(block.birth_ticks);
        births.last_ticks = births.last_ticks.max(block.birth_ticks);
    }

    /// What a stack holds.
    pub(crate) fn held(&self, stack: StackId) -> Held {
        self.net.held.get(stack).copied().unwrap_or_default()
    }

    /// When the live blocks of a stack were allocated.
    pub(crate) fn births(&self, stack: StackId) -> Option<Births> {
        self.births.get(&stack).copied()
    }
}
