//! What a hook records once it is inside: a block was allocated, is freed, is moved. The live table and the
//! event are written here, in the order that keeps both true: out of the table before the block is freed, into
//! it after it was allocated. `POOL` is for blocks that lie inside others: they are counted apart.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{RateId, StackId, ThreadId};
use heapscribe_wire::limits::BIRTH_BITS;
use heapscribe_wire::live::{Slot, age_ticks};
use heapscribe_wire::record::{Block, Call, Event};

use super::entry_token::Entered;
use crate::events::{self, Reservation};
use crate::live::{Access, EntryPlace};
use crate::platform::memory::prefetch;
use crate::sampling::{admit, admit_apart, filter, has_allocated_others, is_full, is_recorded_in_full};
use crate::stack_ids;
use crate::unwind::Registers;

/// How far before a block a heap has its own words about it (glibc: 16 bytes).
const HEAP_WORDS_BYTES: usize = 16;

/// A block that was removed from the live table, before its event is written.
#[derive(Clone, Copy, Debug)]
pub struct RemovedBlock(Option<(Slot, u64)>);

impl RemovedBlock {
    #[inline(always)]
    fn size_bytes(self) -> u64 {
        self.0.map_or(0, |(slot, _)| slot.size_bytes)
    }

    /// The slot of a block that a sample hit.
    #[inline(always)]
    fn sample(&self) -> Option<&Slot> {
        self.0.as_ref().map(|(slot, _)| slot).filter(|slot| slot.rate != RateId::FULL)
    }
}

impl Entered {
    /// Records a block that was allocated, or a call that failed: `address` is null.
    ///
    /// # Safety
    /// * `registers` are those of the hook's caller, which is still active.
    /// * The block at `address` is this call's: the heap has just returned it, and no other thread has it.
    ///   Or it is null.
    #[inline(always)]
    pub unsafe fn record_alloc<const POOL: bool>(
        &self,
        call: Call,
        address: usize,
        size_bytes: usize,
        align: usize,
        registers: Registers,
    ) {
        let (thread, session) = (self.thread, self.session);
        if POOL || call.is_aligned() || !is_recorded_in_full(thread, session.head) {
            let apart = registers;
            // SAFETY: the registers are those of the hook's caller, and the block is this call's.
            return unsafe {
                self.apart().record_any_alloc::<POOL>(call, address, size_bytes, align, &apart)
            };
        }
        let place = session.live.prefetch::<false>(address as u64, &thread.live);
        // SAFETY: the registers are those of the hook's caller, which is active.
        let stack = unsafe { stack_ids::stack_id(registers, thread, session) };
        let Some(reservation) = events::reserve(thread, session) else { return };
        let size_bytes = size_bytes as u64;
        if address == 0 {
            let apart = reservation;
            return apart.write(&Event::Failed { call, size_bytes, stack }, RateId::FULL);
        }
        // SAFETY: the block is this call's.
        unsafe {
            self.insert::<false>(address, place, size_bytes, stack, RateId::FULL, reservation.now);
        }
        reservation.write_alloc(call, size_bytes, stack);
    }

    /// [`Self::record_alloc`] of blocks that are sampled, aligned, or a pool's.
    ///
    /// # Safety
    /// * As for [`Self::record_alloc`].
    #[inline(never)]
    unsafe fn record_any_alloc<const POOL: bool>(
        &self,
        call: Call,
        address: usize,
        size_bytes: usize,
        align: usize,
        registers: &Registers,
    ) {
        let (thread, session) = (self.thread, self.session);
        let admit = if POOL { admit_apart } else { admit };
        let Some(rate) = admit(size_bytes, thread, self.words(), session) else { return };
        let place = session.live.prefetch::<POOL>(address as u64, thread.live::<POOL>());
        // SAFETY: the registers are those of the hook's caller, which is active.
        let stack = unsafe { stack_ids::stack_id(*registers, thread, session) };
        let Some(reservation) = events::reserve(thread, session) else { return };
        let size_bytes = size_bytes as u64;
        if address == 0 {
            return reservation.write(&Event::Failed { call, size_bytes, stack }, RateId::FULL);
        }
        // SAFETY: the block is this call's.
        unsafe { self.insert::<POOL>(address, place, size_bytes, stack, rate, reservation.now) };
        let align_log2 = align.checked_ilog2().unwrap_or(0) as u8;
        reservation.write(&Event::Alloc { call, size_bytes, stack, align_log2 }, rate);
    }

