//! Makes one trace of the files of a ring: blocks are copied as they are stored, and each file of events is
//! removed when it is in the trace, so that all together never take more room than the ring may. Before that it is
//! counted as evicted: should the trace not be finished, each event is in it, or in what is left of the ring, which says
//! how many it lacks.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_formats::Trace;
use heapscribe_formats::model::{ChunkInfo, Evicted, ProcessIndex, SessionInfo};
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::splice::{Piece, Pieces};
use heapscribe_wire::record::Event;

use super::cut::{Cut, Cutoff, TickClock};
use super::layout::{EVENTS, PAST, PROCESS, SESSION, file, numbers};
use super::past::Past;
use crate::file_source::source;
use crate::native::trace_output::{CANNOT_WRITE, TraceOutput};

/// The trace that was made.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Bytes of the trace.
    pub bytes: u64,
    /// What could not be read.
    pub problems: Vec<String>,
    /// What was cut off of the oldest events.
    pub cut: Evicted,
}

/// What a ring is of; nothing when that cannot be read.
pub fn info_of(dir: &Path) -> Option<SessionInfo> {
    Trace::open(source(&dir.join(SESSION)).ok()?).ok()?.session().cloned()
}

/// Makes the trace at `path` and removes the ring. What is before `cutoff` is cut off.
pub fn gather_into(dir: &Path, path: &Path, cutoff: Option<Cutoff>) -> Result<Gathered> {
    let shown = path.display();
    let out = File::create(path).with_context(|| format!("cannot write the trace {shown}"))?;
    let mut whole_bytes = 0;
    let gathered = gather_with(dir, &out, true, cutoff, &mut whole_bytes).inspect_err(|_| {
        // A file that is not wholly in it is still in the ring.
        let _ = out.set_len(whole_bytes);
    });
    let gathered = gathered.with_context(|| format!("the rest stays: it is not in {shown}"))?;
    fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    Ok(gathered)
}

/// Writes the trace to `out`, but for what is before `cutoff`; with `remove`, removes each file of events that is in
/// it.
pub fn gather(dir: &Path, out: impl Write, remove: bool, cutoff: Option<Cutoff>) -> Result<Gathered> {
    gather_with(dir, out, remove, cutoff, &mut 0)
}

/// The same; `whole_bytes` are those of the trace with the files that are wholly in it, should it fail.
pub fn gather_with(
    dir: &Path,
    out: impl Write,
    remove: bool,
    cutoff: Option<Cutoff>,
    whole_bytes: &mut u64,
) -> Result<Gathered> {
    let session = Trace::open(source(&dir.join(SESSION))?)
        .with_context(|| format!("{} is not the ring of a recording", dir.display()))?;
    let mut gatherer = Gatherer {
        dir,
        to: TraceOutput::new(out),
        numbers: BTreeMap::new(),
        clocks: BTreeMap::new(),
        cutoff,
        cut: BTreeMap::new(),
        past: Past::default(),
        gathered: Gathered::default(),
    };
    gatherer.to.writer.start(&session.session().cloned().unwrap_or_default(), &mut gatherer.to.bytes);
    let processes = numbers(dir, PROCESS)?;
    for &process in &processes {
        gatherer.process(process, |kind| matches!(kind, Kind::Process | Kind::Definitions))?;
    }
    gatherer.rows(remove, whole_bytes)?;
    gatherer.count_cut();
    for &process in &processes {
        gatherer.process(process, |kind| !matches!(kind, Kind::Process | Kind::Definitions))?;
    }
    if let Some(end) = session.session_end() {
        gatherer.to.writer.session_end(end, &mut gatherer.to.bytes);
    }
    gatherer.finish()
}

struct Gatherer<'a, W> {
    dir: &'a Path,
    to: TraceOutput<W>,
    /// The numbers of processes in the trace by those in the ring.
    numbers: BTreeMap<u32, ProcessIndex>,
    cutoff: Option<Cutoff>,
    /// Clocks of processes of which something may be cut off, and the first tick that stays, by their numbers in
    /// the ring.
    clocks: BTreeMap<u32, (TickClock, u64)>,
    /// What was cut off of them.
    cut: BTreeMap<u32, Evicted>,
    /// What is in none of the files of events any more.
    past: Past,
    gathered: Gathered,
}

