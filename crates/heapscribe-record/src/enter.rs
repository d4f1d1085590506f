//! The door from a hook into the recorder: one thread at a time, once at a time.
#![allow(unsafe_code)]

use heapscribe_wire::head::Drop as Reason;
use heapscribe_wire::ids::{RateId, StackId, ThreadId};
use heapscribe_wire::limits::BIRTH_BITS;
use heapscribe_wire::live::{Slot, age_ticks};
use heapscribe_wire::record::{Block, Call, Event};

use crate::capture::{Registers, StackRange};
use crate::session::{self, Memory, Session};
use crate::thread::Thread;
use crate::tls::{self, Words};
use crate::{emit, filter, gate, live, stack, stack_bounds, sys};

/// Proof that the recorder was entered on this thread: without it nothing can be recorded.
#[derive(Debug)]
pub struct Entered {
    words: &'static Words,
    thread: &'static Thread,
    session: &'static Session,
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        self.words.leave();
    }
}

/// How far before a block a heap keeps what it knows of it (glibc: 16 bytes).
const HEAP_WORDS_BYTES: usize = 16;

/// A block that was taken out of the live table, before its end is written down.
#[derive(Clone, Copy, Debug)]
pub struct Taken(Option<(Slot, u64)>);

/// Enters the recorder from a hook whose caller's registers are given. `None` when there is nothing to
/// record into, or the thread is in the recorder already: then the hook only forwards.
#[inline(always)]
pub fn enter(registers: &Registers) -> Option<Entered> {
    let words = tls::words();
    if words.inside.get() != 0 {
        return reenter(words, registers);
    }
    if words.thread.get().is_null() {
        return begin(words, registers, Memory::Emptied);
    }
    // The mark comes before the look at session and thread: a handler that forks in between leaves its
    // child with neither, and the mark is what the child is told by to give this hook memory to end in.
    words.enter(registers.sp);
    // SAFETY: a thread's state stays for the life of the process.
    match (session::current(), unsafe { words.thread.get().as_ref() }) {
        (Some(session), Some(thread)) => Some(Entered { words, thread, session }),
        _ => {
            words.leave();
            begin(words, registers, Memory::Emptied)
        }
    }
}

/// The mark is set. Either a signal handler has come while the thread was in the recorder: pass. Or the
/// hook that set it was left by `siglongjmp` from a handler, and its frame is gone.
#[cold]
fn reenter(words: &'static Words, registers: &Registers) -> Option<Entered> {
    let Some(session) = session::current() else {
        return forked_inside(words, registers);
    };
    // SAFETY: as in `enter`.
    let thread = unsafe { words.thread.get().as_ref() };
    session.head.drop_one(Reason::Reentered); // also when the mark is stale: what that hook had to write down
    let thread = thread.filter(|thread| is_stale(words.inside.get(), registers.sp, thread.stack.get()))?;
    words.enter(registers.sp);
    Some(Entered { words, thread, session })
}

/// Whether the hook that was at `inside` is gone, seen from one at `sp`: this one is on the thread's own
/// stack, and that one was on another - no handler comes back from there - or not above this one.
fn is_stale(inside: usize, sp: usize, own: Option<StackRange>) -> bool {
    let Some(own) = own.filter(|own| own.contains(sp)) else { return false };
    // An alternate signal stack may lie in the thread's own stack (an array of `main`).
    let alternate = sys::alternate_stack();
    let was_on_alternate = alternate.range.contains(&inside);
    !alternate.is_in_use && (was_on_alternate || !own.contains(inside) || sp >= inside)
}

/// The mark is set and there is no session. Either the session is being made, with signals held back, and
/// what we call for it calls the heap (musl's pthread_atfork): that is not the program's. Or this is a
/// child, forked by a handler that had interrupted the recorder: it begins anew, and leaves the memory alone
/// in which the interrupted hook will go on to its end.
#[cold]
fn forked_inside(words: &'static Words, registers: &Registers) -> Option<Entered> {
    if session::is_being_made() {
        return None;
    }
    begin(words, registers, Memory::Kept)
}

/// The first hook of a thread, perhaps of the process.
#[cold]
fn begin(words: &'static Words, registers: &Registers, memory: Memory) -> Option<Entered> {
    // Before the mark: a handler that jumped away now would leave it for ever, and no thread to tell by.
    // And before the look at the session: a handler that forks leaves its child without one.
    let _blocked = sys::SignalsBlocked::new();
    let session = session::current().or_else(|| make(words, registers, memory))?;
    // SAFETY: as in `enter`.
    if let Some(thread) = unsafe { words.thread.get().as_ref() } {
        words.enter(registers.sp); // a handler has come in before us
        return Some(Entered { words, thread, session });
    }
    attach(words, session, registers)
}

