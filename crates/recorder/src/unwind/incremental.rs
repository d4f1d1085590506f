//! The walk of a stack that was walked before: new frames only, as far as the first that is known.
//!
//! ```text
//!   cached  main  parse  expr  term | call  malloc'er        outermost first
//!   words   same  same   same  same   other
//!   here    leaf of now -> its caller -> ... -> term: same state as in the cached stack, and all further out
//! ```
//! What is unusual - a signal's frame, a rule that is not one of ours, a frame out of bounds - is left to a
//! walk from the beginning, which is not cached: such stacks are rare, and must not disturb the others.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;
use heapscribe_wire::limits::DEPTH_MAX;

use super::beyond::{Beyond, Onward};
use super::bounds::StackRange;
use super::cached::{CachedStack, NOT_USED};
use super::frame::{Context, Place, Registers};
use super::new_frame::{BY_BP, BY_CFA, FLAGS, GUESS, NewFrame};
use super::rule::{Kind, Rule};
use super::step::word;
use super::usual_step::{Usual, usual_step};
use super::walk::Unwinder;

mod store;

/// Where an incremental walk starts, and what is known of its stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The registers of the frame that it starts from.
    pub registers: Registers,
    /// The stack that they are on.
    pub stack: StackRange,
    /// How far the stack is known to be readable.
    pub readable: usize,
    /// How many of the outermost cached frames are as they were, see [`CachedStack::unchanged`].
    pub unchanged: usize,
    /// What is loaded.
    pub epoch: u64,
}

/// How an incremental walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Incremental {
    /// It is cached: so many frames are new, as noted in the room for them, after the outermost ones.
    Walked {
        /// How many of the cached stack's outermost frames are as before.
        outer: usize,
        /// How many were walked.
        new: usize,
    },
    /// There was no room for so many frames.
    NoRoom,
    /// It met something that is not for this kind of walk. What was cached stays.
    Unusual,
}

/// Where a walk stopped.
enum Met {
    /// At the cached frame of this index.
    Known(usize),
    /// At the end of the stack, for this reason if it is not outermost.
    End(Option<LossReason>),
    /// At the frame before [`Walking::onward`].
    Elsewhere,
    NoRoom,
    Unusual,
}

/// A walk in progress.
struct Walking<'a> {
    unwinder: &'a Unwinder<'a>,
    place: Place,
    /// The stack is known to be readable up to here.
    readable: usize,
    new: &'a mut [NewFrame],
    len: usize,
    /// The flags of any of them.
    flags: usize,
}

/// Walks from `start` to the first frame that `walk` has cached, and caches what it found in it. Not `DEEP`, it has
/// no room for more than [`DEPTH_MAX`] frames.
///
/// # Safety
/// - `start.registers` are those of the calling thread, of a frame that is still active, on `start.stack`.
/// - `walk` is of `start.stack`, or empty, and `start.unchanged` is what it gives for this stack pointer.
/// - The stack is readable from the stack pointer to `start.readable`, which is beyond all that is cached.
#[inline(always)]
pub(crate) unsafe fn walk_incremental<C: Context, const DEEP: bool>(
    walk: &mut CachedStack,
    new: &mut [NewFrame],
    unwinder: &Unwinder<'_>,
    context: &mut C,
    start: Start,
) -> Incremental {
    let Start { registers, stack, readable, unchanged, epoch } = start;
    if !registers.sp.is_multiple_of(8) || registers.sp > readable {
        return Incremental::Unusual;
    }
    let place = Place { stack, is_exact: false };
    let mut walking = Walking { unwinder, place, readable, new, len: 0, flags: 0 };
    // SAFETY: the registers are of an active frame on `stack`, which is readable to `readable`, beyond all that is cached;
    // `unchanged` is what `walk` gives for its stack pointer.
    let met = unsafe { walking.outwards(walk, unchanged, context, registers) };
    let (outer, beyond) = match met {
        Met::Known(index) => (index + 1, None),
        Met::End(cut) => (0, Some(Beyond::Nothing(cut))),
        Met::Elsewhere => (0, walking.onward().map(Beyond::Stack)),
        Met::NoRoom => return Incremental::NoRoom,
        Met::Unusual => return Incremental::Unusual,
    };
    if walking.len + outer > if DEEP { walk.room() } else { walk.room().min(DEPTH_MAX) } {
        return Incremental::NoRoom;
    }
    if DEEP && walk.is_deep() && outer < unchanged {
        // SAFETY: the stack is readable from the stack pointer, beyond all that is cached.
        let is_known = unsafe { walk.is_known(outer, unchanged, registers.sp) };
        if !is_known {
            walk.forget();
            return Incremental::Unusual;
        }
    }
    let is_left = DEEP && walk.is_deep() && outer <= DEPTH_MAX; // the recursion has ended
    if walking.len == 0 && !is_left {
        walk.begins_at(outer - 1); // what is cached further in may be met again
        return Incremental::Walked { outer, new: 0 };
    }
    walk.open(outer);
    if let Some(beyond) = beyond {
        walk.begin(beyond);
    }
    if walking.store::<DEEP>(walk) {
        walk.close(epoch);
        return Incremental::Walked { outer, new: walking.len };
    }
    walk.forget();
    Incremental::Unusual
}