    /// Puts a block that was just allocated into the live table.
    ///
    /// # Safety
    /// * The block at `address` is this call's.
    #[inline(always)]
    unsafe fn insert<const POOL: bool>(
        &self,
        address: usize,
        place: Option<EntryPlace<'_>>,
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
        let (id, birth_ticks) = (thread.id.get(), now);
        let slot = Slot { size_bytes, stack, thread: id, birth_ticks, upper_half: false, rate };
        if rate != RateId::FULL {
            filter::add(address);
        }
        // SAFETY: the block is this call's, so no other thread inserts or removes at its address.
        match unsafe { session.live.insert::<POOL>(address as u64, slot, place, self.access::<POOL>()) } {
            Ok(false) => {}
            Ok(true) => session.head.count_loss(LossReason::ReplacedBlock),
            Err(_) => session.head.count_loss(LossReason::LiveTable),
        }
    }

    /// Records a block that is about to be freed: removes it from the live table and writes its event. Gives its
    /// size, 0 when it is not known.
    ///
    /// # Safety
    /// * The caller of the hook owns the block at `address`: no other thread frees it or is given it meanwhile.
    #[inline(always)]
    pub unsafe fn record_free(&self, call: Call, address: usize) -> u64 {
        let (thread, session) = (self.thread, self.session);
        // Neither the slot nor the heap's own words before the block are in the cache when a block has
        // lived for long: fetched together, while the clock is read, they cost one wait and not two.
        let place = session.live.prefetch_block::<false>(address as u64, &thread.live);
        prefetch(address.wrapping_sub(HEAP_WORDS_BYTES) as *const u8);
        if !is_full(session.head) {
            // SAFETY: the caller owns the block.
            return unsafe { self.apart().record_free_of_sample(call, address) };
        }
        let reservation = events::reserve(thread, session);
        let (upper_half, access) = (session.live.upper_half::<false>(address as u64), self.access::<false>());
        if let (Some(reservation), Some(place)) = (&reservation, place)
            // SAFETY: the caller owns the block.
            && let Some(slot) = unsafe { session.live.take_usual(place, thread.id.get(), upper_half, access) }
        {
            thread.record.count_freed(slot.size_bytes);
            let age = age_ticks(reservation.now, slot.birth_ticks);
            reservation.write_free(call, age, slot.size_bytes, slot.stack);
            return slot.size_bytes;
        }
        let apart = reservation;
        // SAFETY: the caller owns the block.
        unsafe { self.apart().record_any_free(call, address, &apart) }
    }

    /// The free of a block that is not usual: another thread's, sampled, huge, or not known.
    ///
    /// # Safety
    /// * As for [`Self::record_free`].
    #[inline(never)]
    unsafe fn record_any_free(&self, call: Call, address: usize, place: &Option<Reservation<'_>>) -> u64 {
        // SAFETY: the caller owns the block.
        let removed = unsafe { self.remove::<false>(address) };
        if let Some(reservation) = *place {
            self.write_free::<false>(call, removed, self.is_superseded(removed), reservation);
        }
        removed.size_bytes()
    }

    /// The free of a block when not all are recorded.
    ///
    /// # Safety
    /// * As for [`Self::record_free`].
    #[inline(never)]
    unsafe fn record_free_of_sample(&self, call: Call, address: usize) -> u64 {
        // SAFETY: the caller owns the block.
        let removed = unsafe { self.remove::<false>(address) };
        self.record_free_of::<false>(call, removed);
        removed.size_bytes()
    }