/// Makes this process its session, with signals blocked.
fn make(words: &Words, registers: &Registers, memory: Memory) -> Option<&'static Session> {
    words.enter(registers.sp);
    let session = session::get_or_make(memory);
    words.thread.set(core::ptr::null());
    words.leave();
    if session.is_none() && session::is_refused_for_good() {
        gate::close(words);
    }
    session
}

/// Takes a thread in, with signals blocked.
fn attach(words: &'static Words, session: &'static Session, registers: &Registers) -> Option<Entered> {
    words.enter(registers.sp);
    match session.threads.attach(session) {
        Some(thread) => {
            stack_bounds::learn(registers.sp, thread, session);
            words.thread.set(thread);
            Some(Entered { words, thread, session })
        }
        None => {
            words.leave();
            session.head.drop_one(Reason::LogMemory);
            None
        }
    }
}

impl Entered {
    /// A block was handed out; null when the call failed.
    ///
    /// # Safety
    /// * `registers` are those of the hook's caller.
    /// * `address` was just handed out by the heap to this call, or is null.
    #[inline(always)]
    pub unsafe fn handed_out(
        &self,
        call: Call,
        address: usize,
        size_bytes: usize,
        align: usize,
        registers: Registers,
    ) {
        let (thread, session) = (self.thread, self.session);
        let Some(rate) = gate::admits(size_bytes, thread, self.words, session) else { return };
        session.live.prefetch(address as u64, &thread.regions);
        // SAFETY: the caller's contract.
        let stack = unsafe { stack::current(registers, thread, session) };
        let Some(place) = emit::reserve(thread, session) else { return };
        let size_bytes = size_bytes as u64;
        if address == 0 {
            return place.write(&Event::Failed { call, size_bytes, stack }, RateId::FULL);
        }
        // SAFETY: the caller's contract: the block is this call's.
        unsafe { self.note(address, size_bytes, stack, rate, place.now) };
        let align_log2 = align.checked_ilog2().unwrap_or(0) as u8;
        place.write(&Event::Alloc { call, size_bytes, stack, align_log2 }, rate);
    }

    /// Puts a block that was just born into the live table.
    ///
    /// # Safety
    /// * The block at `address` is this call's.
    #[inline(always)]
    unsafe fn note(&self, address: usize, size_bytes: u64, stack: StackId, rate: RateId, now: u64) {
        let (thread, session) = (self.thread, self.session);
        thread.last_alloc_ticks.set(now);
        let (thread_id, birth_ticks) = (thread.id.get(), now);
        let slot = Slot { size_bytes, stack, thread: thread_id, birth_ticks, upper_half: false, rate };
        if rate != RateId::FULL {
            filter::add(address);
        }
        // SAFETY: the caller's contract.
        match unsafe {
            session.live.insert(address as u64, slot, &thread.regions, session.head, &session.lock)
        } {
            Ok(false) => {}
            Ok(true) => session.head.drop_one(Reason::ReplacedBlock),
            Err(_) => session.head.drop_one(Reason::LiveTable),
        }
    }

    /// A block is about to go, to `free`: takes it out of the live table and writes down that it goes.
    ///
    /// # Safety
    /// * The caller of the hook owns the block at `address`.
    #[inline(always)]
    pub unsafe fn goes(&self, call: Call, address: usize) {
        let (thread, session) = (self.thread, self.session);
        // Neither the slot nor the heap's own words before the block are in the cache when a block has
        // lived for long: fetched together, while the clock is read, they cost one wait and not two.
        session.live.prefetch(address as u64, &thread.regions);
        live::fetch(address.wrapping_sub(HEAP_WORDS_BYTES) as *const u8);
        if gate::is_full(session.head) {
            let place = emit::reserve(thread, session);
            // SAFETY: the caller's contract.
            let taken = unsafe { self.take(address) };
            if let Some(place) = place {
                self.write_gone(call, taken, place);
            }
        } else {
            // SAFETY: the caller's contract.
            self.gone(call, unsafe { self.take(address) });
        }
    }

    /// A block is about to go, to `realloc`: takes it out of the live table.
    ///
    /// # Safety
    /// * The caller of the hook owns the block at `address`.
    #[inline(always)]
    pub unsafe fn take(&self, address: usize) -> Taken {
        // SAFETY: the caller's contract.
        let slot = unsafe { self.session.live.take(address as u64, &self.thread.regions) };
        Taken(slot.map(|slot| (slot, address as u64)))
    }

