//! The loop of the slow walk: packed rules as far as they lead, and a follower of all registers behind them.
#![allow(unsafe_code)]

use super::full_frame::FullFrame;
use crate::unwind::bounds::StackRange;
use crate::unwind::frame::{Context, End, Frame, Place, Registers, Step, Walk};
use crate::unwind::walk::Unwinder;

/// Writes the frames from `start` outward into `out`, as [`Unwinder::walk`] does, and beyond code whose
/// rows have no packed rule.
///
/// # Safety
/// - `start` are registers of the calling thread, of a frame that is still active, on `stack`.
/// - `stack` is readable from `start.sp` to its end.
/// - This thread is inside the call that `start` are the registers of, on the same stack, or on an array
///   within it.
#[inline(never)]
pub unsafe fn full_walk<C: Context>(
    unwinder: &Unwinder<'_>,
    context: &mut C,
    start: Registers,
    stack: StackRange,
    out: &mut [Frame],
) -> Walk {
    let (mut here, mut place) = (start, Place { stack, is_exact: false });
    let mut follower = Follower { start, stack, frame: None, number: 0 };
    let mut frames = 0;
    let end = loop {
        if here.pc == 0 {
            break End::Complete;
        }
        let Some(frame) = out.get_mut(frames) else { break End::DepthLimit };
        *frame = Frame::new(here.pc, place.is_exact);
        // SAFETY: `here` is the start or the result of a step, and so is a frame of the stack, which is readable to its
        // end; this thread is inside the call.
        let step = unsafe {
            match unwinder.step(context, here, place) {
                Step::End(End::OtherRule) => follower.step_from(frames, here, place, unwinder, context),
                step => step,
            }
        };
        frames += 1;
        (here, place) = match step {
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

/// The last frame of a walk whose registers are all followed.
struct Follower {
    start: Registers,
    stack: StackRange,
    frame: Option<FullFrame>,
    /// The frame's number in the walk.
    number: usize,
}

impl Follower {
    /// A step from frame `number` of the walk, which is at `here`.
    ///
    /// # Safety
    /// - `self.start` and `self.stack` are those of a [`full_walk`], and `here` is a frame of it.
    #[inline(never)]
    unsafe fn step_from<C: Context>(
        &mut self,
        number: usize,
        here: Registers,
        place: Place,
        unwinder: &Unwinder<'_>,
        context: &mut C,
    ) -> Step {
        // SAFETY: the walk's start is active on its stack, which is readable to its end, and this thread is inside
        // the call; each frame is the result of a step from the one before.
        unsafe {
            let frame =
                self.frame.get_or_insert_with(|| FullFrame::at_call(unwinder, self.start, self.stack));
            while self.number < number {
                if let Step::End(_) = frame.step(unwinder, context) {
                    return Step::End(End::OtherRule);
                }
                self.number += 1;
            }
            if frame.registers.three() != here || frame.place != place {
                return Step::End(End::OtherRule);
            }
            self.number += 1;
            frame.step(unwinder, context)
        }
    }
}
