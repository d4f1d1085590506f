//! A ring of the newest events: takes blocks as the trace's writer makes them, appends each to its file, and
//! evicts the oldest files of events when the ring would become larger or older than it may.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use heapscribe_formats::ChunkSums;
use heapscribe_formats::model::{ChunkInfo, EndedImages, Evicted, ProcessIndex, UNKNOWN};
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::splice::first_block;

use heapscribe_convert::ring::{Cutoff, EVENTS, Limits, PROCESS, Past, SESSION, file};
use heapscribe_session::jit::TickLine;
use heapscribe_session::{monotonic_ns, time_stamp_counter};

mod create;
mod crowded;
mod segment;

pub use self::crowded::CrowdedRing;
use self::segment::{Coming, Segment, Unfreed, append, put};

/// Into how many files of events the ring is cut, about; the oldest one is evicted as a whole.
const FILES: u64 = 16;
const FILE_BYTES_MIN: u64 = 64 << 10;
const FILE_BYTES_MAX: u64 = 16 << 20;
/// By how much the clock of a process may be wrong: it was begun while others had the processor.
const CLOCK_SLACK_NS: u64 = 1_000_000;
/// What the index of the trace takes for a block of events, with room to spare.
const INDEX_ENTRY_BYTES: u64 = 96;

/// A ring that is being written.
pub(crate) struct Ring {
    dir: PathBuf,
    limits: Limits,
    /// Whether it has less room than it was given: on the disk, or as files may not be so large.
    is_short_of_room: bool,
    /// What took the room of events that it has evicted.
    crowded: Option<CrowdedRing>,
    session_bytes: u64,
    past_bytes: u64,
    images: BTreeMap<u32, Image>,
    segments: VecDeque<Segment>,
    next: u64,
    /// Of the chunks in the buffer that comes next.
    pending: BTreeMap<u32, Evicted>,
    /// These chunks: they are in their sessions, too, until they are freed.
    unfreed: Vec<Unfreed>,
    /// Of chunks that were evicted before they were freed, the last one, by process and thread.
    evicted_unfreed: BTreeMap<(u32, u32), u64>,
    /// What was evicted of processes of which nothing is left.
    evicted_images: Evicted,
    /// The end of the newest chunk that was evicted.
    evicted_mono_ns: u64,
    /// The end of the newest chunk, as far as that is known: what is old is older than that. A drainer that lags
    /// behind must not take what the program did last for old.
    newest_mono_ns: u64,
    /// When the last process ended.
    ended_mono_ns: u64,
}

/// A process of which there are files.
#[derive(Default)]
struct Image {
    bytes: u64,
    has_ended: bool,
    /// Chunks of it that are retained.
    chunks: u64,
    /// Bytes of events of others that were evicted since the last of its own, after its end.
    passed_bytes: u64,
    evicted: Evicted,
    /// What is known of it beside the sums over its events, when it has ended.
    figures: EndedImages,
    ended_mono_ns: u64,
}

impl Image {
    /// What is counted of it when nothing of it is left.
    fn as_evicted(&self) -> Evicted {
        let has_all = self.figures.lost_events == 0;
        let most = |sum| if has_all { sum } else { UNKNOWN };
        let one_allocated_blocks = most(self.evicted.allocated_blocks);
        let one_allocated_bytes = most(self.evicted.allocated_bytes);
        let ended = EndedImages { one_allocated_blocks, one_allocated_bytes, ..self.figures };
        // What it held went with its end: from then on all that is live is in the trace.
        let until_mono_ns = self.evicted.until_mono_ns.max(self.ended_mono_ns);
        Evicted { processes: 1, until_mono_ns, ended, ..self.evicted }
    }
}

impl Ring {
    /// Bytes that may be gathered before they are given to [`Self::take`].
    pub(crate) fn buffer_bytes(&self) -> usize {
        (self.file_bytes() as usize).min(1 << 20)
    }

    fn file_bytes(&self) -> u64 {
        (self.limits.bytes / FILES).clamp(FILE_BYTES_MIN, FILE_BYTES_MAX)
    }