    /// The block that was taken has gone.
    #[inline(always)]
    pub fn gone(&self, call: Call, taken: Taken) {
        let (thread, session) = (self.thread, self.session);
        if !self.concerns(taken) {
            return;
        }
        if let Some(place) = emit::reserve(thread, session) {
            self.write_gone(call, taken, place);
        }
    }

    /// Whether what was taken is to be told of: not a block that was not sampled.
    #[inline(always)]
    fn concerns(&self, taken: Taken) -> bool {
        taken.0.is_some() || gate::is_full(self.session.head)
    }

    #[inline(always)]
    fn write_gone(&self, call: Call, taken: Taken, place: emit::Place<'_>) {
        match taken.0 {
            Some((slot, address)) => {
                self.no_more(&slot, address, &place);
                let block = self.block(&slot, place.now);
                place.write(&Event::Free { call, block }, slot.rate);
            }
            None => {
                self.session.head.drop_one(Reason::UnknownBlock);
                place.write(&Event::UnknownFree { call }, RateId::FULL);
            }
        }
    }

    #[inline(always)]
    fn no_more(&self, slot: &Slot, address: u64, place: &emit::Place<'_>) {
        if slot.rate != RateId::FULL {
            self.sample_is_no_more(slot, address, place);
        }
    }

    /// The end of a sampled block. One that looks like the thread's newest, because those after it were not
    /// sampled, must not be taken for one that lived for a moment only.
    #[cold]
    fn sample_is_no_more(&self, slot: &Slot, address: u64, place: &emit::Place<'_>) {
        filter::remove(address as usize);
        let thread = self.thread;
        let newest = thread.last_alloc_ticks.get() & ((1 << BIRTH_BITS) - 1);
        let looks_newest = slot.thread == thread.id.get() && slot.birth_ticks == newest;
        if looks_newest && thread.sampling.has_given_others(self.words) {
            place.write_others_came(slot.rate);
        }
    }

    /// The block that was taken has become another, by `realloc`.
    ///
    /// # Safety
    /// * As for [`Self::handed_out`]; the address is not null.
    #[inline(always)]
    pub unsafe fn became(
        &self,
        call: Call,
        taken: Taken,
        address: usize,
        size_bytes: usize,
        registers: Registers,
    ) {
        let (thread, session) = (self.thread, self.session);
        let Some(rate) = gate::admits(size_bytes, thread, self.words, session) else {
            return self.gone(call, taken);
        };
        // SAFETY: the caller's contract.
        let stack = unsafe { stack::current(registers, thread, session) };
        let size_bytes = size_bytes as u64;
        // A block of another rate: its end and the other's birth are two events, each of its own rate.
        let is_split = taken.0.is_some_and(|(slot, _)| slot.rate != rate);
        let taken = if is_split {
            self.gone(call, taken);
            Taken(None)
        } else {
            taken
        };
        let Some(place) = emit::reserve(thread, session) else { return };
        // SAFETY: the caller's contract.
        unsafe { self.note(address, size_bytes, stack, rate, place.now) };
        match taken.0 {
            Some((slot, old)) => {
                self.no_more(&slot, old, &place);
                let old = self.block(&slot, place.now);
                place.write(&Event::Realloc { call, old, size_bytes, stack }, rate);
            }
            None if rate != RateId::FULL || is_split => {
                place.write(&Event::Alloc { call, size_bytes, stack, align_log2: 0 }, rate);
            }
            None => {
                session.head.drop_one(Reason::UnknownBlock);
                place.write(&Event::UnknownRealloc { call, size_bytes, stack }, rate);
            }
        }
    }

    /// The `realloc` for which a block was taken has failed: the block stays, the failure is written down.
    ///
    /// # Safety
    /// * As for [`Self::handed_out`].
    #[cold]
    pub unsafe fn stayed(&self, call: Call, taken: Taken, size_bytes: usize, registers: Registers) {
        if let Some((slot, address)) = taken.0 {
            let (thread, session) = (self.thread, self.session);
            // SAFETY: the block is still the caller's, the heap has left it alone.
            let put =
                unsafe { session.live.insert(address, slot, &thread.regions, session.head, &session.lock) };
            if put.is_err() {
                session.head.drop_one(Reason::LiveTable);
            }
        }
        // SAFETY: the caller's contract.
        unsafe { self.handed_out(call, 0, size_bytes, 0, registers) };
    }

    #[inline(always)]
    fn block(&self, slot: &Slot, now: u64) -> Block {
        let own: ThreadId = self.thread.id.get();
        Block {
            size_bytes: slot.size_bytes,
            stack: slot.stack,
            age_ticks: age_ticks(now, slot.birth_ticks),
            birth_thread: (slot.thread != own).then_some(slot.thread),
        }
    }
}
