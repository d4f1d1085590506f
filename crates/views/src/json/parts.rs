//! The objects that occur in more than one place of the JSON.

use heapscribe_analyze::answer::{
    Amount, Answer, Bounds, Calls, Dropped, FigureBounds, Peak, Range, Stack, StackBounds, Totals, WholePeak,
};
use heapscribe_formats::{Drainer, Evicted};
use heapscribe_wire::definitions::Interpreter;
use heapscribe_wire::head::LossReason;
use serde::ser::{Serialize, SerializeMap, Serializer};

use heapscribe_symbols::NamedFrame;
use heapscribe_wire::language::Language;

/// Calls by kind.
#[derive(serde::Serialize)]
pub struct CallsJson {
    total: u64,
    malloc: u64,
    calloc: u64,
    realloc: u64,
    aligned: u64,
    free: u64,
}

impl From<&Calls> for CallsJson {
    fn from(c: &Calls) -> Self {
        CallsJson {
            total: c.all(),
            malloc: c.malloc,
            calloc: c.calloc,
            realloc: c.realloc,
            aligned: c.aligned,
            free: c.free,
        }
    }
}

/// What a process, a thread or all of them did.
#[derive(serde::Serialize)]
pub struct TotalsJson {
    calls: CallsJson,
    allocations: u64,
    bytes_allocated: u64,
    frees: u64,
    bytes_freed: u64,
    failed: u64,
    reallocs: ReallocsJson,
    unknown_blocks: u64,
    frees_by_other_threads: u64,
}

#[derive(serde::Serialize)]
struct ReallocsJson {
    grown: u64,
    shrunk: u64,
    same: u64,
}

impl From<&Totals> for TotalsJson {
    fn from(t: &Totals) -> Self {
        TotalsJson {
            calls: (&t.calls).into(),
            allocations: t.allocations,
            bytes_allocated: t.allocated_bytes,
            frees: t.frees,
            bytes_freed: t.freed_bytes,
            failed: t.failed,
            reallocs: ReallocsJson {
                grown: t.reallocs_grown,
                shrunk: t.reallocs_shrunk,
                same: t.reallocs_same,
            },
            unknown_blocks: t.unknown_blocks,
            frees_by_other_threads: t.frees_by_others,
        }
    }
}

/// Blocks and their bytes.
#[derive(serde::Serialize)]
pub struct BlocksJson {
    blocks: u64,
    bytes: u64,
}

impl From<Amount> for BlocksJson {
    fn from(a: Amount) -> Self {
        BlocksJson { blocks: a.blocks, bytes: a.bytes }
    }
}

/// Between what a number lies.
#[derive(serde::Serialize)]
pub struct RangeJson {
    low: u64,
    /// None where there is no telling.
    high: Option<u64>,
}

impl From<&Range> for RangeJson {
    fn from(range: &Range) -> Self {
        RangeJson { low: range.low, high: range.high }
    }
}

/// Between what blocks and their bytes lie.
#[derive(serde::Serialize)]
pub struct RangesJson {
    blocks: RangeJson,
    bytes: RangeJson,
}

impl From<&Bounds> for RangesJson {
    fn from(bounds: &Bounds) -> Self {
        RangesJson { blocks: (&bounds.blocks).into(), bytes: (&bounds.bytes).into() }
    }
}

/// Between what the figures lie that losses have touched.
#[derive(serde::Serialize)]
pub struct BoundsJson {
    allocations: RangesJson,
    frees: RangesJson,
    peak: RangesJson,
    leaked: RangesJson,
}

impl From<&FigureBounds> for BoundsJson {
    fn from(bounds: &FigureBounds) -> Self {
        BoundsJson {
            allocations: (&bounds.allocated).into(),
            frees: (&bounds.freed).into(),
            peak: (&bounds.peak).into(),
            leaked: (&bounds.leaked).into(),
        }
    }
}

/// The same of a stack.
#[derive(serde::Serialize)]
pub struct StackBoundsJson {
    peak: RangesJson,
    leaked: RangesJson,
}

impl From<&StackBounds> for StackBoundsJson {
    fn from(bounds: &StackBounds) -> Self {
        StackBoundsJson { peak: (&bounds.at_peak).into(), leaked: (&bounds.leaked).into() }
    }
}

/// What was never freed, and how old it was where the trace has a table of that.
#[derive(serde::Serialize)]
pub struct LeakedJson {
    blocks: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    youngest_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_ns: Option<u64>,
}

impl LeakedJson {
    /// Of a stack.
    pub fn of(stack: &Stack) -> LeakedJson {
        LeakedJson {
            blocks: stack.leaked.blocks,
            bytes: stack.leaked.bytes,
            youngest_ns: stack.leaked_age.map(|age| age.youngest_ns),
            oldest_ns: stack.leaked_age.map(|age| age.oldest_ns),
        }
    }
}

/// How often something happened, and to how many bytes.
#[derive(serde::Serialize)]
pub struct CountJson {
    count: u64,
    bytes: u64,
}

impl From<Amount> for CountJson {
    fn from(a: Amount) -> Self {
        CountJson { count: a.blocks, bytes: a.bytes }
    }
}

/// The moment of most bytes.
#[derive(serde::Serialize)]
pub struct PeakJson {
    bytes: u64,
    blocks: u64,
    time_ns: u64,
}

impl From<&Peak> for PeakJson {
    fn from(p: &Peak) -> Self {
        PeakJson { bytes: p.bytes, blocks: p.blocks, time_ns: p.time_ns }
    }
}

/// `total` counts the events that are lost; then every reason by its name, also those that are 0 and
/// those that lose no events but leave less in them.
pub struct DroppedJson {
    lost_events: u64,
    counts: [u64; LossReason::ALL.len()],
}

