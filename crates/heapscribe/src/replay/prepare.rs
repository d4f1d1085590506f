//! Compiles the events of a process into operations, in an unnamed temporary file: 16 bytes per call, so that a
//! long trace takes disk space and not memory.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result};
use heapscribe_formats::{LiveRole, Process, Scratch, Source, Trace};
use heapscribe_replay::{AllocRequest, Birth, Compiled, Compiler};
use heapscribe_wire::ids::RateId;
use heapscribe_wire::record::{Block, Call, Event, Note};

use super::chosen::of_samples;
use heapscribe_convert::file_source::nameless_file;
use heapscribe_convert::in_order::{At, InOrder, Shuffle};
use heapscribe_convert::live_level::{LiveLevel, LiveMoment};
use heapscribe_units as units;
use heapscribe_views::losses::Missing;

/// Points of a curve over time.
const STEPS: u64 = 400;
const PAGE_BYTES: u64 = 4096;
const PAGE_LOG2: u8 = 12;

/// Compiled operations.
pub(crate) struct Prepared {
    /// Its operations.
    pub(crate) file: File,
    /// How many there are of what.
    pub(crate) compiled: Compiled,
    /// The most that was live at a time, which is the report's figure; in the order of the operations it may have
    /// been a little more.
    pub(crate) peak: LiveMoment,
    /// Threads whose calls they were.
    pub(crate) threads: usize,
    /// What differs from the recording.
    pub(crate) doubts: Vec<String>,
    /// Whether frees may be among that.
    pub(crate) may_lack_frees: bool,
}

impl Prepared {
    /// Bytes and blocks of the peak.
    pub(crate) fn peak_live(&self) -> (u64, u64) {
        let amount = |n: i64| n.max(0).unsigned_abs();
        (amount(self.peak.bytes), amount(self.peak.blocks))
    }
}

/// Compiles the events of a process, in time order or in another possible order.
pub(crate) fn prepare<S: Source>(
    trace: &Trace<S>,
    process: &Process,
    shuffle: Option<Shuffle>,
) -> Result<Prepared> {
    compile(trace, process, shuffle, false)
}

/// The same in time order; operations say which thread made them.
pub(crate) fn prepare_threads<S: Source>(trace: &Trace<S>, process: &Process) -> Result<Prepared> {
    compile(trace, process, None, true)
}

fn compile<S: Source>(
    trace: &Trace<S>,
    process: &Process,
    shuffle: Option<Shuffle>,
    has_threads: bool,
) -> Result<Prepared> {
    let file = nameless_file().context("cannot create a temporary file")?;
    let step_ns = duration_ns(trace, process) / STEPS + 1;
    let compiler = Compiler::new(BufWriter::new(file), step_ns);
    let mut feed = Feed { compiler, level: LiveLevel::default(), lost: 0 };
    let mut doubts = feed.before(trace, process).context(NO_ROOM)?;
    let mut order = InOrder::new(trace, process).shuffled(shuffle);
    while let Some((at, event)) = order.next(trace) {
        if has_threads {
            feed.compiler.thread(at.thread).context(NO_ROOM)?;
            if matches!(event, Event::Note { note: Note::Mark | Note::End, .. }) {
                feed.compiler.marked(at.ns).context(NO_ROOM)?;
            }
        }
        feed.event(at, &event)?;
    }
    doubts.extend_from_slice(&order.problems);
    let may_lack_frees = !doubts.is_empty() || feed.lost > 0;
    // The process's own count is better, if its end was recorded.
    if feed.lost > 0 && process.end.is_none() {
        doubts.push(format!("{} missing from the trace", units::counted(feed.lost, "event")));
    }
    let (compiled, out) = feed.compiler.finish().context(NO_ROOM)?;
    let file = out.into_inner().map_err(|e| e.into_error()).context(NO_ROOM)?;
    if compiled.unknown > 0 {
        let blocks = units::counted(compiled.unknown, "block");
        let unseen = Missing::of_process(process).unseen_allocations();
        doubts.push(format!("{blocks} freed (ignored) whose allocation was not seen: {unseen}"));
    }
    feed.level.end_moment();
    let peak = feed.level.peak();
    Ok(Prepared { compiled, peak, threads: order.threads(), doubts, may_lack_frees, file })
}

