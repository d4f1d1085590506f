//! Marks from outside, requested by `ctl PID mark NAME`: written into the trace like the program's own, in a
//! chunk of thread 0.
//!
//! The collector cannot read the clock that a process's ticks come from. It takes the latest moment of which
//! a chunk says both times, and goes on from there by the rate between two such moments.

use std::collections::BTreeMap;

use heapscribe_formats::model::{ChunkInfo, ProcessIndex};
use heapscribe_wire::chunk::Header;
use heapscribe_wire::defs::{DEFINITION_BYTES_MAX, Definition, Position};
use heapscribe_wire::head::{ClockKind, Head, MONOTONIC_SHIFT};
use heapscribe_wire::ids::NameId;
use heapscribe_wire::limits::{EVENT_BYTES_MAX, NAMES_MAX};
use heapscribe_wire::record::{Event, Note};

use crate::clock_pair::ClockPair;
use crate::output::Output;
use heapscribe_session::MarkRequest;

/// Moments nearer to each other than this give no rate of a clock.
const BASELINE_NS: u64 = 10_000_000;

/// Where a mark is written.
pub(super) struct MarkContext<'a> {
    pub(super) process: ProcessIndex,
    /// How far the definitions of the process are written.
    pub(super) position: Position,
    pub(super) head: &'a Head<'a>,
    /// The chunks of its log that are in use.
    pub(super) headers: &'a [(usize, Header)],
}

/// The marks of one session that `ctl` requested.
#[derive(Default)]
pub(super) struct Marks {
    names: BTreeMap<Vec<u8>, u32>,
    sequence: u64,
}

impl Marks {
    /// Writes a mark: its name, when it is new, and an event at its time.
    pub(super) fn write(
        &mut self,
        MarkRequest { mono_ns, name }: MarkRequest,
        context: &MarkContext<'_>,
        output: &mut Output,
    ) {
        let &MarkContext { process, position, head, headers } = context;
        let next = NAMES_MAX + 1 + self.names.len() as u32;
        let id = NameId(*self.names.entry(name.clone()).or_insert(next));
        if id.0 == next {
            let mut at = [0; DEFINITION_BYTES_MAX];
            let n = Definition::Name { id, name: &name }.encode(&mut position.clone(), &mut at).unwrap_or(0);
            output.definitions(process, position, &at[..n]);
        }
        let (from, dt) = place(mono_ns, head, headers);
        let info = ChunkInfo {
            thread: 0,
            sequence: self.sequence,
            begin_ticks: from.ticks,
            begin_mono_ns: from.mono_ns,
            ..ChunkInfo::default()
        };
        self.sequence += 1;
        let mut at = [0; EVENT_BYTES_MAX];
        let n = Event::Note { note: Note::Mark, name: id }.encode(dt, &mut at);
        output.events(process, &info, &at[..n]);
        output.flush();
    }
}

/// A moment before this one of which both times are known, and the ticks from there on.
fn place(mono_ns: u64, head: &Head<'_>, headers: &[(usize, Header)]) -> (ClockPair, u64) {
    let created = ClockPair { ticks: head.created_ticks, mono_ns: head.created_mono_ns };
    let begins = headers.iter().map(|(_, h)| ClockPair { ticks: h.begin_ticks, mono_ns: h.begin_mono_ns });
    let ends = headers.iter().map(|(_, h)| ClockPair { ticks: h.end_ticks, mono_ns: h.end_mono_ns });
    let is_known = |pair: &ClockPair| (created.mono_ns..=mono_ns).contains(&pair.mono_ns) && pair.ticks != 0;
    let mut pairs: Vec<ClockPair> = begins.chain(ends).chain([created]).filter(is_known).collect();
    pairs.sort_by_key(|pair| pair.mono_ns);
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return (created, 1) };
    let ns = last.mono_ns - first.mono_ns;
    let ns_per_tick = match last.ticks.checked_sub(first.ticks) {
        _ if head.clock_kind == ClockKind::Monotonic as u32 => f64::from(1u32 << MONOTONIC_SHIFT),
        Some(ticks @ 1..) if ns >= BASELINE_NS => ns as f64 / ticks as f64,
        _ => return (*last, 1),
    };
    (*last, (((mono_ns - last.mono_ns) as f64 / ns_per_tick) as u64).max(1))
}
