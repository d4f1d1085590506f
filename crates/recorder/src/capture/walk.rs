//! From the registers at a call of `malloc` to the return addresses of all its callers.
//!
//! A walk is a loop over [`Unwinder::step`], which is a function of the state, the rules, and the stack
//! words it reads, and of nothing else. The words are all within the current stack, at or above its
//! pointer; for a frame that a signal interrupted, also in the 128 bytes below that its function owns.
#![allow(unsafe_code)]

use super::bounds::StackRange;
use super::cfi;
use super::pc_cache::PcCache;
use super::registered;
use super::rule::{Kind, Rule};
use crate::loader::{Loader, ModuleText};

/// The registers a walk needs. At the entry of a hook: the return address, the stack pointer above it, rbp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// The return address.
    pub pc: usize,
    /// The stack pointer after the return.
    pub sp: usize,
    /// The frame pointer register, whatever it holds.
    pub bp: usize,
}

/// A frame's code address.
///
/// | bits  | field                                                                                     |
/// |-------|-------------------------------------------------------------------------------------------|
/// | 0..62 | address                                                                                   |
/// | 62    | 1: its caller was found by a frame pointer that nothing vouches for                        |
/// | 63    | 1: the address of the interrupted instruction; 0: a return address, behind its call       |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Frame(u64);

impl Frame {
    const EXACT: u64 = 1 << 63;
    const GUESSES: u64 = 1 << 62;

    #[inline(always)]
    pub(super) const fn new(pc: usize, is_exact: bool) -> Frame {
        Frame(pc as u64 & !(Self::EXACT | Self::GUESSES) | if is_exact { Self::EXACT } else { 0 })
    }

    /// The same frame, whose caller was guessed.
    #[inline(always)]
    #[must_use]
    pub(super) const fn guessing(self) -> Frame {
        Frame(self.0 | Self::GUESSES)
    }

    /// The return address, or the address of the interrupted instruction.
    #[inline(always)]
    pub const fn address(self) -> u64 {
        self.0 & !(Self::EXACT | Self::GUESSES)
    }

    /// Whether a signal interrupted the frame at its address, which then belongs to its line itself.
    #[inline(always)]
    pub const fn is_exact(self) -> bool {
        self.0 & Self::EXACT != 0
    }

    /// Whether its caller was found by a frame pointer alone: that and all frames further out may be wrong.
    #[inline(always)]
    pub const fn guesses(self) -> bool {
        self.0 & Self::GUESSES != 0
    }

    /// All 64 bits: what equal frames have in common.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}

/// Where a frame is: with its registers, all that the rest of a walk depends on, besides memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The stack that `sp` is in.
    pub stack: StackRange,
    /// Whether `pc` is an interrupted instruction, not a return address.
    pub is_exact: bool,
}

/// What a step leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The caller.
    Caller(Registers, Place),
    /// The caller, by a frame pointer that nothing vouches for.
    Guessed(Registers, Place),
    /// No further.
    End(End),
}

/// Why a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At the outermost frame.
    Complete,
    /// There was no room for more frames.
    DepthLimit,
    /// At code whose unwinding information is beyond the rules.
    OtherRule,
    /// At code without unwinding information, and rbp is no frame pointer.
    NoInfo,
    /// A rule led out of the stack, or back.
    OutOfBounds,
    /// A signal interrupted a stack whose bounds are not known.
    UnknownStack,
}

/// What a walk brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// How many frames were written.
    pub frames: usize,
    /// Why there are no more.
    pub end: End,
}

/// What a walk asks of the recorder.
pub trait Context {
    /// The walk has met a code address that the cache does not have, in this module, which is loaded now.
    /// The same module comes often, and each time while there is no cache or the frame was interrupted by a
    /// signal.
    fn on_new_code(&mut self, text: &ModuleText);

    /// The bounds of another stack that the walk goes on to.
    fn stack_around(&mut self, sp: usize) -> Option<StackRange> {
        StackRange::around(sp)
    }
}

/// Takes steps by the rules of the process's modules.
#[derive(Clone, Copy, Debug)]
pub struct Unwinder<'a> {
    /// Where modules are found.
    pub loader: &'a Loader,
    /// Rules found before. None while a module is being closed: what is found then must not be kept, and
    /// what was kept must not be used.
    pub cache: Option<PcCache>,
}

/// Below the stack pointer, what a function may use without moving it.
const RED_ZONE: usize = 128;