impl Walking<'_> {
    /// Takes steps until a frame is one of the first `unchanged` cached ones.
    ///
    /// # Safety
    /// - `start` are registers of the calling thread, of a frame that is still active, on `self.place.stack`.
    /// - `unchanged` is what `walk`, which is of this stack or empty, gives for this stack pointer.
    /// - The stack is readable from `start.sp` to `self.readable`, which is beyond all that is cached and not below it.
    #[inline(always)]
    unsafe fn outwards<C: Context>(
        &mut self,
        walk: &CachedStack,
        unchanged: usize,
        context: &mut C,
        start: Registers,
    ) -> Met {
        let (mut here, mut outer) = (start, unchanged);
        // The slot of the innermost frame that may still be met.
        let mut nearest = walk.slot_before(outer);
        // In registers while steps are usual: what `self` has is in memory, as unusual ones are functions of their own.
        let (cache, readable) = (self.unwinder.cache, self.readable);
        let (mut len, mut flags) = (self.len, self.flags);
        loop {
            let slot = here.sp.wrapping_sub(8);
            while slot >= nearest {
                outer -= 1; // there is a frame: the slot before none is beyond all addresses
                let bp = walk.bp(outer);
                if slot == nearest && (bp == NOT_USED || bp == here.bp) {
                    (self.len, self.flags) = (len, flags);
                    return Met::Known(outer);
                }
                nearest = walk.slot_before(outer);
            }
            // SAFETY: `here` is the start or the result of a step, and so is a frame of the stack, which is readable
            // to `readable`.
            let usual = cache.as_ref().and_then(|cache| unsafe { usual_step(here, cache, readable) });
            if let Some(Usual { caller, loaded }) = usual
                && let Some(place) = self.new.get_mut(len)
            {
                *place = NewFrame { slot, pc: here.pc, bp: here.bp, loaded };
                (len, flags, here) = (len + 1, flags | loaded & FLAGS, caller);
                continue;
            }
            (self.len, self.flags) = (len, flags);
            let frame = here; // a copy: what a function is given by its address is in memory at all times
            // SAFETY: `frame` is the start or the result of a step, so one of the stack, which is readable to `readable`.
            match unsafe { self.any_step(frame, context) } {
                Ok(caller) => here = caller,
                Err(met) => return met,
            }
            (len, flags) = (self.len, self.flags);
        }
    }

    /// A step by any rule, which may have to be worked out.
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack, or the frame of its hook's caller.
    /// - The stack is readable from its stack pointer to `self.readable`.
    #[cold]
    #[inline(never)]
    unsafe fn any_step<C: Context>(&mut self, here: Registers, context: &mut C) -> Result<Registers, Met> {
        let rule = match self.unwinder.cache.as_ref().and_then(|cache| cache.get(here.pc)) {
            Some(rule) => rule,
            None => self.unwinder.new_rule(context, here, self.place),
        };
        // SAFETY: the frame is one of the stack, which is readable to `self.readable`.
        unsafe { self.step(here, rule) }
    }

    /// Notes the frame and goes to its caller.
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack, or the frame of its hook's caller.
    /// - The stack is readable from its stack pointer to `self.readable`.
    #[inline(always)]
    unsafe fn step(&mut self, here: Registers, rule: Rule) -> Result<Registers, Met> {
        let (base, by) = match rule.kind() {
            Kind::Stack => (here.sp, 0),
            Kind::Frame => (here.bp, BY_BP),
            // SAFETY: the frame is one of the stack, which is readable to `self.readable`.
            _ => return unsafe { self.slow_step(here, rule) },
        };
        let cfa = base.wrapping_add(rule.offset() as usize);
        let saved_slot = cfa.wrapping_sub(rule.saved_below());
        if !self.is_frame(here, cfa) || saved_slot < here.sp || saved_slot > cfa {
            return Err(self.leaves(here, cfa, rule));
        }
        // SAFETY: both slots are whole words of the stack at or above its pointer; that of rbp is the CFA
        // itself - and not read - when rbp was not saved.
        unsafe {
            let (bp, loaded) = if saved_slot == cfa { (here.bp, 0) } else { (word(saved_slot), saved_slot) };
            self.note(here, loaded | by)?;
            self.caller(cfa, bp)
        }
    }

    /// What a CFA means that is not above the stack pointer, in the stack: the end of this stack's frames, if it was found
    /// by rbp and lies elsewhere.
    #[cold]
    fn leaves(&mut self, here: Registers, cfa: usize, rule: Rule) -> Met {
        let onward = Onward { cfa, saved_below: rule.saved_below(), bp: here.bp };
        let is_here = (here.sp..self.place.stack.hi).contains(&onward.lowest());
        if !matches!(rule.kind(), Kind::Frame) || is_here || !(cfa | here.sp).is_multiple_of(8) {
            return Met::Unusual;
        }
        if let Err(met) = self.note(here, BY_BP) {
            return met;
        }
        // Where the caller would be noted: what each step gives is to stay small.
        let Some(place) = self.new.get_mut(self.len) else { return Met::NoRoom };
        *place = NewFrame { slot: cfa, pc: onward.saved_below, bp: onward.bp, loaded: 0 };
        Met::Elsewhere
    }

    #[cold]
    fn onward(&self) -> Option<Onward> {
        self.new.get(self.len).map(|at| Onward { cfa: at.slot, saved_below: at.pc, bp: at.bp })
    }

    /// Whether a CFA is above the stack pointer, aligned, and in the stack.
    #[inline(always)]
    fn is_frame(&self, here: Registers, cfa: usize) -> bool {
        cfa > here.sp && cfa <= self.readable && (cfa | here.sp).is_multiple_of(8)
    }

    /// Adds a frame.
    #[inline(always)]
    fn note(&mut self, here: Registers, loaded: usize) -> Result<(), Met> {
        let place = self.new.get_mut(self.len).ok_or(Met::NoRoom)?;
        *place = NewFrame { slot: here.sp.wrapping_sub(8), pc: here.pc, bp: here.bp, loaded };
        self.len += 1;
        self.flags |= loaded & FLAGS;
        Ok(())
    }

    /// The caller whose return address is below the CFA. A return address of 0 ends the stack; the word
    /// that ends it is cached like a frame.
    ///
    /// # Safety
    /// - `cfa` passed [`Self::is_frame`].
    #[inline(always)]
    unsafe fn caller(&mut self, cfa: usize, bp: usize) -> Result<Registers, Met> {
        // SAFETY: the CFA is above the stack pointer and at most `self.readable`, so the word below is readable.
        let here = Registers { pc: unsafe { word(cfa.wrapping_sub(8)) }, sp: cfa, bp };
        if here.pc != 0 {
            return Ok(here);
        }
        self.note(here, 0)?;
        Err(Met::End(None))
    }

    /// The other kinds of rule.
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack, or the frame of its hook's caller.
    /// - The stack is readable from its stack pointer to `self.readable`.
    #[cold]
    unsafe fn slow_step(&mut self, here: Registers, rule: Rule) -> Result<Registers, Met> {
        match rule.kind() {
            Kind::End => {
                self.note(here, 0)?;
                Err(Met::End(None))
            }
            // SAFETY: the frame is one of the stack, which is readable to `self.readable`.
            Kind::Deref => unsafe { self.realigned(here, rule) },
            // SAFETY: the frame is one of the stack, which is readable to `self.readable`.
            Kind::NoInfo => unsafe { self.by_frame_pointer(here) },
            _ => Err(Met::Unusual),
        }
    }

    /// A word of the frame at or above the stack pointer.
    fn is_word(&self, here: Registers, address: usize) -> bool {
        let hi = self.readable;
        address >= here.sp && address < hi && hi - address >= 8 && address.is_multiple_of(8)
    }

    /// CFA = \[rbp + offset].
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack, or the frame of its hook's caller.
    /// - The stack is readable from its stack pointer to `self.readable`.
    unsafe fn realigned(&mut self, here: Registers, rule: Rule) -> Result<Registers, Met> {
        let cfa_slot = here.bp.wrapping_add(rule.offset() as usize);
        let saved = rule.saved_at().map(|offset| here.bp.wrapping_add(offset as usize));
        if !self.is_word(here, cfa_slot) || saved.is_some_and(|slot| !self.is_word(here, slot)) {
            return Err(Met::Unusual);
        }
        // SAFETY: words of the stack.
        let (cfa, bp) = unsafe { (word(cfa_slot), saved.map_or(here.bp, |slot| word(slot))) };
        let is_within = cfa_slot < cfa && saved.is_none_or(|slot| slot < cfa);
        if !self.is_frame(here, cfa) || !is_within {
            return Err(Met::Unusual); // a word further out would be compared, which may not be readable then
        }
        self.note(Registers { pc: cfa, sp: cfa_slot.wrapping_add(8), bp: here.bp }, BY_CFA)?;
        self.note(here, saved.unwrap_or(0) | BY_BP)?;
        // SAFETY: the CFA was looked at.
        unsafe { self.caller(cfa, bp) }
    }

    /// As `walk::by_frame_pointer`.
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack, or the frame of its hook's caller.
    /// - The stack is readable from its stack pointer to `self.readable`.
    unsafe fn by_frame_pointer(&mut self, here: Registers) -> Result<Registers, Met> {
        let record = here.bp;
        if record == 0 {
            self.note(here, BY_BP)?;
            return Err(Met::End(None));
        }
        let cfa = record.wrapping_add(16);
        if record >= self.readable.wrapping_sub(8)
            && record < self.place.stack.hi
            && self.readable < self.place.stack.hi
        {
            return Err(Met::Unusual);
        }
        if !self.is_word(here, record) || !self.is_frame(here, cfa) {
            self.note(here, BY_BP)?;
            return Err(Met::End(Some(LossReason::StackNoInfo)));
        }
        // SAFETY: both words were looked at.
        let (bp, pc) = unsafe { (word(record), word(cfa - 8)) };
        if pc == 0 {
            return Err(Met::Unusual); // a guessed end is no end, and its word would have to be checked
        }
        self.note(here, record | BY_BP | GUESS)?;
        Ok(Registers { pc, sp: cfa, bp })
    }
}