    /// Removes a block from the live table.
    ///
    /// # Safety
    /// * The caller of the hook owns the block at `address`: no other thread frees it or is given it meanwhile.
    #[inline(always)]
    pub unsafe fn remove<const POOL: bool>(&self, address: usize) -> RemovedBlock {
        // SAFETY: the caller owns the block, so no other thread inserts or removes at its address.
        let slot = unsafe { self.session.live.remove::<POOL>(address as u64, self.access::<POOL>()) };
        if !POOL && let Some(slot) = &slot {
            self.thread.record.count_freed(slot.size_bytes);
        }
        RemovedBlock(slot.map(|slot| (slot, address as u64)))
    }

    /// [`Self::remove`] for `realloc`: the operation goes on until `resume`'s end.
    ///
    /// # Safety
    /// * The caller of the hook owns the block at `address`, as for [`Self::remove`].
    #[inline(always)]
    pub unsafe fn remove_for_resize(self, address: usize) -> RemovedBlock {
        // SAFETY: the caller owns the block.
        let removed = unsafe { self.remove::<false>(address) };
        self.leave_in_operation();
        removed
    }

    /// Records the free of a block that was removed.
    #[inline(always)]
    pub fn record_free_of<const POOL: bool>(&self, call: Call, removed: RemovedBlock) {
        self.record_free_after::<POOL>(call, removed, self.is_superseded(removed));
    }

    /// [`Self::record_free_of`] when [`Self::is_superseded`] was asked before.
    #[inline(always)]
    fn record_free_after<const POOL: bool>(&self, call: Call, removed: RemovedBlock, is_superseded: bool) {
        if !self.is_recorded(removed) {
            return;
        }
        if let Some(reservation) = events::reserve(self.thread, self.session) {
            self.write_free::<POOL>(call, removed, is_superseded, reservation);
        }
    }

    /// Whether what was removed is recorded: not a block that was not sampled.
    #[inline(always)]
    fn is_recorded(&self, removed: RemovedBlock) -> bool {
        removed.0.is_some() || is_full(self.session.head)
    }

    #[inline(always)]
    fn write_free<const POOL: bool>(
        &self,
        call: Call,
        removed: RemovedBlock,
        is_superseded: bool,
        reservation: Reservation<'_>,
    ) {
        match removed.0 {
            Some((slot, address)) => {
                end_sample(&slot, address, is_superseded, &reservation);
                let block = self.freed_block(&slot, reservation.now);
                reservation.write(&Event::Free { call, block }, slot.rate);
            }
            None => {
                self.session.head.count_loss(LossReason::UnknownBlock);
                reservation.write(&Event::UnknownFree { call }, RateId::FULL);
            }
        }
    }

    /// Whether a sampled block looks like its thread's newest to a reader and is not, because those after it were
    /// not sampled. To be asked before the block that a `realloc` gives for it is counted: that is none of them
    /// (of a program that resized one block 5,000 times, 2 in 5 of the blocks passed for long-lived).
    #[inline(always)]
    fn is_superseded(&self, removed: RemovedBlock) -> bool {
        removed.sample().is_some_and(|slot| self.sample_is_superseded(slot))
    }

    #[cold]
    fn sample_is_superseded(&self, slot: &Slot) -> bool {
        let thread = self.thread;
        let newest = thread.last_alloc_ticks.get() & ((1 << BIRTH_BITS) - 1);
        let is_last_sampled = slot.thread == thread.id.get() && slot.birth_ticks == newest;
        is_last_sampled && has_allocated_others(self.words())
    }