impl Unwinder<'_> {
    /// Writes the frames from `start` outward into `out`: first the return address `start.pc`.
    ///
    /// # Safety
    /// - `start` are registers of the calling thread, of a frame that is still active.
    /// - `stack` is readable from `start.sp` to its end.
    pub unsafe fn walk<C: Context>(
        &self,
        context: &mut C,
        start: Registers,
        stack: StackRange,
        out: &mut [Frame],
    ) -> Walk {
        let (mut here, mut place) = (start, Place { stack, is_exact: false });
        let mut frames = 0;
        let end = loop {
            let Some(room) = out.get_mut(frames..) else { break End::DepthLimit };
            // SAFETY: the caller's contract, kept by each step for the next.
            let (quick, reached) = unsafe { self.quick_walk(here, place, room) };
            place.is_exact &= quick == 0;
            frames += quick;
            if reached.pc == 0 {
                break End::Complete;
            }
            let Some(frame) = out.get_mut(frames) else { break End::DepthLimit };
            *frame = Frame::new(reached.pc, place.is_exact);
            frames += 1;
            // SAFETY: the same.
            (here, place) = match unsafe { self.step(context, reached, place) } {
                Step::Caller(caller, its_place) => (caller, its_place),
                Step::Guessed(caller, its_place) => {
                    *frame = frame.guessing();
                    (caller, its_place)
                }
                Step::End(end) => break end,
            };
        };
        Walk { frames, end }
    }

    /// Writes frames as long as each has a [`Unwinder::quick_step`]: how many there were, and the first one
    /// that has none, or no room.
    ///
    /// # Safety
    /// - As for [`Unwinder::step`].
    #[inline(always)]
    unsafe fn quick_walk(
        &self,
        mut here: Registers,
        mut place: Place,
        out: &mut [Frame],
    ) -> (usize, Registers) {
        let room = out.len();
        for (index, slot) in out.iter_mut().enumerate() {
            // SAFETY: the caller's contract, kept by each step for the next.
            let Some(caller) = (unsafe { self.quick_step(here, place) }) else { return (index, here) };
            *slot = Frame::new(here.pc, false); // an interrupted frame has no quick step
            (here, place.is_exact) = (caller, false);
        }
        (room, here)
    }

    /// One step outward by a rule of the usual kinds that the cache has; none when it takes a
    /// [`Unwinder::step`], which would give the same. This is what walks spend their time on: three numbers
    /// in registers, one load of a rule, one or two of the stack.
    ///
    /// # Safety
    /// - As for [`Unwinder::step`].
    #[inline(always)]
    pub unsafe fn quick_step(&self, here: Registers, place: Place) -> Option<Registers> {
        let rule = self.cached(here, place)?;
        let base = match rule.kind() {
            Kind::Stack => here.sp,
            Kind::Frame => here.bp,
            _ => return None,
        };
        let cfa = base.wrapping_add(rule.offset() as usize);
        // Aligned both, so a CFA above the stack pointer is so by a word at least.
        let is_aligned = (cfa | here.sp).is_multiple_of(8);
        if cfa <= here.sp || cfa > place.stack.hi || !is_aligned {
            return None;
        }
        let saved_slot = cfa.wrapping_sub(rule.saved_below());
        if saved_slot < here.sp || saved_slot > cfa {
            return None;
        }
        // SAFETY: the return slot is a whole word of the stack, at or above its pointer; so is the slot of
        // rbp, which is the CFA itself - and not read - when rbp was not saved, else between the two.
        unsafe {
            let bp = if saved_slot == cfa { here.bp } else { word(saved_slot) };
            Some(Registers { pc: word(cfa.wrapping_sub(8)), sp: cfa, bp })
        }
    }

    /// One step outward, of any kind.
    ///
    /// # Safety
    /// - The arguments are the start of a walk of the calling thread's stack, or came out of a step of it.
    /// - The stack is readable from `here.sp` to its end.
    #[inline(never)]
    pub unsafe fn step<C: Context>(&self, context: &mut C, here: Registers, place: Place) -> Step {
        let state = State { here, place };
        let rule = self.rule(context, state);
        // SAFETY: the caller's contract is what these four ask for, too.
        unsafe {
            match rule.kind() {
                Kind::Stack => found(ordinary(state, here.sp, rule)),
                Kind::Frame => found(ordinary(state, here.bp, rule)),
                Kind::Deref => found(realigned(state, rule)),
                Kind::Signal => interrupted(context, state),
                Kind::NoInfo => by_frame_pointer(state),
                Kind::End => Step::End(End::Complete),
                Kind::Other => Step::End(End::OtherRule),
            }
        }
    }

    /// The rule of a frame.
    #[inline(always)]
    pub(super) fn rule<C: Context>(&self, context: &mut C, State { here, place }: State) -> Rule {
        self.cached(here, place).unwrap_or_else(|| self.new_rule(context, here, place))
    }

    /// The cache is of return addresses: an interrupted instruction may have the same address.
    #[inline(always)]
    pub(super) fn cached(&self, here: Registers, place: Place) -> Option<Rule> {
        let cache = self.cache.as_ref().filter(|_| !place.is_exact)?;
        cache.get(here.pc)
    }

    #[cold]
    pub(super) fn new_rule<C: Context>(&self, context: &mut C, here: Registers, place: Place) -> Rule {
        let instruction = State { here, place }.instruction();
        let cache = self.cache.as_ref().filter(|_| !place.is_exact);
        let Some(text) = self.loader.find_text(instruction) else {
            return registered::rule_at(here.pc, instruction, cache);
        };
        context.on_new_code(&text);
        // SAFETY: code that the calling thread is to return to is loaded.
        let found = unsafe { rule_in(&text, here.pc, instruction) };
        let rule = match found.kind() {
            // Linked without unwinding information for it (node's `_start`): still, nothing called it.
            Kind::NoInfo if self.loader.is_entry(here.pc) => Rule::END,
            _ => found,
        };
        if let Some(cache) = cache {
            cache.put(here.pc, rule);
        }
        rule
    }
}