    /// Counts a chunk that the next [`Self::take`] takes; `clock` is that of the process of an open one, which does not say
    /// when it ended. A process in a time namespace may be ahead of us.
    pub(crate) fn chunk(
        &mut self,
        process: ProcessIndex,
        info: &ChunkInfo,
        sums: &ChunkSums,
        clock: Option<TickLine>,
    ) {
        let now = monotonic_ns();
        let last_event =
            || clock.map_or(now, |line| line.mono_ns(sums.last_ticks).saturating_add(CLOCK_SLACK_NS));
        let ended = if info.end_mono_ns == 0 { last_event() } else { info.end_mono_ns }.min(now);
        let begun = info.begin_mono_ns.min(now);
        self.newest_mono_ns = self.newest_mono_ns.max(begun).max(info.end_mono_ns.min(now));
        self.pending.entry(process.0).or_default().chunk(sums, ended);
        self.unfreed.push(((process.0, info.thread), info.sequence));
    }

    /// The chunks of a process that were taken so far are in its session no more.
    pub(crate) fn freed(&mut self, process: ProcessIndex) {
        let stays = |chunk: &Unfreed| chunk.0.0 != process.0;
        self.unfreed.retain(stays);
        self.segments.iter_mut().for_each(|segment| segment.unfreed.retain(stays));
        self.evicted_unfreed.retain(|(of, _), _| *of != process.0);
    }

    /// Takes what is known of a process that has ended, before the block of its end.
    pub(crate) fn image_ended(
        &mut self,
        process: ProcessIndex,
        ended_mono_ns: u64,
        is_killed: bool,
        figures: &EndedImages,
    ) {
        let image = self.images.entry(process.0).or_default();
        (image.ended_mono_ns, image.figures) = (ended_mono_ns, *figures);
        // That a process was killed is seen late when the drainer lags behind.
        let last = if is_killed { self.newest_mono_ns } else { ended_mono_ns };
        self.ended_mono_ns = self.ended_mono_ns.max(last);
    }

    /// Takes blocks, and evicts what has no room with them.
    pub(crate) fn take(&mut self, blocks: &[u8]) -> io::Result<()> {
        let mut events = Coming::default();
        let mut others = Vec::new();
        let mut rest = blocks;
        while let Some((kind, process, length)) = first_block(rest) {
            let (block, behind) = rest.split_at(length);
            rest = behind;
            match kind {
                Kind::Events | Kind::Memory | Kind::Heap | Kind::Resident => events.push(block),
                // A row of blocks has no index; the trace that is made of them gets one.
                Kind::Index => {}
                _ => others.push((kind, process, block)),
            }
        }
        let other_bytes = others.iter().map(|(_, _, block)| block.len() as u64).sum();
        self.make_room(&events, other_bytes)?;
        for (kind, process, block) in others {
            match kind {
                Kind::Session | Kind::SessionEnd => self.of_session(block)?,
                _ => self.of_process(process, kind, block)?,
            }
        }
        if events.bytes.is_empty() { Ok(()) } else { self.events(&events) }
    }

    fn of_session(&mut self, block: &[u8]) -> io::Result<()> {
        let path = self.dir.join(SESSION);
        self.with_room(|ring| append(&path, ring.session_bytes, block))?;
        self.session_bytes += block.len() as u64;
        Ok(())
    }

    fn of_process(&mut self, process: u32, kind: Kind, block: &[u8]) -> io::Result<()> {
        let path = file(&self.dir, PROCESS, u64::from(process));
        let before = self.images.entry(process).or_default().bytes;
        self.with_room(|_| append(&path, before, block))?;
        let image = self.images.entry(process).or_default();
        image.bytes += block.len() as u64;
        image.has_ended |= kind == Kind::ProcessEnd;
        Ok(())
    }

    fn events(&mut self, coming: &Coming) -> io::Result<()> {
        let now = monotonic_ns();
        let (full, old) = (self.file_bytes(), self.limits.age_ns / FILES);
        let is_over = |last: &Segment| last.bytes >= full || now.saturating_sub(last.began_ns) > old;
        if self.segments.back().is_none_or(is_over) {
            self.begin(now)?;
        }
        self.with_room(|ring| match ring.segments.back_mut() {
            Some(last) => put(&mut last.file, last.bytes, &coming.bytes),
            None => Err(io::ErrorKind::StorageFull.into()),
        })?;
        let (pending, mut unfreed) = (std::mem::take(&mut self.pending), std::mem::take(&mut self.unfreed));
        let Some(last) = self.segments.back_mut() else { return Ok(()) };
        last.bytes += coming.bytes.len() as u64;
        last.blocks += coming.blocks;
        last.unfreed.append(&mut unfreed);
        for (process, sums) in pending {
            self.images.entry(process).or_default().chunks += sums.chunks;
            last.holds.entry(process).or_default().merge(&sums);
        }
        Ok(())
    }

