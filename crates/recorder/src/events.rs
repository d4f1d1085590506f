//! From an event to its place in the thread's chunk: a bound checked, the event written where it stays,
//! one release store of the length.
#![allow(unsafe_code)]

use heapscribe_nolibc::sys;
use heapscribe_wire::chunk::{Opening, SharedHeader};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{NameId, RateId, StackId};
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, EVENT_BYTES_MAX, TOOK_BYTES_MAX};
use heapscribe_wire::record::{
    Block, Call, Event, Note, put_alloc, put_alloc_of_many, put_free, put_free_of_many, put_latency,
};

use crate::live::resume_operation;
use crate::log::OpenChunk;
use crate::platform::clock;
use crate::state::{Lost, Session, Thread};
use crate::{modules, program};

/// An event, before it up to two rates of a byte, each written at a place of [`EVENT_BYTES_MAX`], and behind
/// it what its call took.
const ROOM_BYTES: usize = EVENT_BYTES_MAX + 2 + TOOK_BYTES_MAX;

/// Room for one event in the thread's chunk, and its time: with it an event can be written and nothing can
/// go wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reservation<'a> {
    thread: &'a Thread,
    header: &'static SharedHeader,
    payload: *mut u8,
    /// Ticks of the thread's event before this one.
    before: u64,
    /// Ticks of this one.
    pub(crate) now: u64,
}

/// Finds room for an event, in the open chunk or a new one. `None` when the event has to be dropped,
/// which is counted.
#[inline(always)]
pub(crate) fn reserve<'a>(thread: &'a Thread, session: &Session) -> Option<Reservation<'a>> {
    // Of a chunk only these two, so that it is not copied.
    let (header, payload) = match thread.chunk.get() {
        Some(OpenChunk { header, payload, .. }) if thread.cursor.get() + ROOM_BYTES <= thread.limit.get() => {
            (header, payload)
        }
        _ => make_room(thread, session).map(|chunk| (chunk.header, chunk.payload))?,
    };
    Some(Reservation::new(thread, header, payload, session))
}

impl<'a> Reservation<'a> {
    #[inline(always)]
    fn new(
        thread: &'a Thread,
        header: &'static SharedHeader,
        payload: *mut u8,
        session: &Session,
    ) -> Reservation<'a> {
        let before = thread.last_ticks.get();
        Reservation { thread, header, payload, before, now: thread.event_ticks(&session.clock, session.head) }
    }

    /// Writes at which rate the blocks of the events that follow were sampled.
    #[cold]
    fn write_rate(&self, rate: RateId) {
        let len = Event::Rate { rate }.encode(0, self.place());
        self.thread.chunk_rate.set(rate);
        self.commit(len);
    }

    /// Writes before the free of a sampled block that its thread has allocated others since, which were not
    /// sampled: the rate in force is written once more.
    #[cold]
    pub(crate) fn write_others_allocated(&self, rate: RateId) {
        if self.thread.chunk_rate.get() != rate {
            self.write_rate(rate);
        }
        self.write_rate(rate);
    }

    /// Writes the event, about blocks of this rate, and commits it.
    #[inline(never)]
    pub(crate) fn write(&self, event: &Event, rate: RateId) {
        if self.thread.chunk_rate.get() != rate {
            self.write_rate(rate);
        }
        let len = event.encode(self.now - self.before, self.place());
        self.commit(len);
    }

    /// Writes the allocation of a block in full mode, by a function that takes no alignment.
    #[inline(always)]
    pub(crate) fn write_alloc(&self, call: Call, size_bytes: u64, stack: StackId) {
        if self.thread.chunk_rate.get() == RateId::FULL
            && let Some(len) = put_alloc(self.place(), call, self.now - self.before, size_bytes, stack)
        {
            return self.commit(len);
        }
        // A copy: what a function is given by its address is in memory at all times.
        let apart = *self;
        apart.write_long_alloc(call, size_bytes, stack);
    }

    /// The same, of a stack or with a number that is not short.
    #[inline(never)]
    fn write_long_alloc(&self, call: Call, size_bytes: u64, stack: StackId) {
        if self.thread.chunk_rate.get() == RateId::FULL
            && let Some(len) =
                put_alloc_of_many(self.place(), call, self.now - self.before, size_bytes, stack)
        {
            return self.commit(len);
        }
        self.write(&Event::Alloc { call, size_bytes, stack, align_log2: 0 }, RateId::FULL);
    }

    /// Writes the free of a block in full mode that the same thread has allocated.
    #[inline(always)]
    pub(crate) fn write_free(&self, call: Call, age_ticks: u64, size_bytes: u64, stack: StackId) {
        let dt = self.now - self.before;
        if self.thread.chunk_rate.get() == RateId::FULL
            && let Some(len) = put_free(self.place(), call, dt, age_ticks, size_bytes, stack)
        {
            return self.commit(len);
        }
        let apart = *self;
        apart.write_long_free(call, Block { size_bytes, stack, age_ticks, birth_thread: None });
    }

    /// The same, of a stack or with a number that is not short.
    #[inline(never)]
    fn write_long_free(&self, call: Call, block: Block) {
        let Block { size_bytes, stack, age_ticks, .. } = block;
        let dt = self.now - self.before;
        if self.thread.chunk_rate.get() == RateId::FULL
            && let Some(len) = put_free_of_many(self.place(), call, dt, age_ticks, size_bytes, stack)
        {
            return self.commit(len);
        }
        self.write(&Event::Free { call, block }, RateId::FULL);
    }

    /// Where the next event is written.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "one event at a time is written, by the thread whose chunk it is")]
    fn place(&self) -> &mut [u8; EVENT_BYTES_MAX] {
        // SAFETY: `reserve` saw that ROOM_BYTES from the cursor on are provided, of which rates before the event take
        // less than an event leaves; the chunk is this thread's.
        unsafe { &mut *self.payload.add(self.thread.cursor.get()).cast::<[u8; EVENT_BYTES_MAX]>() }
    }

    /// Commits so many bytes that were written at [`Self::place`].
    #[inline(always)]
    fn commit(&self, len: usize) {
        let cursor = self.thread.cursor.get() + len;
        self.thread.cursor.set(cursor);
        self.header.commit(cursor as u32);
    }
}

