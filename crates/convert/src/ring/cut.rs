//! Cuts the events before a moment off a ring: a ring evicts whole files of whole chunks, and the chunk of a thread that
//! was silent for an hour begins an hour ago.

use heapscribe_formats::model::ProcessInfo;
use heapscribe_formats::{ChunkInfo, ChunkSums};
use heapscribe_wire::head::ClockKind;
use heapscribe_wire::ids::{NameId, RateId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Event, Note};

/// The first moment of which events stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cutoff {
    /// CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// A later reading of the time stamp counter, and the CLOCK_MONOTONIC ns of the same moment; where it is not
    /// known, processes that go by it are left as they are.
    pub counter: Option<(u64, u64)>,
}

/// From ns to the ticks of a process and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickClock {
    created_ticks: u64,
    created_mono_ns: u64,
    ns_per_tick: f64,
}

impl TickClock {
    /// The clock of a process, and the first tick that stays of it; `None` where all of it does.
    pub(super) fn of(info: &ProcessInfo, cutoff: &Cutoff) -> Option<(TickClock, u64)> {
        let after_ns = cutoff.mono_ns.checked_sub(info.created_mono_ns).filter(|ns| *ns > 0)?;
        let unit = (1u64 << info.clock_shift.min(63)) as f64;
        let ns_per_tick = match info.clock_kind {
            ClockKind::Monotonic => unit,
            ClockKind::Tsc => {
                let (raw, mono_ns) = cutoff.counter?;
                let created = info.created_ticks.checked_shl(info.clock_shift)?;
                let passed = raw.checked_sub(created).filter(|passed| *passed > 0)?;
                mono_ns.checked_sub(info.created_mono_ns)? as f64 / passed as f64 * unit
            }
        };
        let clock = TickClock {
            created_ticks: info.created_ticks,
            created_mono_ns: info.created_mono_ns,
            ns_per_tick,
        };
        Some((clock, info.created_ticks.saturating_add((after_ns as f64 / ns_per_tick).ceil() as u64)))
    }

    /// When a tick is.
    fn mono_ns(&self, ticks: u64) -> u64 {
        let after = ticks.saturating_sub(self.created_ticks) as f64 * self.ns_per_tick;
        self.created_mono_ns.saturating_add(after as u64)
    }
}

/// A chunk that begins before the first tick that stays.
#[derive(Debug)]
pub(super) struct Cut {
    /// What was cut off.
    pub(super) sums: ChunkSums,
    /// What stays.
    pub(super) info: ChunkInfo,
    pub(super) payload: Vec<u8>,
}

impl Cut {
    /// Cuts a chunk. What stays begins with the rate in force and the sections that the thread was in.
    pub(super) fn new(
        info: &ChunkInfo,
        events: impl IntoIterator<Item = (u64, Event)>,
        from_ticks: u64,
        clock: &TickClock,
    ) -> Cut {
        let mut before = Before::new(info);
        let mut events = events.into_iter().peekable();
        while let Some((dt, event)) = events.next_if(|(dt, event)| {
            let has_time = !matches!(event, Event::Rate { .. } | Event::Took { .. });
            !has_time || before.ticks.wrapping_add(*dt) < from_ticks
        }) {
            before.take(dt, &event);
        }
        let begin_ticks = before.ticks;
        let mut payload = Vec::new();
        let mut put = |dt: u64, event: &Event| {
            let mut at = [0; EVENT_BYTES_MAX];
            let n = event.encode(dt, &mut at);
            payload.extend_from_slice(&at[..n]);
        };
        let stays_any = events.peek().is_some();
        if stays_any && before.rate != RateId::FULL {
            put(0, &Event::Rate { rate: before.rate });
        }
        for (name, began) in before.sections.into_iter().filter(|_| stays_any) {
            let note = Note::GoesOn { age_ticks: begin_ticks.saturating_sub(began) };
            put(0, &Event::Note { note, name });
        }
        events.for_each(|(dt, event)| put(dt, &event));
        let info = ChunkInfo {
            begin_ticks,
            begin_mono_ns: clock.mono_ns(begin_ticks),
            last_alloc_ticks: before.last_alloc_ticks,
            ..*info
        };
        Cut { sums: before.sums, info, payload }
    }
}

/// The state of a thread after some events of a chunk.
struct Before {
    sums: ChunkSums,
    ticks: u64,
    last_alloc_ticks: u64,
    rate: RateId,
    sections: Vec<(NameId, u64)>,
}

impl Before {
    fn new(info: &ChunkInfo) -> Before {
        Before {
            sums: ChunkSums::begin(info),
            ticks: info.begin_ticks,
            last_alloc_ticks: info.last_alloc_ticks,
            rate: RateId::FULL,
            sections: Vec::new(),
        }
    }

