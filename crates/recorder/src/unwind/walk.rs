//! From the registers at a call of `malloc` to the return addresses of all its callers: a walk is a loop over
//! [`Unwinder::step`].
#![allow(unsafe_code)]

use heapscribe_nolibc::loader::{Loader, ModuleText};

use super::bounds::StackRange;
use super::cfi;
use super::frame::{Context, End, Frame, Place, Registers, Step, Walk};
use super::pc_cache::PcCache;
use super::registered;
use super::rule::{Kind, Rule};
use super::step::{State, by_frame_pointer, elsewhere, found, interrupted, ordinary, realigned, word};

/// Takes steps by the rules of the process's modules.
#[derive(Clone, Copy, Debug)]
pub struct Unwinder<'a> {
    /// Where modules are found.
    pub loader: &'a Loader,
    /// Rules found before. None while a module is being closed: another may be in its place.
    pub cache: Option<PcCache>,
    /// While a module is being closed: rules found before, for those that the context knows to be the same.
    pub known: Option<PcCache>,
}

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
            // SAFETY: `here` is the start of the walk or the result of a step of it; the stack is readable to its end.
            let (quick, reached) = unsafe { self.quick_walk(here, place, room) };
            place.is_exact &= quick == 0;
            frames += quick;
            if reached.pc == 0 {
                break End::Complete;
            }
            let Some(frame) = out.get_mut(frames) else { break End::DepthLimit };
            *frame = Frame::new(reached.pc, place.is_exact);
            frames += 1;
            // SAFETY: `reached` is the result of a step of the walk; the stack is readable to its end.
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
    /// - The arguments are the start of a walk of the calling thread's stack, or the result of a step of it.
    /// - The stack is readable from `here.sp` to its end.
    #[inline(always)]
    unsafe fn quick_walk(
        &self,
        mut here: Registers,
        mut place: Place,
        out: &mut [Frame],
    ) -> (usize, Registers) {
        let room = out.len();
        for (index, slot) in out.iter_mut().enumerate() {
            // SAFETY: `here` is where the walk is, or the result of a step of it; the stack is readable to its end.
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
    /// - The arguments are the start of a walk of the calling thread's stack, or the result of a step of it.
    /// - The stack is readable from `here.sp` to its end.
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
    /// - The arguments are the start of a walk of the calling thread's stack, or the result of a step of it.
    /// - The stack is readable from `here.sp` to its end.
    #[inline(never)]
    pub unsafe fn step<C: Context>(&self, context: &mut C, here: Registers, place: Place) -> Step {
        let state = State { here, place };
        let rule = self.rule(context, state);
        // SAFETY: the frame is one of a walk of the calling thread's stack, which is readable to its end.
        unsafe {
            match rule.kind() {
                Kind::Stack => found(ordinary(state, here.sp, rule)),
                Kind::Frame => {
                    found(ordinary(state, here.bp, rule).or_else(|| self.elsewhere(context, state, rule)))
                }
                Kind::Deref => found(realigned(state, rule)),
                Kind::Signal => interrupted(context, state),
                Kind::NoInfo => by_frame_pointer(state),
                Kind::End => Step::End(End::Complete),
                Kind::Other => Step::End(End::OtherRule),
            }
        }
    }

    /// The caller on another stack, if it is code.
    ///
    /// # Safety
    /// - The frame is one of a walk of the calling thread's stack.
    #[cold]
    unsafe fn elsewhere<C: Context>(
        &self,
        context: &mut C,
        state: State,
        rule: Rule,
    ) -> Option<(Registers, Place)> {
        // SAFETY: the frame is one of a walk of the calling thread's stack.
        let found = unsafe { elsewhere(context, state, rule) };
        found.filter(|(caller, _)| self.loader.find_text(caller.pc).is_some())
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
        let is_known = context.on_new_code(&text);
        let known = self.known.as_ref().filter(|_| is_known && !place.is_exact);
        if let Some(rule) = known.and_then(|known| known.get(here.pc)) {
            return rule;
        }
        // SAFETY: code that the calling thread is to return to is loaded.
        let found = unsafe { rule_in(&text, here.pc, instruction) };
        let rule = match found.kind() {
            // Linked without unwinding information for it (node's `_start`): still, nothing called it.
            Kind::NoInfo if self.loader.is_entry(here.pc) => Rule::END,
            _ => found,
        };
        if let Some(cache) = cache.or(known) {
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
    // SAFETY: the module is loaded.
    let code = unsafe { text.code(pc) }.and_then(|segment| segment.from(pc));
    if code.is_some_and(|bytes| bytes.starts_with(RT_SIGRETURN)) {
        return Rule::SIGNAL;
    }
    // SAFETY: the module is loaded.
    match unsafe { text.segment(text.eh_frame_hdr) } {
        Some(segment) => cfi::rule_at(segment, text.eh_frame_hdr, instruction),
        None => Rule::NO_INFO,
    }
}
