//! The calls of the interpreter's loop that a thread is in, the innermost first, with what the loop has in registers:
//! r14 is its frame, r15 the instruction.
#![allow(unsafe_code)]

use heapscribe_nolibc::loader::ModuleText;

use super::loop_code::LoopCode;
use crate::unwind::all_registers::FullFrame;
use crate::unwind::{Context, Registers, StackRange, Step, Unwinder};

const FRAME: usize = 14;
const INSTRUCTION: usize = 15;
/// Native frames that are looked at.
const NATIVE_FRAMES_MAX: usize = 1 << 16;

/// Where a thread is, at a hook's entry.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub unwinder: Unwinder<'a>,
    pub registers: Registers,
    /// The stack that they are on, readable to its end.
    pub stack: StackRange,
}

/// A call of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoopCall {
    /// The frame that it is at, if that is known.
    pub frame: Option<usize>,
    /// The instruction that it is at, if that is known.
    pub instruction: Option<usize>,
    /// Its stack pointer.
    pub sp: usize,
    /// Where on the stack the two were found.
    pub places: Option<[usize; 2]>,
}

/// The calls of the loop.
pub(crate) struct Loops<'a> {
    at: At<'a>,
    code: &'a LoopCode,
    frame: FullFrame,
    places: [Option<usize>; 2],
    left: usize,
}

/// Modules are named when a stack is defined.
struct Silent;

impl Context for Silent {
    fn on_new_code(&mut self, _text: &ModuleText) -> bool {
        false
    }
}

impl<'a> Loops<'a> {
    /// # Safety
    /// * `at.registers` are those of the hook's caller, which is still active, on `at.stack`, which is readable from its
    ///   stack pointer to its end.
    /// * This thread is inside the call, on the same stack, or on an array within it.
    #[inline(never)]
    pub(crate) unsafe fn new(at: At<'a>, code: &'a LoopCode) -> Loops<'a> {
        let mut places = [None; 2];
        // SAFETY: the registers are the caller's, and this thread is inside the call; its frames are the thread's own.
        let frame = unsafe {
            FullFrame::at_call_past(&at.unwinder, at.registers, at.stack, |frame| {
                note(&mut places, frame, &at.unwinder);
            })
        };
        Loops { at, code, frame, places, left: NATIVE_FRAMES_MAX }
    }

    /// The next call further out.
    ///
    /// # Safety
    /// * The hook's caller is still active.
    pub(crate) unsafe fn next(&mut self) -> Option<LoopCall> {
        while let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            let FullFrame { registers, place } = self.frame;
            let three = registers.three();
            let instruction = three.pc.wrapping_sub(usize::from(!place.is_exact));
            let is_loop = self.code.contains(instruction);
            let call = LoopCall {
                frame: registers.get(FRAME),
                instruction: registers.get(INSTRUCTION),
                sp: three.sp,
                places: self.believed_places(),
            };
            // SAFETY: the frame is one of the thread's stack, which is readable to its end.
            unsafe { self.step() };
            if is_loop {
                return Some(call);
            }
        }
        None
    }

    /// # Safety
    /// * The frame is one of the thread's stack.
    unsafe fn step(&mut self) {
        // SAFETY: the frame is one of the thread's stack.
        let step = unsafe {
            note(&mut self.places, &self.frame, &self.at.unwinder);
            self.frame.step(&self.at.unwinder, &mut Silent)
        };
        let is_end = matches!(step, Step::End(_)) || self.frame.registers.three().pc == 0;
        if is_end {
            self.left = 0;
        }
    }

    /// Where the registers are, when they are there: not those that a signal has interrupted.
    fn believed_places(&self) -> Option<[usize; 2]> {
        let [frame, instruction] = self.places;
        let places = [frame?, instruction?];
        let is_on_stack = |at: usize| {
            at.is_multiple_of(8) && at < self.frame.registers.three().sp && self.at.stack.contains(at)
        };
        if !places.into_iter().all(is_on_stack) {
            return None;
        }
        // SAFETY: aligned words of the stack, above the frames of this function's callers, which have saved them there.
        let values = places.map(|at| unsafe { (at as *const usize).read_volatile() });
        let [frame, instruction] = [FRAME, INSTRUCTION].map(|number| self.frame.registers.get(number));
        (values.map(Some) == [frame, instruction]).then_some(places)
    }
}

/// Notes where a frame has saved the registers of its caller.
///
/// # Safety
/// * The frame is one of the thread's stack.
unsafe fn note(places: &mut [Option<usize>; 2], frame: &FullFrame, unwinder: &Unwinder<'_>) {
    for (place, number) in places.iter_mut().zip([FRAME, INSTRUCTION]) {
        // SAFETY: the frame is one of the thread's stack.
        if let Some(at) = unsafe { frame.saved_at(unwinder, number) } {
            *place = Some(at);
        }
    }
}
