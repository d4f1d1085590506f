//! One look at a process: what is live by stack, and what its threads have done so far.

use anyhow::Result;
use heapscribe_analyze::snapshot::Snapshot as Answer;
use heapscribe_formats::ResidentSample;
use heapscribe_wire::chunk::State;
use heapscribe_wire::mode::Mode;

use crate::live_estimate;
use heapscribe_session::heap_statistics::{self, HeapStatistics};
use heapscribe_session::inspect::{Exactness, SessionReader, Snapshot};
use heapscribe_session::{Memory, monotonic_ns};
use heapscribe_units::short_bytes;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// When, CLOCK_MONOTONIC ns.
    pub(crate) mono_ns: u64,
    /// The process, and its program.
    pub(crate) pid: u32,
    pub(crate) exe: String,
    /// What is recorded, in words.
    pub(crate) mode: String,
    /// The mean bytes between two samples, where blocks are sampled now.
    pub(crate) mean_bytes: Option<u64>,
    /// Whether it lives.
    pub(crate) is_alive: bool,
    /// Why it is not of one instant.
    pub(crate) inexact: Option<String>,
    /// How long allocations were paused, ns.
    pub(crate) held_ns: u64,
    /// Resident memory without the files of the recorder, bytes; 0 when the process has ended.
    pub(crate) rss_bytes: u64,
    /// Of what its resident memory is made, where that was asked for.
    pub(crate) memory: Option<ResidentSample>,
    /// The statistics of another heap in the process.
    pub(crate) heap: Option<HeapStatistics>,
    /// How long full chunks have waited for the drainer, ns.
    pub(crate) lag_ns: u64,
    /// By all threads, of recorded blocks, so far.
    pub(crate) allocated_bytes: u64,
    pub(crate) allocated_blocks: u64,
    pub(crate) freed_bytes: u64,
    /// What is live.
    pub(crate) live: Answer,
}

impl Look {
    /// Looks, at the pages of the process, too, if asked.
    pub(crate) fn at(session: &SessionReader, with_pages: bool) -> Result<Look> {
        let snapshot = if with_pages { take_with_map(session)? } else { Snapshot::take(session)? };
        let snapshot = snapshot.with_jit_names(session);
        let (live, memory) = live_estimate::answer_with_memory(&snapshot)?;
        let sum = |of: fn(&heapscribe_wire::operation::Record) -> u64| {
            snapshot.records.iter().map(of).fold(0, u64::wrapping_add)
        };
        let (head, alive) = (snapshot.head.get(), session.living_pid());
        Ok(Look {
            mono_ns: snapshot.moment.mono_ns,
            pid: alive.unwrap_or(head.pid),
            exe: String::from_utf8_lossy(head.exe).into_owned(),
            mode: in_words(head.mode),
            mean_bytes: match head.mode {
                Mode::Sampled { mean_bytes } => Some(mean_bytes),
                Mode::Off | Mode::Full => None,
            },
            is_alive: alive.is_some(),
            inexact: match &snapshot.exactness {
                Exactness::Inexact(why) => Some(why.to_string()),
                Exactness::Instant | Exactness::Ended => None,
            },
            held_ns: snapshot.held.as_nanos() as u64,
            rss_bytes: alive
                .and_then(|pid| Memory::of(pid).without(session.directory()).sample())
                .map_or(0, |sample| sample.rss_bytes),
            memory: memory.map(|memory| memory.sample(snapshot.moment.mono_ns)),
            heap: heap_of(session, head.pid, head.created_mono_ns),
            lag_ns: lag_ns(session)?,
            allocated_bytes: sum(|r| r.allocated_bytes),
            allocated_blocks: sum(|r| r.allocated_blocks),
            freed_bytes: sum(|r| r.freed_bytes),
            live,
        })
    }
}

/// A process that has ended has no pages.
fn take_with_map(session: &SessionReader) -> Result<Snapshot> {
    let taken =
        Snapshot::map_reader(session).and_then(|mut reader| Snapshot::take_with_map(session, &mut reader));
    match taken {
        Err(_) if session.living_pid().is_none() => Snapshot::take(session),
        taken => taken,
    }
}

fn in_words(mode: Mode) -> String {
    match mode {
        Mode::Off => "off".to_owned(),
        Mode::Full => "full".to_owned(),
        Mode::Sampled { mean_bytes } => format!("sampled every {}", short_bytes(mean_bytes)),
    }
}

/// The heap of a session's process.
fn heap_of(session: &SessionReader, pid: u32, created_mono_ns: u64) -> Option<HeapStatistics> {
    let base = session.directory().parent()?;
    HeapStatistics::read(&heap_statistics::nearest(base, pid, created_mono_ns)?)
}

fn lag_ns(session: &SessionReader) -> Result<u64> {
    let head = session.head()?;
    let now = monotonic_ns();
    let sealed = session.chunks(&head.get()).into_iter().filter(|chunk| chunk.state == State::Sealed as u32);
    Ok(sealed.map(|chunk| now.saturating_sub(chunk.end_mono_ns)).max().unwrap_or(0))
}