    /// Records that `realloc` has given another block for the one that was removed.
    ///
    /// # Safety
    /// * `registers` are those of the hook's caller, which is still active.
    /// * The block at `address`, which is not null, is this call's, as for [`Self::record_alloc`].
    #[inline(always)]
    pub unsafe fn record_realloc(
        &self,
        call: Call,
        removed: RemovedBlock,
        address: usize,
        size_bytes: usize,
        registers: Registers,
    ) {
        let (thread, session) = (self.thread, self.session);
        let is_superseded = self.is_superseded(removed);
        let Some(rate) = admit(size_bytes, thread, self.words(), session) else {
            return self.record_free_after::<false>(call, removed, is_superseded);
        };
        // SAFETY: the registers are those of the hook's caller, which is active.
        let stack = unsafe { stack_ids::stack_id(registers, thread, session) };
        let size_bytes = size_bytes as u64;
        // A block of another rate: the free of the old and the alloc of the new are two events, each of its rate.
        let is_split = removed.0.is_some_and(|(slot, _)| slot.rate != rate);
        let removed = if is_split {
            self.record_free_after::<false>(call, removed, is_superseded);
            RemovedBlock(None)
        } else {
            removed
        };
        let Some(reservation) = events::reserve(thread, session) else { return };
        // SAFETY: the block is this call's.
        unsafe { self.insert::<false>(address, None, size_bytes, stack, rate, reservation.now) };
        match removed.0 {
            Some((slot, old)) => {
                end_sample(&slot, old, is_superseded, &reservation);
                let old = self.freed_block(&slot, reservation.now);
                reservation.write(&Event::Realloc { call, old, size_bytes, stack }, rate);
            }
            None if rate != RateId::FULL || is_split => {
                reservation.write(&Event::Alloc { call, size_bytes, stack, align_log2: 0 }, rate);
            }
            None => {
                session.head.count_loss(LossReason::UnknownBlock);
                reservation.write(&Event::UnknownRealloc { call, size_bytes, stack }, rate);
            }
        }
    }

    /// Records that the `realloc` for which a block was removed has failed: the block is put back.
    ///
    /// # Safety
    /// * `registers` are those of the hook's caller, which is still active and owns the block that was removed.
    #[cold]
    pub unsafe fn record_realloc_failed(
        &self,
        call: Call,
        removed: RemovedBlock,
        size_bytes: usize,
        registers: Registers,
    ) {
        if let Some((slot, address)) = removed.0 {
            let (thread, session) = (self.thread, self.session);
            thread.record.uncount_freed(slot.size_bytes);
            // SAFETY: the caller still owns the block, the heap has left it alone.
            let put = unsafe { session.live.insert::<false>(address, slot, None, self.access::<false>()) };
            if put.is_err() {
                session.head.count_loss(LossReason::LiveTable);
            }
        }
        // SAFETY: the registers are those of the hook's caller, which is active; no block is given.
        unsafe { self.record_alloc::<false>(call, 0, size_bytes, 0, registers) };
    }

    /// What the thread changes the live table with.
    #[inline(always)]
    fn access<const POOL: bool>(&self) -> Access<'_> {
        Access { cache: self.thread.live::<POOL>(), lock: &self.session.lock }
    }

    #[inline(always)]
    fn freed_block(&self, slot: &Slot, now: u64) -> Block {
        let own: ThreadId = self.thread.id.get();
        Block {
            size_bytes: slot.size_bytes,
            stack: slot.stack,
            age_ticks: age_ticks(now, slot.birth_ticks),
            birth_thread: (slot.thread != own).then_some(slot.thread),
        }
    }
}

#[inline(always)]
fn end_sample(slot: &Slot, address: u64, is_superseded: bool, reservation: &Reservation<'_>) {
    if slot.rate != RateId::FULL {
        end_sample_slow(slot, address, is_superseded, reservation);
    }
}

/// The free of a sampled block. One that only looks like the thread's newest must not be taken for one that lived
/// for a moment.
#[cold]
fn end_sample_slow(slot: &Slot, address: u64, is_superseded: bool, reservation: &Reservation<'_>) {
    filter::remove(address as usize);
    if is_superseded {
        reservation.write_others_allocated(slot.rate);
    }
}