const NO_ROOM: &str = "cannot write a temporary file (in TMPDIR, 16 bytes per call)";

fn duration_ns<S: Source>(trace: &Trace<S>, process: &Process) -> u64 {
    let chunks = || trace.chunks().iter().filter(|chunk| chunk.process == process.index);
    let end = chunks().map(|chunk| chunk.end_ns).max().unwrap_or(0);
    end.saturating_sub(chunks().map(|chunk| chunk.begin_ns).min().unwrap_or(0))
}

/// Passes events to the compiler.
struct Feed {
    compiler: Compiler<BufWriter<File>>,
    level: LiveLevel,
    lost: u64,
}

impl Feed {
    /// Blocks that were live before the first event of a ring.
    fn before<S: Source>(&mut self, trace: &Trace<S>, process: &Process) -> Result<Vec<String>> {
        let mut doubts = Vec::new();
        for table in process.live.iter().filter(|table| table.role == LiveRole::Before) {
            let (mut written, mut is_sampled) = (Ok(()), false);
            let skipped = trace.blocks(process.index, table, &mut Scratch::default(), |block| {
                is_sampled |= block.rate != RateId::FULL;
                if written.is_ok() && !block.is_pool {
                    let birth = Birth { thread: block.thread.0, ticks: block.birth_ticks };
                    self.level.before(block.size_bytes);
                    written = self.compiler.allocated(0, birth, AllocRequest::bytes(block.size_bytes));
                }
            })?;
            written?;
            if is_sampled {
                return Err(of_samples("the trace contains only samples").into());
            }
            doubts.extend(skipped.iter().map(ToString::to_string));
        }
        Ok(doubts)
    }

    fn event(&mut self, at: At, event: &Event) -> Result<()> {
        if event.is_pool() {
            return Ok(()); // within blocks of the heap
        }
        if at.rate != RateId::FULL {
            return Err(of_samples("the trace contains only samples").into());
        }
        self.level.event(at, event);
        let birth = Birth { thread: at.thread, ticks: at.ticks };
        match *event {
            Event::Alloc { call, size_bytes, align_log2, .. } => {
                self.compiler.allocated(at.ns, birth, request_of(call, size_bytes, align_log2))
            }
            Event::UnknownRealloc { size_bytes, .. } => {
                self.compiler.unknown_block();
                self.compiler.allocated(at.ns, birth, AllocRequest::bytes(size_bytes))
            }
            Event::Free { block, .. } => self.compiler.freed(at.ns, birth_of(at, &block)),
            Event::Realloc { old, size_bytes, .. } => {
                self.compiler.reallocated(at.ns, birth_of(at, &old), birth, size_bytes)
            }
            Event::UnknownFree { .. } => {
                self.compiler.unknown_block();
                Ok(())
            }
            Event::Lost { count, .. } => {
                self.lost = self.lost.saturating_add(count);
                Ok(())
            }
            Event::Failed { .. }
            | Event::Rate { .. }
            | Event::Note { .. }
            | Event::Took { .. }
            | Event::Mapping(_) => Ok(()),
        }
        .context(NO_ROOM)
    }
}

fn birth_of(at: At, block: &Block) -> Birth {
    Birth {
        thread: block.birth_thread.map_or(at.thread, |thread| thread.0),
        ticks: at.ticks.wrapping_sub(block.age_ticks),
    }
}

/// The request that a call makes to its heap.
fn request_of(call: Call, size_bytes: u64, align_log2: u8) -> AllocRequest {
    let zeroed = call == Call::Calloc;
    match call {
        Call::Pvalloc => {
            let size_bytes = size_bytes.max(1).checked_next_multiple_of(PAGE_BYTES).unwrap_or(size_bytes);
            AllocRequest { size_bytes, align_log2: PAGE_LOG2, zeroed }
        }
        Call::Valloc => AllocRequest { size_bytes, align_log2: PAGE_LOG2, zeroed },
        _ => AllocRequest { size_bytes, align_log2, zeroed },
    }
}