    fn take(&mut self, dt: u64, event: &Event) {
        self.sums.add_event(dt, event);
        match *event {
            Event::Rate { rate } => {
                // Repeated, it says that the last block was not sampled.
                self.last_alloc_ticks = if rate == self.rate { 0 } else { self.last_alloc_ticks };
                self.rate = rate;
                return;
            }
            Event::Took { .. } => return,
            _ => self.ticks = self.ticks.wrapping_add(dt),
        }
        match *event {
            _ if event.is_pool() => {}
            Event::Alloc { .. } | Event::Realloc { .. } | Event::UnknownRealloc { .. } => {
                self.last_alloc_ticks = self.ticks;
            }
            Event::Lost { .. } => self.last_alloc_ticks = 0,
            Event::Note { note, name } => self.note(note, name),
            _ => {}
        }
    }

    fn note(&mut self, note: Note, name: NameId) {
        match note {
            Note::Mark => {}
            Note::Begin => self.sections.push((name, self.ticks)),
            Note::GoesOn { age_ticks } => self.sections.push((name, self.ticks.wrapping_sub(age_ticks))),
            Note::End => {
                let at = self.sections.iter().rposition(|(open, _)| *open == name);
                self.sections.truncate(at.unwrap_or(self.sections.len()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::ids::StackId;
    use heapscribe_wire::record::{Block, Call, Events};

    use super::*;

    const NAME: NameId = NameId(7);
    const INFO: ChunkInfo = ChunkInfo {
        thread: 1,
        sequence: 3,
        begin_ticks: 1000,
        begin_mono_ns: 0,
        end_ticks: 1090,
        end_mono_ns: 0,
        last_alloc_ticks: 900,
    };

    fn events() -> Vec<(u64, Event)> {
        let alloc = Event::Alloc { call: Call::Malloc, size_bytes: 24, stack: StackId(1), align_log2: 0 };
        let block = Block { size_bytes: 24, stack: StackId(1), age_ticks: 10, birth_thread: None };
        let rate = Event::Rate { rate: RateId(1) };
        let note = |note| Event::Note { note, name: NAME };
        vec![
            (10, alloc),
            (0, Event::Took { units: 3 }),
            (10, note(Note::Begin)),
            (0, rate),
            (10, alloc),
            (10, Event::Free { call: Call::Free, block }),
            (10, note(Note::End)),
            (40, alloc),
        ]
    }

    /// Ticks of the events that have a time, and whether they are calls of the heap.
    fn times(begin_ticks: u64, events: impl Iterator<Item = (u64, Event)>) -> Vec<(u64, bool)> {
        let has_time = |event: &Event| !matches!(event, Event::Rate { .. } | Event::Took { .. });
        let times = events.filter(|(_, event)| has_time(event)).scan(begin_ticks, |ticks, (dt, event)| {
            *ticks += dt;
            Some((*ticks, event.call().is_some()))
        });
        times.collect()
    }

    /// What is cut off up to a tick: its events, and how the rest begins.
    fn check(from_ticks: u64, dropped: u32, last_alloc_ticks: u64, prefix: &[Event]) {
        let clock = TickClock { created_ticks: 0, created_mono_ns: 0, ns_per_tick: 2.0 };
        let cut = Cut::new(&INFO, events(), from_ticks, &clock);
        let rest: Vec<(u64, Event)> = Events::new(&cut.payload).map(Result::unwrap).collect();
        let all = times(INFO.begin_ticks, events().into_iter());
        let staying: Vec<_> = all.iter().copied().filter(|(ticks, _)| *ticks >= from_ticks).collect();
        assert_eq!(cut.sums.events, dropped, "before {from_ticks}");
        assert_eq!(rest.iter().map(|(_, event)| *event).take(prefix.len()).collect::<Vec<_>>(), prefix);
        let found = times(cut.info.begin_ticks, rest.into_iter());
        let sections = prefix.iter().filter(|event| matches!(event, Event::Note { .. })).count();
        assert_eq!(found[sections..], staying, "from {from_ticks}");
        assert_eq!(cut.info.last_alloc_ticks, last_alloc_ticks);
        assert_eq!(cut.info.begin_mono_ns, 2 * cut.info.begin_ticks);
    }

    #[test]
    fn what_stays_goes_on_where_it_was() {
        let rate = Event::Rate { rate: RateId(1) };
        let goes_on = |age_ticks| Event::Note { note: Note::GoesOn { age_ticks }, name: NAME };
        check(1010, 0, 900, &[]);
        check(1011, 1, 1010, &[]);
        check(1021, 2, 1010, &[rate, goes_on(0)]);
        check(1031, 3, 1030, &[rate, goes_on(10)]);
        check(1041, 4, 1030, &[rate, goes_on(20)]);
        check(1051, 5, 1030, &[rate]);
        check(1090, 5, 1030, &[rate]);
        let none = Cut::new(
            &INFO,
            events(),
            1091,
            &TickClock { created_ticks: 0, created_mono_ns: 0, ns_per_tick: 2.0 },
        );
        assert_eq!((none.sums.events, none.payload.len()), (6, 0));
    }
}