/// Writes how long the call took whose event was the last that the thread wrote.
pub(crate) fn write_took(thread: &Thread, units: u64) {
    let Some(chunk) = thread.chunk.get() else { return };
    let cursor = thread.cursor.get();
    // SAFETY: the room for the event before was room for this, too, see ROOM_BYTES; the chunk is this
    // thread's.
    let at = unsafe { &mut *chunk.payload.add(cursor).cast::<[u8; TOOK_BYTES_MAX]>() };
    let len = put_latency(units, at);
    thread.cursor.set(cursor + len);
    chunk.header.commit((cursor + len) as u32);
}

/// Makes room. What it changes of the thread's state takes several stores, so signals are held back: a
/// handler that jumped away between two of them would leave the header of one chunk beside the payload of
/// another. Not while it waits for a chunk, though.
#[cold]
fn make_room(thread: &Thread, session: &Session) -> Option<OpenChunk> {
    if thread.chunk.get().is_none() && thread.backoff.is_in_force(session.ticks()) {
        return lose(session.log.full(), thread, session);
    }
    {
        let _blocked = sys::SignalsBlocked::new();
        if let Some(chunk) = thread.chunk.get()
            && chunk.provided < CHUNK_PAYLOAD_BYTES
            && let Ok(chunk) = session.log.provide_step(&chunk, &session.lock)
        {
            thread.limit.set(chunk.provided);
            thread.chunk.set(Some(chunk));
            return Some(chunk);
        }
        if let Some(chunk) = thread.chunk.take() {
            seal(thread, &chunk, session);
            modules::check(program::loader()?, session);
        }
    }
    if thread.backoff.is_in_force(session.ticks()) {
        return lose(session.log.full(), thread, session);
    }
    // While it waits for a chunk a reader may have the table: what this call does to it is done or to come,
    // but for a block that is being resized, which the reader does not see.
    thread.record.end();
    let opened = session.log.open(session.head, &session.lock, |chunk| open(thread, chunk, session));
    resume_operation(thread.record, session.head);
    match opened {
        Ok(chunk) => Some(chunk),
        Err(reason) => {
            let _blocked = sys::SignalsBlocked::new();
            thread.backoff.fail(session.ticks());
            lose(reason, thread, session)
        }
    }
}

/// Counts an event that has no room.
fn lose(reason: LossReason, thread: &Thread, session: &Session) -> Option<OpenChunk> {
    thread.lost.set(Lost { count: thread.lost.get().count + 1, reason: reason as u8 });
    session.head.count_loss(reason);
    None
}

/// Makes a chunk that was just opened the thread's, with signals held back.
fn open(thread: &Thread, chunk: OpenChunk, session: &Session) -> OpenChunk {
    thread.backoff.clear();
    let sequence = thread.sequence.get();
    thread.sequence.set(sequence + 1);
    let begin_ticks = session.ticks().max(thread.last_ticks.get());
    thread.last_ticks.set(begin_ticks);
    chunk.header.begin(&Opening {
        thread: thread.id.get().0,
        sequence,
        begin_ticks,
        begin_mono_ns: clock::monotonic_ns(),
        last_alloc_ticks: thread.last_alloc_ticks.get(),
    });
    thread.chunk.set(Some(chunk));
    thread.cursor.set(0);
    thread.limit.set(chunk.provided);
    thread.chunk_rate.set(RateId::FULL);
    let reservation = || Reservation::new(thread, chunk.header, chunk.payload, session);
    let Lost { count, reason } = thread.lost.take();
    if count > 0 {
        reservation().write(&Event::Lost { count, reason }, RateId::FULL);
    }
    for open in thread.sections.iter().filter(|open| open.name != NameId::default()) {
        let place = reservation();
        let age_ticks = place.now.saturating_sub(open.begin_ticks);
        place.write(&Event::Note { note: Note::GoesOn { age_ticks }, name: open.name }, RateId::FULL);
    }
    chunk
}

/// Seals a chunk, for the drainer.
pub(crate) fn seal(thread: &Thread, chunk: &OpenChunk, session: &Session) {
    thread.limit.set(0);
    thread.cursor.set(0);
    let end_ticks = session.ticks().max(thread.last_ticks.get());
    chunk.header.seal(end_ticks, clock::monotonic_ns());
}
