//! What the page begins with: the program, and what can be asked of it.

use heapscribe_analyze::input::History as _;
use heapscribe_symbols::lossy;
use heapscribe_views::json::parts::{BlocksJson, PeakJson};
use serde::Serialize;

use super::analysis::Analysis;
use super::columns::{ProcessColumns, ThreadColumns};
use super::findings::{FindingRow, LongLivedRow};
use super::pages::has_pages;
use super::viewer::Viewer;

/// What is known before any event is read.
#[derive(Serialize)]
pub(super) struct Summary {
    /// Path of the trace.
    trace: String,
    /// Path of the trace that it is compared with.
    baseline: Option<String>,
    /// Whether it is a look at a process that runs.
    is_live: bool,
    command: Vec<String>,
    host: String,
    /// When it began, ns since 1970; 0 when that is not known.
    begin_real_ns: u64,
    /// None of what has no times.
    duration_ns: Option<u64>,
    /// Whether any range is answered by the index; else each question reads all events.
    has_index: bool,
    /// Whether messages of a log are shown beside it.
    has_messages: bool,
    /// Whether it is a snapshot with its pages.
    has_pages: bool,
    /// Whether numbers of blocks are known.
    has_blocks: bool,
    /// What can be shown.
    shows: &'static [&'static str],
    processes: usize,
    /// What has to be known to read the figures, in sentences.
    caveats: Vec<&'static str>,
}

const COARSE: &str = "The index is coarse, as memory did not suffice: some stacks are counted as unknown. Delete it and \
                      use more --index-memory.";
const NO_INDEX: &str = "There is no index: each question reads all events.";

/// What can be shown of a recording, of a ring without its first events, of a snapshot, of a profile, and of the heap over
/// time alone.
const OF_RANGES: &[&str] = &["live", "allocated", "freed", "retained", "within", "left"];
const OF_RING: &[&str] = &["live", "allocated", "freed", "left"];
const OF_SNAPSHOT: &[&str] = &["live"];
const OF_PROFILE: &[&str] = &["live", "allocated"];
const OF_CURVE: &[&str] = &[];

impl Summary {
    pub(super) fn of(viewer: &Viewer<'_>) -> Summary {
        let session = viewer.recording.session();
        let is_snapshot = heapscribe_analyze::snapshot::is_one(&**viewer.trace);
        let of_profile = viewer.trace.profile.as_ref().map(|sums| &sums.about.known);
        let index = viewer.ranges.as_ref().map(|ranges| ranges.index());
        let caveat = match index {
            Some(None) => Some(NO_INDEX),
            Some(Some(index)) if index.is_coarse() => Some(COARSE),
            _ => None,
        };
        Summary {
            trace: viewer.shown.clone(),
            baseline: viewer.baseline.as_ref().map(|baseline| baseline.shown.clone()),
            is_live: viewer.is_live,
            command: session.command.iter().map(|part| lossy(part)).collect(),
            host: session.host,
            begin_real_ns: session.begin_real_ns,
            duration_ns: viewer.ranges.as_ref().map(|ranges| ranges.extent().duration_ns),
            has_messages: !viewer.messages.is_empty(),
            has_pages: has_pages(viewer.trace),
            has_index: index.flatten().is_some(),
            has_blocks: of_profile
                .is_none_or(|known| known.live.blocks || known.at_peak.blocks || known.allocated.blocks),
            shows: match (&viewer.ranges, is_snapshot) {
                (Some(_), _) => OF_RANGES,
                (None, _) if of_profile.is_some_and(|known| known.allocated.bytes) => OF_PROFILE,
                (None, _) if of_profile.is_some_and(|known| known.is_any()) => OF_SNAPSHOT,
                (None, _) if of_profile.is_some() => OF_CURVE,
                (None, true) => OF_SNAPSHOT,
                (None, false) => OF_RING,
            },
            processes: viewer.processes.len(),
            caveats: caveat.into_iter().collect(),
        }
    }
}

/// What is known when all events were read.
#[derive(Serialize)]
pub(super) struct Whole<'a> {
    peak: PeakJson,
    left: BlocksJson,
    allocations: u64,
    allocated_bytes: u64,
    frees: u64,
    is_estimated: bool,
    /// Whether the peak and the timeline are those of a ring.
    is_ring: bool,
    duration_ns: u64,
    caveats: &'a [String],
    notes: &'a [String],
    findings: &'a [FindingRow],
    long_lived: Option<&'a LongLivedRow>,
    processes: ProcessColumns,
    threads: ThreadColumns,
}

impl<'a> Whole<'a> {
    pub(super) fn of(analysis: &'a Analysis) -> Whole<'a> {
        let answer = &analysis.answer;
        Whole {
            peak: (&answer.peak).into(),
            left: answer.leaked.into(),
            allocations: answer.totals.allocations,
            allocated_bytes: answer.totals.allocated_bytes,
            frees: answer.totals.frees,
            is_estimated: answer.sampling.is_some(),
            is_ring: answer.evicted.is_of_ring(),
            duration_ns: answer.duration_ns,
            caveats: &analysis.caveats,
            notes: &analysis.notes,
            findings: &analysis.findings,
            long_lived: analysis.long_lived.as_ref(),
            processes: ProcessColumns::of(answer),
            threads: ThreadColumns::of(&answer.threads),
        }
    }
}