impl<W: Write> Gatherer<'_, W> {
    /// Copies the blocks of some kinds of a process's file.
    fn process(&mut self, process: u64, wanted: impl Fn(Kind) -> bool) -> Result<()> {
        let path = file(self.dir, PROCESS, process);
        self.row(&path, wanted)
    }

    /// Copies what was let go, and the events that were not. A file whose events are counted already was to
    /// be removed when the one who did it was killed.
    fn rows(&mut self, remove: bool, whole_bytes: &mut u64) -> Result<()> {
        let past = numbers(self.dir, PAST)?.pop();
        if let Some(past) = past {
            self.row(&file(self.dir, PAST, past), |kind| kind == Kind::Evicted)?;
        }
        for number in numbers(self.dir, EVENTS)? {
            let path = file(self.dir, EVENTS, number);
            let is_counted = past.is_some_and(|first| number < first);
            if !is_counted {
                self.row(&path, |_| true)?;
                self.to.flush().context(CANNOT_WRITE)?;
                *whole_bytes = self.to.writer.bytes();
            }
            if remove && !is_counted {
                let cannot = || format!("cannot count what was in {}", path.display());
                self.past.write(self.dir, number + 1).with_context(cannot)?;
            }
            if remove {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    fn row(&mut self, path: &Path, wanted: impl Fn(Kind) -> bool) -> Result<()> {
        let mut pieces = Pieces::new(source(path)?, 0);
        loop {
            let offset = pieces.offset();
            let piece = match pieces.next_piece() {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(()),
                Err(e) => {
                    let problem = format!("{}: {e}; the rest of this file is lost", path.display());
                    self.gathered.problems.push(problem);
                    return Ok(());
                }
            };
            self.past.take(&piece);
            if !wanted(piece.kind) {
                continue;
            }
            if let Some((chunk, process, clock)) = self.to_cut(&piece) {
                match pieces.events_at(offset) {
                    Ok(events) => self.cut(process, &chunk, events, &clock),
                    Err(e) => self.gathered.problems.push(format!("{}: {e}", path.display())),
                }
                continue;
            }
            let of_none = piece.kind == Kind::Evicted && piece.process == u32::MAX;
            let known = self.numbers.get(&piece.process).copied();
            match (known, piece.kind) {
                (None, Kind::Evicted) if of_none => {
                    let evicted = piece.evicted.unwrap_or_default();
                    self.to.writer.evicted(None, &evicted, &mut self.to.bytes);
                }
                (None, Kind::Process) => {
                    let process = ProcessIndex::default();
                    let number = self.to.writer.splice(process, &piece, &mut self.to.bytes);
                    self.numbers.insert(piece.process, number);
                    let clock = piece.info.as_ref().zip(self.cutoff.as_ref());
                    let clock = clock.and_then(|(info, cutoff)| TickClock::of(info, cutoff));
                    self.clocks.extend(clock.map(|clock| (piece.process, clock)));
                }
                // Samples of a process that has ended, and of whose events none is left.
                (None, Kind::Memory | Kind::Heap | Kind::Resident) => {}
                (Some(process), kind) if kind != Kind::Process => {
                    self.to.writer.splice(process, &piece, &mut self.to.bytes);
                }
                _ => self.gathered.problems.push(format!(
                    "{}: a block of process image {}, which is not in the ring",
                    path.display(),
                    piece.process
                )),
            }
            self.to.flush_when_full().context(CANNOT_WRITE)?;
        }
    }

    /// The chunk, process and clock of a piece that begins before the first tick that stays.
    fn to_cut(&self, piece: &Piece<'_>) -> Option<(ChunkInfo, u32, (TickClock, u64))> {
        let ((info, sums), clock) = piece.chunk.zip(self.clocks.get(&piece.process).copied())?;
        (sums.first_ticks < clock.1).then_some((info, piece.process, clock))
    }

    /// Cuts a chunk, and writes what stays of it.
    fn cut(
        &mut self,
        process: u32,
        chunk: &ChunkInfo,
        events: Vec<(u64, Event)>,
        (clock, from_ticks): &(TickClock, u64),
    ) {
        let cut = Cut::new(chunk, events, *from_ticks, clock);
        let until_ns = self.cutoff.map_or(0, |cutoff| cutoff.mono_ns.saturating_sub(1));
        self.cut.entry(process).or_default().chunk(&cut.sums, until_ns);
        if let Some(number) = self.numbers.get(&process).filter(|_| !cut.payload.is_empty()) {
            self.to.writer.events(*number, &cut.info, &cut.payload, &mut self.to.bytes);
        }
    }

    /// Counts what was cut off.
    fn count_cut(&mut self) {
        for (process, cut) in &self.cut {
            self.to.writer.evicted(self.numbers.get(process).copied(), cut, &mut self.to.bytes);
            self.gathered.cut.merge(cut);
        }
    }

    fn finish(self) -> Result<Gathered> {
        Ok(Gathered { bytes: self.to.finish().context(CANNOT_WRITE)?, ..self.gathered })
    }
}