/// The rule of an instruction of a module.
///
/// # Safety
/// - The module is loaded.
unsafe fn rule_in(text: &ModuleText, pc: usize, instruction: usize) -> Rule {
    // musl's trampoline has no unwinding information: it is known by its code, `mov $15, %rax; syscall`.
    const RT_SIGRETURN: &[u8] = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
    // SAFETY: the caller's contract.
    let code = unsafe { text.code(pc) }.and_then(|segment| segment.from(pc));
    if code.is_some_and(|bytes| bytes.starts_with(RT_SIGRETURN)) {
        return Rule::SIGNAL;
    }
    // SAFETY: the caller's contract.
    match unsafe { text.segment(text.eh_frame_hdr) } {
        Some(segment) => cfi::rule_at(segment, text.eh_frame_hdr, instruction),
        None => Rule::NO_INFO,
    }
}

/// A word of the stack.
///
/// # Safety
/// - `address .. + 8` is readable.
#[inline(always)]
pub(super) unsafe fn word(address: usize) -> usize {
    // SAFETY: the caller's contract; stacks need not be aligned when a program is broken.
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
    /// - As for [`Unwinder::step`].
    pub(super) unsafe fn read(self, address: usize) -> Option<usize> {
        // SAFETY: within the part of the stack that is readable.
        self.holds(address, 8).then(|| unsafe { word(address) })
    }

    /// The caller, whose return address is below the CFA, and whose rbp is `bp`.
    ///
    /// # Safety
    /// - As for [`Unwinder::step`].
    unsafe fn caller(self, cfa: usize, bp: usize) -> Option<(Registers, Place)> {
        let return_slot = cfa.wrapping_sub(8);
        if return_slot < self.here.sp || !cfa.is_multiple_of(8) {
            return None;
        }
        // SAFETY: the caller's contract.
        let pc = unsafe { self.read(return_slot) }?;
        Some((Registers { pc, sp: cfa, bp }, Place { is_exact: false, ..self.place }))
    }
}

fn found(caller: Option<(Registers, Place)>) -> Step {
    caller.map_or(Step::End(End::OutOfBounds), |(registers, place)| Step::Caller(registers, place))
}

/// CFA = `base` + offset.
///
/// # Safety
/// - As for [`Unwinder::step`], here and below.
unsafe fn ordinary(state: State, base: usize, rule: Rule) -> Option<(Registers, Place)> {
    let cfa = base.wrapping_add(rule.offset() as usize);
    // SAFETY: the caller's contract.
    unsafe {
        let bp = match rule.saved_below() {
            0 => state.here.bp,
            below => state.read(cfa.wrapping_sub(below))?,
        };
        state.caller(cfa, bp)
    }
}

/// CFA = \[rbp + offset].
unsafe fn realigned(state: State, rule: Rule) -> Option<(Registers, Place)> {
    let slot = |offset: i64| state.here.bp.wrapping_add(offset as usize);
    // SAFETY: the caller's contract.
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
pub(super) unsafe fn interrupted<C: Context>(context: &mut C, state: State) -> Step {
    const BP: usize = 120;
    const SP: usize = 160;
    const PC: usize = 168;
    // SAFETY: the caller's contract.
    let read = |offset: usize| unsafe { state.read(state.here.sp.wrapping_add(offset)) };
    let (Some(bp), Some(sp), Some(pc)) = (read(BP), read(SP), read(PC)) else {
        return Step::End(End::OutOfBounds);
    };
    let here = Registers { pc, sp, bp };
    let stack = state.place.stack;
    let stack = if stack.contains(sp) { Some(stack) } else { context.stack_around(sp) };
    match stack.filter(|stack| stack.contains(sp)) {
        Some(stack) => Step::Caller(here, Place { stack, is_exact: true }),
        None => Step::End(End::UnknownStack),
    }
}

/// The caller as it is when rbp is a frame pointer: saved rbp and return address side by side. An rbp of 0
/// marks the outermost frame (System V ABI, 3.4.1): so does glibc's loader, whose entry has no unwinding
/// information, before it calls the constructors (`ls`, libselinux).
pub(super) unsafe fn by_frame_pointer(state: State) -> Step {
    let record = state.here.bp;
    if record == 0 {
        return Step::End(End::Complete);
    }
    if record < state.here.sp {
        return Step::End(End::NoInfo);
    }
    // SAFETY: the caller's contract.
    let caller = unsafe { state.read(record).and_then(|bp| state.caller(record.wrapping_add(16), bp)) };
    match caller {
        Some((here, place)) if here.pc != 0 => Step::Guessed(here, place),
        _ => Step::End(End::NoInfo), // a guessed end is no end
    }
}
