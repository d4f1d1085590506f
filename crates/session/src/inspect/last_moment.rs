//! The last moment that is known of a process that has ended: the time of what it left, and up to which the ages of its
//! blocks count. That somebody asked later is no news of it.
//!
//! | what its session has | the moment |
//! |---|---|
//! | the file `ended` of sessions that are retained | when `record` saw that it had ended |
//! | `leaving` in its head | when it began to exit, or to exec |
//! | neither: it was killed, and so was `record` | the newest of its begin, its chunks and its blocks |

use std::path::Path;

use heapscribe_wire::chunk::Header;
use heapscribe_wire::head::{ClockKind, Head};
use heapscribe_wire::live::age_ticks;

use super::copied::Exactness;
use super::moment::{Moment, ticks_at};
use super::reader::SessionReader;
use super::snapshot::Snapshot;
use crate::clock::{monotonic_ns, time_stamp_counter};

/// The file of a retained session that says when its process had ended: CLOCK_MONOTONIC ns in decimal digits.
pub const ENDED: &str = "ended";

impl Snapshot {
    /// The same at the last moment that is known of its process, when that has ended.
    pub fn at_its_end(mut self, session: &SessionReader) -> Snapshot {
        if self.exactness != Exactness::Ended {
            return self;
        }
        let copy = self.head.clone();
        let (head, asked) = (copy.get(), self.moment);
        let chunks = session.chunks(&head);
        let ticks = now_ticks(asked.mono_ns, &head, &chunks);
        let mut youngest = None;
        let _ = self.for_each(|found| {
            let age = found.ok().map(|block| age_ticks(ticks, block.slot.birth_ticks));
            youngest = youngest.into_iter().chain(age).min();
        });
        let clock = TicksBefore {
            asked: Moment { ticks, ..asked },
            ns_per_tick: ns_per_tick(asked.mono_ns, ticks, &head),
        };
        let of_blocks = youngest.map(|age| clock.ns_before(age));
        self.moment = clock.at(ended_ns(session.directory(), &head, &chunks, of_blocks, asked.mono_ns));
        self.not_before_its_blocks();
        self
    }
}

impl SessionReader {
    /// The last moment that is known of its process, which has ended, but for the births of its blocks.
    pub fn ended_ns(&self, head: &Head<'_>) -> u64 {
        ended_ns(self.directory(), head, &self.chunks(head), None, monotonic_ns())
    }
}

/// The last moment that is known of a process by such things, none of which is after `asked_ns`.
fn ended_ns(
    session: &Path,
    head: &Head<'_>,
    chunks: &[Header],
    of_blocks: Option<u64>,
    asked_ns: u64,
) -> u64 {
    let of_chunks = chunks.iter().flat_map(|chunk| [chunk.begin_mono_ns, chunk.end_mono_ns]);
    let newest = of_chunks.chain(of_blocks).filter(|ns| *ns <= asked_ns).fold(head.created_mono_ns, u64::max);
    let left = head.leaving.map(|_| head.leaving_mono_ns);
    seen_to_end(session).or(left).unwrap_or(newest).max(newest)
}

/// What `record` wrote when it saw that the process of a session had ended.
fn seen_to_end(session: &Path) -> Option<u64> {
    std::fs::read_to_string(session.join(ENDED)).ok()?.trim().parse().ok()
}

/// The ticks of the process at the moment of the question.
fn now_ticks(mono_ns: u64, head: &Head<'_>, chunks: &[Header]) -> u64 {
    let counter = match head.clock_kind == ClockKind::Tsc as u32 {
        true => time_stamp_counter(),
        false => None,
    };
    counter.map_or_else(|| ticks_at(mono_ns, head, chunks), |counter| counter >> head.clock_shift.min(31))
}

fn ns_per_tick(mono_ns: u64, ticks: u64, head: &Head<'_>) -> f64 {
    if head.clock_kind == ClockKind::Monotonic as u32 {
        return f64::from(1u32 << head.clock_shift.min(31));
    }
    let since = (mono_ns.saturating_sub(head.created_mono_ns), ticks.saturating_sub(head.created_ticks));
    since.0 as f64 / since.1.max(1) as f64
}

/// Moments before that of the question.
struct TicksBefore {
    asked: Moment,
    ns_per_tick: f64,
}

impl TicksBefore {
    /// So many ticks before, CLOCK_MONOTONIC ns.
    fn ns_before(&self, ticks: u64) -> u64 {
        self.asked.mono_ns.saturating_sub((ticks as f64 * self.ns_per_tick) as u64)
    }

    /// The moment at a time, which is not later.
    fn at(&self, mono_ns: u64) -> Moment {
        let before_ns = self.asked.mono_ns.saturating_sub(mono_ns);
        Moment {
            mono_ns: self.asked.mono_ns - before_ns,
            real_ns: self.asked.real_ns.saturating_sub(before_ns),
            ticks: self
                .asked
                .ticks
                .saturating_sub((before_ns as f64 / self.ns_per_tick.max(f64::MIN_POSITIVE)) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_the_question_have_their_ticks_and_dates() {
        let asked = Moment { mono_ns: 5_000, real_ns: 1_000_000, ticks: 300 };
        let clock = TicksBefore { asked, ns_per_tick: 16.0 };
        assert_eq!((clock.ns_before(100), clock.ns_before(u64::MAX)), (3_400, 0));
        assert_eq!(clock.at(3_400), Moment { mono_ns: 3_400, real_ns: 998_400, ticks: 200 });
        assert_eq!(clock.at(9_000), asked, "nothing is known of later");
    }

    #[test]
    fn the_file_of_a_retained_session_says_when_it_ended() {
        let place = tempfile::tempdir().unwrap();
        for (text, expected) in [("123\n", Some(123)), ("", None), ("-7", None), ("12 3", None)] {
            std::fs::write(place.path().join(ENDED), text).unwrap();
            assert_eq!(seen_to_end(place.path()), expected, "{text:?}");
        }
    }
}
