//! Which goroutine runs where, and what each one began with: the outermost function of its stacks.

use std::collections::HashMap;

use heapscribe_formats::Source;
use heapscribe_formats::gotrace::{Event, Meaning, Trace};

/// Goroutines whose begin is kept; a program may make more in its life.
const GOROUTINES_MAX: usize = 1 << 20;

/// What a goroutine began with, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SiteId(usize);

impl SiteId {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

#[derive(Default)]
pub(super) struct Goroutines {
    /// The goroutine of each lane.
    running: HashMap<u64, u64>,
    sites: HashMap<u64, SiteId>,
    names: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, SiteId>,
}

impl Goroutines {
    /// Takes the next event.
    pub(super) fn event<S: Source>(&mut self, trace: &Trace<S>, event: &Event<'_>, meaning: &Meaning) {
        let running = self.of(event.lane);
        let mut owner = running;
        match *meaning {
            Meaning::Runs(goroutine) => {
                self.running.insert(event.lane, goroutine);
            }
            Meaning::Stops => {
                self.running.remove(&event.lane);
            }
            Meaning::Created { goroutine, stack } => self.learn(trace, event, goroutine, stack),
            Meaning::Status { goroutine, thread } => {
                if let Some(thread) = thread {
                    self.running.insert(thread, goroutine);
                }
                owner = Some(goroutine);
            }
            _ => {}
        }
        if let Some(goroutine) = owner.filter(|_| event.stack != 0) {
            self.learn(trace, event, goroutine, event.stack);
        }
    }

    /// The goroutine that runs in a lane.
    pub(super) fn of(&self, lane: u64) -> Option<u64> {
        self.running.get(&lane).copied()
    }

    /// What the goroutine of a lane began with.
    pub(super) fn site(&self, lane: u64) -> Option<SiteId> {
        self.sites.get(&self.of(lane)?).copied()
    }

    /// The functions, by number.
    pub(super) fn names(self) -> Vec<Vec<u8>> {
        self.names
    }

    fn learn<S: Source>(&mut self, trace: &Trace<S>, event: &Event<'_>, goroutine: u64, stack: u64) {
        if self.sites.contains_key(&goroutine) || self.sites.len() >= GOROUTINES_MAX {
            return;
        }
        let outermost = trace.stack(event.generation, stack).and_then(Iterator::last);
        if let Some(name) = outermost.map(|frame| frame.function).filter(|name| !name.is_empty()) {
            let site = self.number(name);
            self.sites.insert(goroutine, site);
        }
    }

    fn number(&mut self, name: &[u8]) -> SiteId {
        if let Some(site) = self.numbers.get(name) {
            return *site;
        }
        let site = SiteId(self.names.len());
        self.names.push(name.to_vec());
        self.numbers.insert(name.to_vec(), site);
        site
    }
}
