//! One domain's part of a trace that is written: its packet, its caches, its object numbers.

use std::io::{self, Write};

use super::backtrace::write::StackWriter;
use super::event::{Alloc, Heap, ObjectId};
use super::header::{self, Packet, Verifier};
use super::layout::{
    EVENT_ALLOC, EVENT_BYTES_MAX, EVENT_COLLECT, EVENT_LOCATION, EVENT_PROMOTE, EVENT_SHORT, HEADER_BYTES,
    NEW_LOCATIONS_MAX, PACKET_TIME_MAX_US, SHORT_WORDS_MAX, TIME_BITS, TIME_MASK, VARIABLE_BYTES_MAX,
};
use super::location_event::{self, Recent};
use super::locations::{LocationCode, Locations};

/// Frames of a short allocation that are not in common with the one before, at most.
const SHORT_FRAMES_MAX: usize = 255;
/// Bytes of an event's first word.
const WORD_BYTES: usize = 4;

/// What all domains of a trace share.
#[derive(Debug)]
pub(crate) struct Shared<W> {
    pub(crate) sink: W,
    pub(crate) pid: i64,
    pub(crate) current_pid: Option<fn() -> i64>,
    pub(crate) next_chunk: i64,
    pub(crate) ids_per_chunk: i64,
    pub(crate) locations_packet: Packet,
}

impl<W> Shared<W> {
    fn check_process(&self) -> io::Result<()> {
        match self.current_pid {
            Some(pid) if pid() != self.pid => {
                Err(io::Error::other("a forked child must not write its parent's trace"))
            }
            _ => Ok(()),
        }
    }

    fn chunk(&mut self) -> (i64, i64) {
        let begin = self.next_chunk;
        self.next_chunk += self.ids_per_chunk;
        (begin, self.next_chunk)
    }
}

#[derive(Debug)]
pub(crate) struct DomainWriter {
    pub(crate) domain: u16,
    packet: Packet,
    stacks: StackWriter,
    recent: Recent,
    new: Vec<LocationCode>,
    last_stack: Vec<LocationCode>,
    ids_begin: i64,
    next_id: i64,
    chunk_end: i64,
    time_begin_us: i64,
    pub(crate) time_end_us: i64,
}

impl DomainWriter {
    pub(crate) fn new<W>(domain: u16, start_us: i64, shared: &mut Shared<W>) -> Self {
        let (begin, end) = shared.chunk();
        let mut packet = Packet::new();
        header::begin(&mut packet, shared.pid, domain, None);
        DomainWriter {
            domain,
            packet,
            stacks: StackWriter::new(),
            recent: Recent::default(),
            new: Vec::new(),
            last_stack: Vec::new(),
            ids_begin: begin,
            next_id: begin,
            chunk_end: end,
            time_begin_us: start_us,
            time_end_us: start_us,
        }
    }

    pub(crate) fn next_id(&self) -> Option<ObjectId> {
        (self.next_id < self.chunk_end).then_some(ObjectId(self.next_id))
    }

    /// Whether events are in the open packet.
    pub(crate) fn has_events(&self) -> bool {
        self.packet.pos() > HEADER_BYTES
    }

    /// Writes an allocation; `alloc.id` and `alloc.common` are ignored.
    #[inline]
    pub(crate) fn alloc<W: Write>(
        &mut self,
        shared: &mut Shared<W>,
        time_us: i64,
        alloc: &Alloc<'_>,
        locations: &Locations,
    ) -> io::Result<ObjectId> {
        let common = self.take_stack(alloc.stack, alloc.reused_frames);
        let frames = alloc.stack.len() - common;
        let is_short = (1..=SHORT_WORDS_MAX).contains(&alloc.length_words)
            && alloc.heap == Heap::Minor
            && alloc.samples == 1
            && frames <= SHORT_FRAMES_MAX;
        let code = if is_short { EVENT_SHORT + alloc.length_words as u32 } else { EVENT_ALLOC };
        self.begin(shared, code, time_us, locations)?;
        let id = self.next_id;
        self.next_id += 1;
        if !is_short {
            self.packet.put_vint(alloc.length_words);
            self.packet.put_vint(alloc.samples);
            self.packet.put([alloc.heap as u8]);
        }
        self.packet.put_vint(common as i64);
        let at = self.packet.pos();
        if is_short {
            self.packet.put([0]);
        } else {
            self.packet.put_u16(0);
        }
        let words = self.stacks.write(&mut self.packet, &self.last_stack[common..], id, &mut self.new);
        if is_short {
            self.packet.patch(at, [words as u8]);
        } else {
            self.packet.patch(at, (words as u16).to_le_bytes());
        }
        Ok(ObjectId(id))
    }