impl DroppedJson {
    /// From the reasons that occurred; the trace itself tells of `lost_in_trace` at least.
    pub fn new(dropped: &[Dropped], lost_in_trace: u64) -> Self {
        let counts = LossReason::ALL.map(|reason| {
            dropped.iter().filter(|d| d.reason == reason as u8).map(|d| d.count).fold(0, u64::saturating_add)
        });
        let lost: u64 = LossReason::ALL
            .iter()
            .zip(counts)
            .filter(|(r, _)| r.loses_events())
            .map(|(_, n)| n)
            .fold(0, u64::saturating_add);
        DroppedJson { lost_events: lost.max(lost_in_trace), counts }
    }
}

impl Serialize for DroppedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.counts.len()))?;
        map.serialize_entry("total", &self.lost_events)?;
        for (reason, count) in LossReason::ALL.iter().zip(&self.counts) {
            map.serialize_entry(reason.name(), count)?;
        }
        map.end()
    }
}

/// One line of a stack.
#[derive(serde::Serialize)]
pub struct FrameJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'static str>,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    module: Option<String>,
    offset: String,
    inlined: bool,
    guessed: bool,
    cut: Option<&'static str>,
}

impl From<NamedFrame> for FrameJson {
    fn from(f: NamedFrame) -> Self {
        FrameJson {
            language: f
                .language
                .filter(|language| *language != Language(0))
                .map(|language| language.name().unwrap_or("unknown")),
            function: f.function,
            file: f.file,
            line: f.line,
            module: f.module,
            offset: format!("{:#x}", f.offset),
            inlined: f.inlined,
            guessed: f.guessed,
            cut: f.cut.map(LossReason::name),
        }
    }
}

/// How the collector kept up with the programs.
#[derive(serde::Serialize)]
pub struct DrainerJson {
    waiting_bytes: u64,
    waiting_ns: u64,
    full_logs: u64,
    hurried_chunks: u64,
    cpu_ns: u64,
    peak_rss_bytes: u64,
}

impl From<&Drainer> for DrainerJson {
    fn from(d: &Drainer) -> Self {
        DrainerJson {
            waiting_bytes: d.waiting_bytes,
            waiting_ns: d.waiting_ns,
            full_logs: d.full_logs,
            hurried_chunks: d.hurried_chunks,
            cpu_ns: d.cpu_ns,
            peak_rss_bytes: d.peak_rss_bytes,
        }
    }
}

/// A peak before the window of a ring.
#[derive(serde::Serialize)]
pub struct WholePeakJson {
    bytes: u64,
    time_ns: u64,
}

impl From<&WholePeak> for WholePeakJson {
    fn from(peak: &WholePeak) -> Self {
        WholePeakJson { bytes: peak.bytes, time_ns: peak.time_ns }
    }
}

/// What the rest of a recording lacks.
#[derive(serde::Serialize)]
pub struct RestJson {
    until_ns: u64,
    /// None where it is not known.
    live: Option<BlocksJson>,
}

impl RestJson {
    /// `None` of a recording that is none.
    pub fn of(evicted: &Evicted, begin_mono_ns: u64) -> Option<RestJson> {
        let live = Amount { blocks: evicted.allocated_blocks, bytes: evicted.allocated_bytes };
        (!evicted.is_counted()).then(|| RestJson {
            until_ns: evicted.until_mono_ns.saturating_sub(begin_mono_ns),
            live: (live != Amount::default()).then(|| live.into()),
        })
    }
}

/// What a ring let go: it counts nowhere else but in the level of the heap.
#[derive(serde::Serialize)]
pub struct RingJson {
    until_ns: u64,
    events: u64,
    calls: u64,
    allocations: u64,
    bytes_allocated: u64,
    frees: u64,
    bytes_freed: u64,
    lost_events: u64,
    processes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaked: Option<BlocksJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak: Option<WholePeakJson>,
}

impl RingJson {
    /// `None` when it is nothing.
    pub fn of(evicted: &Evicted, peak: Option<&WholePeak>, begin_mono_ns: u64) -> Option<RingJson> {
        evicted.is_of_ring().then(|| RingJson {
            until_ns: evicted.until_mono_ns.saturating_sub(begin_mono_ns),
            events: evicted.events,
            calls: evicted.heap_calls(),
            allocations: evicted.allocated_blocks,
            bytes_allocated: evicted.allocated_bytes,
            frees: evicted.freed_blocks,
            bytes_freed: evicted.freed_bytes,
            lost_events: evicted.lost_events,
            processes: evicted.processes,
            leaked: None,
            peak: peak.map(WholePeakJson::from),
        })
    }

    /// Of a whole recording: what processes have never freed that were evicted completely.
    pub fn of_all(answer: &Answer) -> Option<RingJson> {
        let ring = RingJson::of(&answer.evicted, answer.whole_peak.as_ref(), answer.begin_mono_ns)?;
        Some(RingJson { leaked: Some(answer.leaked_by_evicted.into()), ..ring })
    }
}

/// An interpreter that processes had.
#[derive(serde::Serialize)]
pub struct InterpreterJson {
    language: Option<&'static str>,
    version: Option<String>,
    frames_read: Option<&'static str>,
    objects: Option<&'static str>,
}

impl From<&Interpreter> for InterpreterJson {
    fn from(interpreter: &Interpreter) -> InterpreterJson {
        InterpreterJson {
            language: interpreter.language.name(),
            version: crate::interpreters::version(interpreter.version),
            frames_read: interpreter.frames.name(),
            objects: interpreter.objects.name(),
        }
    }
}