    fn begin(&mut self, now: u64) -> io::Result<()> {
        let path = file(&self.dir, EVENTS, self.next);
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        self.segments.push_back(Segment {
            number: self.next,
            file,
            bytes: 0,
            blocks: 0,
            began_ns: now,
            holds: BTreeMap::new(),
            unfreed: Vec::new(),
        });
        self.next += 1;
        Ok(())
    }

    /// Writes; as long as the disk is full, evicts the oldest events and retries. What there was then is what there is
    /// room for, and that for the trace is a part of it.
    fn with_room(&mut self, mut write: impl FnMut(&mut Ring) -> io::Result<()>) -> io::Result<()> {
        loop {
            match write(self) {
                Err(e) if e.kind() == io::ErrorKind::StorageFull && self.segments.len() > 1 => {
                    self.limits.bytes = self.limits.bytes.min(self.bytes());
                    self.is_short_of_room = true;
                    self.evict(1)?;
                }
                outcome => return outcome,
            }
        }
    }

    /// Bytes of its files.
    fn bytes(&self) -> u64 {
        let events: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        events + self.other_bytes()
    }

    /// Bytes of those that hold no events.
    fn other_bytes(&self) -> u64 {
        let images: u64 = self.images.values().map(|image| image.bytes).sum();
        images + self.session_bytes + self.past_bytes
    }