    /// Makes a stack the last one, of which this many frames are known to be those of the last one; how many
    /// outermost frames the two have in common.
    fn take_stack(&mut self, stack: &[LocationCode], reused: usize) -> usize {
        let reused = reused.min(stack.len()).min(self.last_stack.len());
        debug_assert_eq!(self.last_stack[..reused], stack[..reused]);
        let same = reused + same_frames(&self.last_stack[reused..], &stack[reused..]);
        self.last_stack.truncate(same);
        self.last_stack.extend_from_slice(&stack[same..]);
        same
    }

    /// Whether the promotion of an object can be read back: it must not have a later number than the
    /// domain's next one.
    pub(crate) fn can_promote(&self, id: ObjectId) -> bool {
        // When the chunk is used up, the event begins a packet and a chunk, whose numbers are larger.
        id.0 < self.next_id || self.next_id == self.chunk_end
    }

    pub(crate) fn promote<W: Write>(
        &mut self,
        shared: &mut Shared<W>,
        time_us: i64,
        id: ObjectId,
        locations: &Locations,
    ) -> io::Result<()> {
        self.event_of(shared, EVENT_PROMOTE, time_us, id, locations)
    }

    pub(crate) fn collect<W: Write>(
        &mut self,
        shared: &mut Shared<W>,
        time_us: i64,
        id: ObjectId,
        locations: &Locations,
    ) -> io::Result<()> {
        self.event_of(shared, EVENT_COLLECT, time_us, id, locations)
    }

    /// An event that only names an object, by its distance from the domain's newest.
    #[inline]
    fn event_of<W: Write>(
        &mut self,
        shared: &mut Shared<W>,
        code: u32,
        time_us: i64,
        id: ObjectId,
        locations: &Locations,
    ) -> io::Result<()> {
        self.begin(shared, code, time_us, locations)?;
        self.packet.put_vint((self.next_id - 1).wrapping_sub(id.0));
        Ok(())
    }

    /// Begins an event, in a new packet when this one is full, old or out of numbers.
    #[inline]
    fn begin<W: Write>(
        &mut self,
        shared: &mut Shared<W>,
        code: u32,
        time_us: i64,
        locations: &Locations,
    ) -> io::Result<()> {
        if self.packet.free() < EVENT_BYTES_MAX
            || self.new.len() > NEW_LOCATIONS_MAX
            || time_us.saturating_sub(self.time_begin_us) > PACKET_TIME_MAX_US
            || self.next_id == self.chunk_end
        {
            self.flush(shared, time_us, locations)?;
        }
        self.time_end_us = time_us;
        self.packet.put_u32(code << TIME_BITS | (time_us as u32 & TIME_MASK));
        Ok(())
    }

    /// Writes out the packet, before it the locations that it needs, and begins the next one.
    pub(crate) fn flush<W: Write>(
        &mut self,
        shared: &mut Shared<W>,
        now_us: i64,
        locations: &Locations,
    ) -> io::Result<()> {
        shared.check_process()?;
        self.write_locations(shared, locations)?;
        header::finish(&mut self.packet, self.time_begin_us..self.time_end_us, self.ids_begin..self.next_id);
        shared.sink.write_all(self.packet.written())?;
        (self.time_begin_us, self.time_end_us) = (now_us, now_us);
        if self.next_id == self.chunk_end {
            (self.next_id, self.chunk_end) = shared.chunk();
        }
        self.ids_begin = self.next_id;
        let verifier: Verifier = self.stacks.verifier();
        header::begin(&mut self.packet, shared.pid, self.domain, Some(verifier));
        Ok(())
    }

    fn write_locations<W: Write>(&mut self, shared: &mut Shared<W>, locations: &Locations) -> io::Result<()> {
        let packet = &mut shared.locations_packet;
        let (begin_us, ids_begin) = (self.time_begin_us, self.ids_begin);
        let word = EVENT_LOCATION << TIME_BITS | (self.time_begin_us as u32 & TIME_MASK);
        let mut rest = self.new.iter().filter(|code| locations.get(**code).is_some()).peekable();
        while rest.peek().is_some() {
            header::begin(packet, shared.pid, self.domain, None);
            let fits = |packet: &Packet, code: LocationCode| {
                packet.free() >= WORD_BYTES + VARIABLE_BYTES_MAX
                    || packet.free() > VARIABLE_BYTES_MAX
                        && packet.free() >= WORD_BYTES + location_event::size_of(code, locations)
            };
            while let Some(code) = rest.next_if(|code| fits(packet, **code)) {
                packet.put_u32(word);
                self.recent.write(packet, *code, locations);
            }
            header::finish(packet, begin_us..begin_us, ids_begin..ids_begin);
            shared.sink.write_all(packet.written())?;
        }
        self.new.clear();
        Ok(())
    }
}

/// Frames that are compared at a time.
const LANES: usize = 8;

/// How many frames two stacks have in common from their begin.
fn same_frames(a: &[LocationCode], b: &[LocationCode]) -> usize {
    let chunks = a.chunks_exact(LANES).zip(b.chunks_exact(LANES)).take_while(|(a, b)| a == b).count();
    let same = chunks * LANES;
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}
