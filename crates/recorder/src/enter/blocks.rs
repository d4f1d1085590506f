//! What a hook tells once it is inside: a block has come, goes, becomes another. The live table and the
//! event are done here, in the order that keeps both true: out of the table before the block goes, into it
//! after it has come. `POOL` says of blocks that lie inside others: they count for nothing but themselves.
#![allow(unsafe_code)]

use heapscribe_wire::head::Drop as Reason;
use heapscribe_wire::ids::{RateId, StackId, ThreadId};
use heapscribe_wire::limits::BIRTH_BITS;
use heapscribe_wire::live::{Slot, age_ticks};
use heapscribe_wire::record::{Block, Call, Event};

use crate::capture::Registers;
use crate::{emit, filter, gate, live, stack};

use super::Entered;

/// How far before a block a heap keeps what it knows of it (glibc: 16 bytes).
const HEAP_WORDS_BYTES: usize = 16;

/// A block that was taken out of the live table, before its end is written down.
#[derive(Clone, Copy, Debug)]
pub struct Taken(Option<(Slot, u64)>);

impl Taken {
    #[inline(always)]
    fn size_bytes(self) -> u64 {
        self.0.map_or(0, |(slot, _)| slot.size_bytes)
    }
}

impl Entered {
    /// A block was handed out; null when the call failed.
    ///
    /// # Safety
    /// * `registers` are those of the hook's caller.
    /// * `address` was just handed out by the heap to this call, or is null.
    #[inline(always)]
    pub unsafe fn handed_out<const POOL: bool>(
        &self,
        call: Call,
        address: usize,
        size_bytes: usize,
        align: usize,
        registers: Registers,
    ) {
        let (thread, session) = (self.thread, self.session);
        let Some(rate) = gate::admits(size_bytes, thread, self.words, session) else { return };
        session.live.prefetch::<POOL>(address as u64, thread.regions::<POOL>());
        // SAFETY: the caller's contract.
        let stack = unsafe { stack::current(registers, thread, session) };
        let Some(place) = emit::reserve(thread, session) else { return };
        let size_bytes = size_bytes as u64;
        if address == 0 {
            return place.write(&Event::Failed { call, size_bytes, stack }, RateId::FULL);
        }
        // SAFETY: the caller's contract: the block is this call's.
        unsafe { self.note::<POOL>(address, size_bytes, stack, rate, place.now) };
        let align_log2 = align.checked_ilog2().unwrap_or(0) as u8;
        place.write(&Event::Alloc { call, size_bytes, stack, align_log2 }, rate);
    }

    /// Puts a block that was just born into the live table.
    ///
    /// # Safety
    /// * The block at `address` is this call's.
    #[inline(always)]
    unsafe fn note<const POOL: bool>(
        &self,
        address: usize,
        size_bytes: u64,
        stack: StackId,
        rate: RateId,
        now: u64,
    ) {
        let (thread, session) = (self.thread, self.session);
        if !POOL {
            thread.record.count_allocated(size_bytes);
            thread.last_alloc_ticks.set(now);
        }
        let (thread_id, birth_ticks) = (thread.id.get(), now);
        let slot = Slot { size_bytes, stack, thread: thread_id, birth_ticks, upper_half: false, rate };
        if rate != RateId::FULL {
            filter::add(address);
        }
        // SAFETY: the caller's contract.
        match unsafe {
            session.live.insert::<POOL>(
                address as u64,
                slot,
                thread.regions::<POOL>(),
                session.head,
                &session.lock,
            )
        } {
            Ok(false) => {}
            Ok(true) => session.head.drop_one(Reason::ReplacedBlock),
            Err(_) => session.head.drop_one(Reason::LiveTable),
        }
    }