    /// Evicts what has to make room for the trace, and closes the rest: a file that is removed while it is open still
    /// takes its room.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let outcome = self.make_room(&Coming::default(), 0);
        self.segments.clear();
        outcome
    }

    /// Bytes of the files with these blocks and, should the trace be made then, of those that are in it and
    /// here at a time: what is not of events, and one file of events. A file takes blocks until it is full, so
    /// the largest one counts: a flat allowance for it let a ring of 1 MiB grow to 1,053,384 bytes.
    fn bytes_with(&self, events: &Coming, other_bytes: u64) -> u64 {
        let coming = events.bytes.len() as u64;
        let retained: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        let last = self.segments.back().map_or(0, |last| last.bytes) + coming;
        let largest = self.segments.iter().map(|segment| segment.bytes).fold(last, u64::max);
        let others = self.other_bytes() + other_bytes;
        let blocks: u64 = self.segments.iter().map(|segment| segment.blocks).sum();
        retained + coming + largest + 2 * others + (blocks + events.blocks) * INDEX_ENTRY_BYTES
    }

    /// Evicts what is too old, and as much as these blocks need.
    fn make_room(&mut self, events: &Coming, other_bytes: u64) -> io::Result<()> {
        self.forget_old()?;
        while self.bytes_with(events, other_bytes) > self.limits.bytes && !self.segments.is_empty() {
            self.crowded =
                self.crowded.max(CrowdedRing::of(self.other_bytes() + other_bytes, self.limits.bytes));
            self.evict(1)?;
        }
        Ok(())
    }

    /// Evicts what is too old.
    pub(crate) fn forget_old(&mut self) -> io::Result<()> {
        if self.limits.age_ns == u64::MAX {
            return Ok(());
        }
        let before = self.newest_mono_ns.saturating_sub(self.limits.age_ns);
        let newest = |segment: &Segment| segment.holds.values().map(|sums| sums.until_mono_ns).max();
        let is_old = |segment: &&Segment| newest(segment).unwrap_or(segment.began_ns) < before;
        let old = self.segments.iter().take_while(is_old).count();
        if old == 0 { Ok(()) } else { self.evict(old) }
    }

    /// Evicts the oldest files of events: first they are counted, then they are removed.
    fn evict(&mut self, files: usize) -> io::Result<()> {
        let going: Vec<Segment> = self.segments.drain(..files.min(self.segments.len())).collect();
        for (process, sums) in going.iter().flat_map(|segment| &segment.holds) {
            let image = self.images.entry(*process).or_default();
            image.chunks = image.chunks.saturating_sub(sums.chunks);
            image.evicted.merge(sums);
            self.evicted_mono_ns = self.evicted_mono_ns.max(sums.until_mono_ns);
        }
        for (thread, sequence) in going.iter().flat_map(|segment| &segment.unfreed) {
            let last = self.evicted_unfreed.entry(*thread).or_default();
            *last = (*sequence).max(*last);
        }
        let over = self.over(&going);
        for image in over.values() {
            self.evicted_images.merge(&image.as_evicted());
        }
        let first = self.segments.front().map_or(self.next, |segment| segment.number);
        let counted = self.write_past(first);
        for process in over.keys() {
            let _ = fs::remove_file(file(&self.dir, PROCESS, u64::from(*process)));
        }
        going.iter().for_each(|segment| drop(fs::remove_file(file(&self.dir, EVENTS, segment.number))));
        // On a full disk there is room for the count only now.
        if counted.is_err() { self.write_past(first) } else { counted }
    }

    /// Takes out the images that go with these files: those that ended before what is left began, and of which there are no
    /// events any more: what they held until their end would be in no figure of the time before. (A ring that was full of
    /// events began 1 ns before its end, with the process that ended last and had done nothing for a while.) The
    /// largest one stays until so many events of others were evicted after it as a file has, and others as long as they are
    /// small together: what they never freed has stacks only as long as they are there. (A ring of 16 MiB evicted the one
    /// process that was recorded, with 9 MiB of stacks, at its end, and kept nothing but its sums.)
    fn over(&mut self, going: &[Segment]) -> BTreeMap<u32, Image> {
        let most_bytes = self.file_bytes();
        let mut over: Vec<(u64, u64, u32)> = Vec::new();
        for (process, image) in &mut self.images {
            let is_before = image.ended_mono_ns <= self.evicted_mono_ns || self.segments.is_empty();
            if image.has_ended && is_before && image.chunks == 0 && !self.pending.contains_key(process) {
                let of_others = going.iter().filter(|segment| !segment.holds.contains_key(process));
                image.passed_bytes += of_others.map(|segment| segment.bytes).sum::<u64>();
                over.push((image.bytes, image.passed_bytes, *process));
            }
        }
        over.sort_unstable();
        let (mut bytes, largest) = (0, over.last().copied());
        over.retain(|image| {
            let (image_bytes, passed_bytes, _) = *image;
            bytes += image_bytes;
            passed_bytes >= most_bytes || bytes > most_bytes && Some(*image) != largest
        });
        over.into_iter().filter_map(|(_, _, process)| self.images.remove_entry(&process)).collect()
    }

    /// Counts all that was evicted, files of events below `first` among it, in a new file that replaces the
    /// last one at once.
    fn write_past(&mut self, first: u64) -> io::Result<()> {
        let past = Past {
            of_none: self.evicted_images,
            of_processes: self.images.iter().map(|(process, image)| (*process, image.evicted)).collect(),
            last_chunks: self.evicted_unfreed.clone(),
        };
        self.past_bytes = past.write(&self.dir, first)?;
        Ok(())
    }

    /// What is to be cut off at the end of a recording: files are evicted as a whole, and chunks may be long.
    pub(crate) fn cutoff(&self, recording_ended_mono_ns: u64) -> Option<Cutoff> {
        let ended = if self.ended_mono_ns == 0 { recording_ended_mono_ns } else { self.ended_mono_ns };
        let mono_ns = ended.checked_sub(self.limits.age_ns)?;
        let counter = time_stamp_counter().map(|counter| (counter, monotonic_ns()));
        Some(Cutoff { mono_ns, counter })
    }

    /// What was evicted of all processes.
    pub(crate) fn evicted_of_all(&self) -> Evicted {
        let mut all = self.evicted_images;
        self.images.values().for_each(|image| all.merge(&image.evicted));
        all
    }

    /// What has left little room for events; `None` where a larger ring would have been of no use.
    pub(crate) fn crowded(&self) -> Option<CrowdedRing> {
        self.crowded.filter(|_| !self.is_short_of_room)
    }

    /// Where it lies.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

#[cfg(test)]
mod tests;
