//! What the collector did: collections, stops of the world, sweeps, help by goroutines. Begins and ends meet
//! where they belong together: collections and stops in the whole program, a sweep in its lane, help in
//! its goroutine.

use std::collections::{BTreeMap, HashMap};

use heapscribe_formats::Source;
use heapscribe_formats::gotrace::{Event, Meaning, Trace};

use super::answer::{Collection, Collections, GoAnswer, Stop, Work};

/// Collections that are listed one by one.
const LIST_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Collector {
    collections: Collections,
    /// The collection that is under way.
    marking: Option<Collection>,
    /// Whether the goal that comes next belongs to the last collection of the list.
    wants_goal: bool,
    live_bytes: u64,
    stops: BTreeMap<String, Work>,
    stopped: Option<(u64, String)>,
    sweeping: HashMap<u64, u64>,
    sweeps: Work,
    swept_bytes: u64,
    reclaimed_bytes: u64,
    assisting: HashMap<u64, u64>,
    assists: Work,
    procs: u64,
}

impl Collector {
    /// Takes the next event: when it was, and the goroutine that runs there.
    pub(super) fn event<S: Source>(
        &mut self,
        trace: &Trace<S>,
        event: &Event<'_>,
        meaning: &Meaning,
        ns: u64,
        goroutine: Option<u64>,
    ) {
        match *meaning {
            Meaning::HeapLive(bytes) => self.live_bytes = bytes,
            Meaning::HeapGoal(bytes) => self.goal(bytes),
            Meaning::GcBegin => self.begin(ns),
            Meaning::GcEnd => self.end(ns),
            Meaning::StopBegin(reason) => {
                self.stopped = Some((ns, trace.stop_reason(event.generation, reason)));
            }
            Meaning::StopEnd => {
                if let Some((begin_ns, reason)) = self.stopped.take() {
                    self.stops.entry(reason).or_default().add(begin_ns, ns);
                }
            }
            Meaning::SweepBegin => {
                self.sweeping.insert(event.lane, ns);
            }
            Meaning::SweepEnd { swept_bytes, reclaimed_bytes } => {
                if let Some(begin_ns) = self.sweeping.remove(&event.lane) {
                    self.sweeps.add(begin_ns, ns);
                }
                self.swept_bytes = self.swept_bytes.saturating_add(swept_bytes);
                self.reclaimed_bytes = self.reclaimed_bytes.saturating_add(reclaimed_bytes);
            }
            Meaning::AssistBegin => {
                goroutine.map(|goroutine| self.assisting.insert(goroutine, ns));
            }
            Meaning::AssistEnd => {
                if let Some(begin_ns) = goroutine.and_then(|goroutine| self.assisting.remove(&goroutine)) {
                    self.assists.add(begin_ns, ns);
                }
            }
            Meaning::Procs(procs) => self.procs = procs,
            _ => {}
        }
    }

    fn begin(&mut self, ns: u64) {
        let collection = Collection { begin_ns: ns, before_bytes: self.live_bytes, ..Collection::default() };
        if self.marking.replace(collection).is_some() {
            self.collections.partial += 1;
        }
    }

    fn end(&mut self, ns: u64) {
        let Some(mut collection) = self.marking.take() else {
            self.collections.partial += 1;
            return;
        };
        (collection.end_ns, collection.after_bytes) = (ns, self.live_bytes);
        self.collections.work.add(collection.begin_ns, ns);
        self.wants_goal = self.collections.list.len() < LIST_MAX;
        if self.wants_goal {
            self.collections.list.push(collection);
        }
    }

    fn goal(&mut self, bytes: u64) {
        if std::mem::take(&mut self.wants_goal)
            && let Some(last) = self.collections.list.last_mut()
        {
            last.goal_bytes = bytes;
        }
    }

    /// Its part of the answer.
    pub(super) fn finish(mut self) -> GoAnswer {
        self.collections.partial += u64::from(self.marking.is_some());
        let mut stops: Vec<_> = self.stops.into_iter().map(|(reason, work)| Stop { reason, work }).collect();
        stops.sort_by_key(|stop| std::cmp::Reverse(stop.work.total_ns));
        GoAnswer {
            collections: self.collections,
            stops,
            sweeps: self.sweeps,
            swept_bytes: self.swept_bytes,
            reclaimed_bytes: self.reclaimed_bytes,
            assists: self.assists,
            procs: self.procs,
            ..GoAnswer::default()
        }
    }
}
