//! One step from a frame to its caller, for each kind of rule. A step is a function of the frame, the rule, and
//! the stack words it reads, and of nothing else. The words are all within the current stack, at or above its
//! pointer; for a frame that a signal interrupted, also in the 128 bytes below that its function owns.
#![allow(unsafe_code)]

use super::frame::{Context, End, Place, Registers, Step};
use super::rule::Rule;

/// Below the stack pointer, what a function may use without moving it.
const RED_ZONE: usize = 128;

/// A word of the stack.
///
/// # Safety
/// - `address .. + 8` is readable.
#[inline(always)]
pub(super) unsafe fn word(address: usize) -> usize {
    // SAFETY: the 8 bytes are readable; stacks need not be aligned when a program is broken.
    unsafe { (address as *const usize).read_unaligned() }
}

/// A frame, while a step is taken from it.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) here: Registers,
    pub(super) place: Place,
}

impl State {
    /// The instruction that the frame is at: for a return address, the last byte of its call.
    pub(super) const fn instruction(self) -> usize {
        if self.place.is_exact { self.here.pc } else { self.here.pc.wrapping_sub(1) }
    }

    /// Whether `size` bytes are of the frame, or of its callers.
    #[inline(always)]
    pub(super) fn holds(self, address: usize, size: usize) -> bool {
        let Place { stack, is_exact } = self.place;
        let sp = self.here.sp;
        let floor = if is_exact { sp.saturating_sub(RED_ZONE).max(stack.lo) } else { sp };
        address >= floor && address < stack.hi && stack.hi - address >= size
    }

    /// A word of the frame, at or above the stack pointer, or in the red zone of interrupted code.
    ///
    /// # Safety
    /// - The frame is one of a walk of the calling thread's stack.
    /// - The stack is readable from its stack pointer to its end.
    pub(super) unsafe fn read(self, address: usize) -> Option<usize> {
        // SAFETY: within the part of the stack that is readable.
        self.holds(address, 8).then(|| unsafe { word(address) })
    }

    /// The caller, whose return address is below the CFA, and whose rbp is `bp`.
    ///
    /// # Safety
    /// - The frame is one of a walk of the calling thread's stack.
    /// - The stack is readable from its stack pointer to its end.
    unsafe fn caller(self, cfa: usize, bp: usize) -> Option<(Registers, Place)> {
        let return_slot = cfa.wrapping_sub(8);
        if return_slot < self.here.sp || !cfa.is_multiple_of(8) {
            return None;
        }
        // SAFETY: the frame is one of a walk, whose stack is readable to its end.
        let pc = unsafe { self.read(return_slot) }?;
        Some((Registers { pc, sp: cfa, bp }, Place { is_exact: false, ..self.place }))
    }
}

pub(super) fn found(caller: Option<(Registers, Place)>) -> Step {
    caller.map_or(Step::End(End::OutOfBounds), |(registers, place)| Step::Caller(registers, place))
}

/// CFA = `base` + offset.
///
/// # Safety
/// - The frame is one of a walk of the calling thread's stack.
/// - The stack is readable from its stack pointer to its end.
pub(super) unsafe fn ordinary(state: State, base: usize, rule: Rule) -> Option<(Registers, Place)> {
    let cfa = base.wrapping_add(rule.offset() as usize);
    // SAFETY: the frame is one of a walk, whose stack is readable to its end.
    unsafe {
        let bp = match rule.saved_below() {
            0 => state.here.bp,
            below => state.read(cfa.wrapping_sub(below))?,
        };
        state.caller(cfa, bp)
    }
}

/// CFA = rbp + offset, on another stack: `__morestack` of a split stack goes on to a new piece of it, and has its own
/// frame on the one before.
///
/// # Safety
/// - The frame is one of a walk of the calling thread's stack.
pub(super) unsafe fn elsewhere<C: Context>(
    context: &mut C,
    state: State,
    rule: Rule,
) -> Option<(Registers, Place)> {
    let cfa = state.here.bp.wrapping_add(rule.offset() as usize);
    let sp = cfa.wrapping_sub(rule.saved_below().max(8));
    // Further in there may be another piece of the same mapping.
    let is_here = (state.here.sp..state.place.stack.hi).contains(&sp);
    if state.place.is_exact || is_here || !(sp | state.here.sp).is_multiple_of(8) {
        return None;
    }
    let stack = context.stack_around(sp, state.here.sp)?;
    let place = Place { stack, is_exact: false };
    let state = State { here: Registers { sp, ..state.here }, place };
    // SAFETY: the context gives a stack that is readable from `sp` to its end.
    unsafe { ordinary(state, state.here.bp, rule) }
}

/// CFA = \[rbp + offset].
///
/// # Safety
/// - The frame is one of a walk of the calling thread's stack.
/// - The stack is readable from its stack pointer to its end.
pub(super) unsafe fn realigned(state: State, rule: Rule) -> Option<(Registers, Place)> {
    let slot = |offset: i64| state.here.bp.wrapping_add(offset as usize);
    // SAFETY: the frame is one of a walk, whose stack is readable to its end.
    unsafe {
        let cfa = state.read(slot(rule.offset()))?;
        let bp = match rule.saved_at() {
            None => state.here.bp,
            Some(offset) => state.read(slot(offset))?,
        };
        state.caller(cfa, bp)
    }
}

/// The registers that the kernel saved when it called the handler.
///
/// # Safety
/// - The frame is one of a walk of the calling thread's stack.
/// - The stack is readable from its stack pointer to its end.
pub(super) unsafe fn interrupted<C: Context>(context: &mut C, state: State) -> Step {
    const BP: usize = 120;
    const SP: usize = 160;
    const PC: usize = 168;
    // SAFETY: the frame is one of a walk, whose stack is readable to its end.
    let read = |offset: usize| unsafe { state.read(state.here.sp.wrapping_add(offset)) };
    let (Some(bp), Some(sp), Some(pc)) = (read(BP), read(SP), read(PC)) else {
        return Step::End(End::OutOfBounds);
    };
    let here = Registers { pc, sp, bp };
    let stack = state.place.stack;
    let left = state.here.sp.wrapping_add(PC + 8);
    let stack = if stack.contains(sp) { Some(stack) } else { context.stack_around(sp, left) };
    match stack.filter(|stack| stack.contains(sp)) {
        Some(stack) => Step::Caller(here, Place { stack, is_exact: true }),
        None => Step::End(End::UnknownStack),
    }
}

/// The caller as it is when rbp is a frame pointer: saved rbp and return address side by side. An rbp of 0
/// marks the outermost frame (System V ABI, 3.4.1): so does glibc's loader, whose entry has no unwinding
/// information, before it calls the constructors (`ls`, libselinux).
///
/// # Safety
/// - The frame is one of a walk of the calling thread's stack.
/// - The stack is readable from its stack pointer to its end.
pub(super) unsafe fn by_frame_pointer(state: State) -> Step {
    let record = state.here.bp;
    if record == 0 {
        return Step::End(End::Complete);
    }
    if record < state.here.sp {
        return Step::End(End::NoInfo);
    }
    // SAFETY: the frame is one of a walk, whose stack is readable to its end.
    let caller = unsafe { state.read(record).and_then(|bp| state.caller(record.wrapping_add(16), bp)) };
    match caller {
        Some((here, place)) if here.pc != 0 => Step::Guessed(here, place),
        _ => Step::End(End::NoInfo), // a guessed end is no end
    }
}
