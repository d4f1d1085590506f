//! A frame with all its registers, and the step to its caller.
#![allow(unsafe_code)]

use heapscribe_nolibc::loader::Segment;

use super::registers::{AllRegisters, PC, SP};
use super::row::Following;
use crate::unwind::bounds::StackRange;
use crate::unwind::cfi::{self, WholeRow};
use crate::unwind::frame::{Context, End, Place, Registers, Step};
use crate::unwind::registered;
use crate::unwind::rule::Kind;
use crate::unwind::step::{State, by_frame_pointer, interrupted};
use crate::unwind::walk::Unwinder;

/// Frames of our own between the hook's caller and the walk. Some 5 in a release build, 30 in a test's.
const OWN_FRAMES_MAX: usize = 100;

/// A frame with all its registers, as far as they are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FullFrame {
    /// The registers.
    pub registers: AllRegisters,
    /// Where it is.
    pub place: Place,
}

impl FullFrame {
    /// The caller of a hook. Its registers are unknown, but for the three of `start`, when no steps lead to
    /// it out of the frames between.
    ///
    /// # Safety
    /// - `start` are registers of the calling thread, of a frame that is still active, on `stack`.
    /// - `stack` is readable from `start.sp` to its end.
    /// - This thread is inside the call that `start` are the registers of, on the same stack, or on an array
    ///   within it.
    #[inline(never)]
    pub unsafe fn at_call(unwinder: &Unwinder<'_>, start: Registers, stack: StackRange) -> FullFrame {
        // SAFETY: as the caller says.
        unsafe { FullFrame::at_call_past(unwinder, start, stack, |_| ()) }
    }

    /// The same; `past` is called with each frame of our own in between.
    ///
    /// # Safety
    /// - As of [`FullFrame::at_call`].
    #[inline(always)]
    pub(crate) unsafe fn at_call_past(
        unwinder: &Unwinder<'_>,
        start: Registers,
        stack: StackRange,
        mut past: impl FnMut(&FullFrame),
    ) -> FullFrame {
        let registers = AllRegisters::of_this_function();
        let ours = StackRange { lo: registers.three().sp, hi: stack.hi };
        let mut frame = FullFrame { registers, place: Place { stack: ours, is_exact: false } };
        for _ in 0..OWN_FRAMES_MAX {
            if frame.registers.three().sp >= start.sp {
                break;
            }
            past(&frame);
            // SAFETY: this thread's frames, from this one to that of the hook's caller.
            match unsafe { frame.caller(unwinder) } {
                Ok(caller) => frame.registers = caller,
                Err(_) => break,
            }
        }
        let is_there = frame.registers.three() == start;
        let registers = if is_there { frame.registers } else { AllRegisters::only(start) };
        FullFrame { registers, place: Place { stack, is_exact: false } }
    }

    /// One step outward, of any kind: what [`Unwinder::step`] gives, and more where that ends with
    /// [`End::OtherRule`]. When it ends, the frame stays.
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack.
    /// - The stack is readable from its stack pointer to its end.
    pub unsafe fn step<C: Context>(&mut self, unwinder: &Unwinder<'_>, context: &mut C) -> Step {
        let state = self.state();
        // SAFETY: the frame is one of the calling thread's stack, which is readable to its end.
        unsafe {
            match unwinder.rule(context, state).kind() {
                Kind::End => Step::End(End::Complete),
                Kind::NoInfo => self.arrive(by_frame_pointer(state), AllRegisters::only),
                Kind::Signal => self.arrive(interrupted(context, state), |_| of_signal_frame(state)),
                Kind::Stack | Kind::Frame | Kind::Deref | Kind::Other => match self.caller(unwinder) {
                    Ok(registers) => {
                        let place = Place { is_exact: false, ..self.place };
                        self.arrive(Step::Caller(registers.three(), place), |_| registers)
                    }
                    Err(end) => Step::End(end),
                },
            }
        }
    }

    fn arrive(&mut self, step: Step, registers: impl FnOnce(Registers) -> AllRegisters) -> Step {
        if let Step::Caller(three, place) | Step::Guessed(three, place) = step {
            *self = FullFrame { registers: registers(three), place };
        }
        step
    }

    fn state(&self) -> State {
        State { here: self.registers.three(), place: self.place }
    }

    /// The registers of the caller, by the frame's row.
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack.
    /// - The stack is readable from its stack pointer to its end.
    unsafe fn caller(&self, unwinder: &Unwinder<'_>) -> Result<AllRegisters, End> {
        // SAFETY: the frame is one of the calling thread's stack.
        unsafe { self.with_row(unwinder, |row| row.caller()) }.unwrap_or(Err(End::OtherRule))
    }

    /// Where the frame has what its caller had in a register, if it has saved it at a place of its own.
    ///
    /// # Safety
    /// - The frame is one of the calling thread's stack.
    pub(crate) unsafe fn saved_at(&self, unwinder: &Unwinder<'_>, number: usize) -> Option<usize> {
        // SAFETY: the frame is one of the calling thread's stack.
        unsafe { self.with_row(unwinder, |row| row.saved_at(number)) }.flatten()
    }

    /// # Safety
    /// - The frame is one of the calling thread's stack.
    unsafe fn with_row<T>(&self, unwinder: &Unwinder<'_>, then: impl Fn(Following<'_>) -> T) -> Option<T> {
        let instruction = self.state().instruction();
        let follow = |segment: Segment<'_>, row: WholeRow| {
            then(Following { registers: &self.registers, state: self.state(), segment, row })
        };
        match unwinder.loader.find_text(instruction) {
            // SAFETY: code that the calling thread is to return to is loaded.
            Some(text) => unsafe { text.segment(text.eh_frame_hdr) }.and_then(|segment| {
                Some(follow(segment, cfi::row_at(segment, text.eh_frame_hdr, instruction)?))
            }),
            None => registered::ask(instruction, |listed| {
                Some(follow(listed.segment, listed.row_at(instruction)?))
            }),
        }
    }
}

/// All registers of an interrupted frame, from the `ucontext` that the kernel put above the handler's frame.
///
/// # Safety
/// - The frame is a signal's, from which a step was taken.
/// - The stack is readable from its stack pointer to its end.
unsafe fn of_signal_frame(state: State) -> AllRegisters {
    /// Where the `ucontext` has each register, by its DWARF number.
    const OFFSETS: [usize; cfi::COLUMNS] =
        [144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168];
    const _: () = assert!(OFFSETS[SP] == 160 && OFFSETS[PC] == 168);
    let mut registers = AllRegisters::only(state.here);
    for (number, offset) in OFFSETS.into_iter().enumerate() {
        // SAFETY: the stack is readable from the frame's stack pointer to its end.
        registers.set(number, unsafe { state.read(state.here.sp.wrapping_add(offset)) });
    }
    registers
}
