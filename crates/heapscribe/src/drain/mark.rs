//! Marks from outside: `ctl PID mark NAME` leaves a request in the session's directory, and the drainer
//! writes it into the trace as if the program had said it, in a chunk of thread 0.
//!
//! ```text
//!   mark      CLOCK_MONOTONIC ns u64   name          made beside and moved to its place; the drainer removes it
//! ```
//! The drainer cannot read the clock that a process's ticks come from. It takes the latest moment of which
//! a chunk says both times, and goes on from there by the rate between two such moments.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use heapscribe_formats::model::{ChunkInfo, ProcessIndex};
use heapscribe_wire::chunk::Header;
use heapscribe_wire::defs::{DEFINITION_BYTES_MAX, Definition, Position};
use heapscribe_wire::head::{ClockKind, Head, MONOTONIC_SHIFT};
use heapscribe_wire::ids::NameId;
use heapscribe_wire::limits::{EVENT_BYTES_MAX, MARK_NAME_BYTES_MAX, NAMES_MAX};
use heapscribe_wire::record::{Event, Note};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::base::monotonic_ns;
use super::files::read_up_to;
use super::output::Output;

/// The request's name in a session's directory.
const FILE_NAME: &str = "mark";
/// Bytes before the name.
const TIME_BYTES: usize = 8;
/// Moments nearer to each other than this say nothing of a clock's rate.
const BASELINE_NS: u64 = 10_000_000;

/// A moment on both clocks.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pair {
    ticks: u64,
    mono_ns: u64,
}

/// Leaves a request for the drainer of this session.
///
/// # Errors
/// `AlreadyExists` while another waits to be taken, and those of the file system.
pub(crate) fn request(directory: &Path, name: &[u8]) -> io::Result<()> {
    let made = directory.join(format!("{FILE_NAME}.{}", std::process::id()));
    let name = name.get(..MARK_NAME_BYTES_MAX).unwrap_or(name);
    fs::write(&made, [&monotonic_ns().to_le_bytes(), name].concat())?;
    let moved = renameat_with(CWD, &made, CWD, directory.join(FILE_NAME), RenameFlags::NOREPLACE);
    moved.map_err(|e| {
        let _ = fs::remove_file(&made);
        io::Error::from(e)
    })
}

/// Whether a request waits to be taken.
pub(crate) fn is_waiting(directory: &Path) -> bool {
    directory.join(FILE_NAME).exists()
}

/// The marks of one session that came from outside.
#[derive(Default)]
pub(super) struct Marks {
    names: BTreeMap<Vec<u8>, u32>,
    sequence: u64,
}

impl Marks {
    /// The request that waits, if there is one; it is gone then.
    pub(super) fn take(directory: &Path) -> Option<(u64, Vec<u8>)> {
        let path = directory.join(FILE_NAME);
        let file: File = super::files::open_file(&path, false)?;
        let mut bytes = [0; TIME_BYTES + MARK_NAME_BYTES_MAX];
        let n = read_up_to(&file, &mut bytes, 0);
        fs::remove_file(&path).ok()?;
        let (time, name) = bytes.get(..n)?.split_first_chunk()?;
        Some((u64::from_le_bytes(*time), name.to_vec()))
    }

    /// Writes a mark: its name, when it is new, and an event at its time.
    pub(super) fn write(
        &mut self,
        (mono_ns, name): (u64, Vec<u8>),
        (process, position): (ProcessIndex, Position),
        (head, headers): (&Head<'_>, &[(usize, Header)]),
        output: &mut Output,
    ) {
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
fn place(mono_ns: u64, head: &Head<'_>, headers: &[(usize, Header)]) -> (Pair, u64) {
    let created = Pair { ticks: head.created_ticks, mono_ns: head.created_mono_ns };
    let begins = headers.iter().map(|(_, h)| Pair { ticks: h.begin_ticks, mono_ns: h.begin_mono_ns });
    let ends = headers.iter().map(|(_, h)| Pair { ticks: h.end_ticks, mono_ns: h.end_mono_ns });
    let is_known = |pair: &Pair| (created.mono_ns..=mono_ns).contains(&pair.mono_ns) && pair.ticks != 0;
    let mut pairs: Vec<Pair> = begins.chain(ends).chain([created]).filter(is_known).collect();
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