    /// A block is about to go, to `free`: takes it out of the live table and writes down that it goes. Its
    /// size, 0 when it is not known.
    ///
    /// # Safety
    /// * The caller of the hook owns the block at `address`.
    #[inline(always)]
    pub unsafe fn goes(&self, call: Call, address: usize) -> u64 {
        let (thread, session) = (self.thread, self.session);
        // Neither the slot nor the heap's own words before the block are in the cache when a block has
        // lived for long: fetched together, while the clock is read, they cost one wait and not two.
        session.live.prefetch::<false>(address as u64, &thread.regions);
        live::fetch(address.wrapping_sub(HEAP_WORDS_BYTES) as *const u8);
        if gate::is_full(session.head) {
            let place = emit::reserve(thread, session);
            // SAFETY: the caller's contract.
            let taken = unsafe { self.take::<false>(address) };
            if let Some(place) = place {
                self.write_gone::<false>(call, taken, place);
            }
            taken.size_bytes()
        } else {
            // SAFETY: the caller's contract.
            let taken = unsafe { self.take::<false>(address) };
            self.gone::<false>(call, taken);
            taken.size_bytes()
        }
    }

    /// A block is about to go, to `realloc`: takes it out of the live table.
    ///
    /// # Safety
    /// * The caller of the hook owns the block at `address`.
    #[inline(always)]
    pub unsafe fn take<const POOL: bool>(&self, address: usize) -> Taken {
        // SAFETY: the caller's contract.
        let slot = unsafe { self.session.live.take::<POOL>(address as u64, self.thread.regions::<POOL>()) };
        if !POOL && let Some(slot) = &slot {
            self.thread.record.count_freed(slot.size_bytes);
        }
        Taken(slot.map(|slot| (slot, address as u64)))
    }

    /// [`Self::take`] for `realloc`: the operation goes on until [`enter_again`]'s end.
    ///
    /// # Safety
    /// * As for [`Self::take`].
    #[inline(always)]
    pub unsafe fn take_for_resize(self, address: usize) -> Taken {
        // SAFETY: the caller's contract.
        let taken = unsafe { self.take::<false>(address) };
        let words = self.words;
        core::mem::forget(self);
        words.leave();
        taken
    }

    /// The block that was taken has gone.
    #[inline(always)]
    pub fn gone<const POOL: bool>(&self, call: Call, taken: Taken) {
        let (thread, session) = (self.thread, self.session);
        if !self.concerns(taken) {
            return;
        }
        if let Some(place) = emit::reserve(thread, session) {
            self.write_gone::<POOL>(call, taken, place);
        }
    }

    /// Whether what was taken is to be told of: not a block that was not sampled.
    #[inline(always)]
    fn concerns(&self, taken: Taken) -> bool {
        taken.0.is_some() || gate::is_full(self.session.head)
    }

    #[inline(always)]
    fn write_gone<const POOL: bool>(&self, call: Call, taken: Taken, place: emit::Place<'_>) {
        match taken.0 {
            Some((slot, address)) => {
                self.no_more(&slot, address, &place);
                let block = self.gone_block(&slot, place.now);
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
            return self.gone::<false>(call, taken);
        };
        // SAFETY: the caller's contract.
        let stack = unsafe { stack::current(registers, thread, session) };
        let size_bytes = size_bytes as u64;
        // A block of another rate: its end and the other's birth are two events, each of its own rate.
        let is_split = taken.0.is_some_and(|(slot, _)| slot.rate != rate);
        let taken = if is_split {
            self.gone::<false>(call, taken);
            Taken(None)
        } else {
            taken
        };
        let Some(place) = emit::reserve(thread, session) else { return };
        // SAFETY: the caller's contract.
        unsafe { self.note::<false>(address, size_bytes, stack, rate, place.now) };
        match taken.0 {
            Some((slot, old)) => {
                self.no_more(&slot, old, &place);
                let old = self.gone_block(&slot, place.now);
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
            thread.record.count_stayed(slot.size_bytes);
            // SAFETY: the block is still the caller's, the heap has left it alone.
            let put = unsafe {
                session.live.insert::<false>(address, slot, &thread.regions, session.head, &session.lock)
            };
            if put.is_err() {
                session.head.drop_one(Reason::LiveTable);
            }
        }
        // SAFETY: the caller's contract.
        unsafe { self.handed_out::<false>(call, 0, size_bytes, 0, registers) };
    }

    #[inline(always)]
    fn gone_block(&self, slot: &Slot, now: u64) -> Block {
        let own: ThreadId = self.thread.id.get();
        Block {
            size_bytes: slot.size_bytes,
            stack: slot.stack,
            age_ticks: age_ticks(now, slot.birth_ticks),
            birth_thread: (slot.thread != own).then_some(slot.thread),
        }
    }
}
