//! Which call of the loop runs which frames: each call has its frame in a register.
//!
//! ```text
//!   frames   {main} - order - usort - compare - strlen
//!   calls    '- r14: order            '- r14: compare
//! ```
//! A call runs its frame, those further out up to the one that C code has called, and the functions in C that are
//! further in. A function that returns has left the list when its variables are freed; the call is still at it then.
#![allow(unsafe_code)]

use super::chain::{BEYOND, PhpFrames};
use super::check::Php;
use super::layout::CALLED_BY_C;
use super::loops::{At, LoopCall, Loops};
use super::source::Place;
use crate::interpreter::read::{Kernel, Read};

/// Works out which call runs each frame. False when calls and frames do not fit together.
///
/// # Safety
/// * As of [`Loops::new`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn find(frames: &mut PhpFrames, at: At<'_>, php: &Php, kernel: Kernel) -> bool {
    // SAFETY: the registers are the caller's, and this thread is inside the call.
    let mut loops = unsafe { Loops::new(at, &php.code) };
    let mut left = frames.len();
    while left > 0 {
        // SAFETY: the hook's caller is active.
        let Some(call) = (unsafe { loops.next() }) else { break };
        match assign(frames, left, call, php, kernel) {
            Some(next) => left = next,
            None => return false,
        }
    }
    rest(frames, left)
}

/// Gives a call its frames, of which the innermost `left` have none: how many have none after that.
pub(super) fn assign(
    frames: &mut PhpFrames,
    left: usize,
    call: LoopCall,
    php: &Php,
    kernel: Kernel,
) -> Option<usize> {
    let at = call.frame?;
    let found = (0..left).rev().find(|index| frames.raw(*index).is_some_and(|raw| raw.frame == at));
    let begin = match found {
        Some(index) => index,
        None if is_returned(at, frames.raw(left - 1)?.frame, php, kernel)? => left - 1,
        None => return Some(left),
    };
    let is_outermost = |index: &usize| frames.raw(*index).is_some_and(|raw| raw.place == Place::Outermost);
    // Further in there is nothing that a call of its own would run.
    if (begin + 1..left).any(|index| is_outermost(&index)) {
        return None;
    }
    let end = (0..=begin).rev().find(is_outermost)?;
    frames.set_calls(end, left, call.sp);
    Some(end)
}

/// Whether the frame that a call is at has returned to `to`, which it has called itself. When C code has, the call has no
/// frame any more. `None` when it is no frame.
fn is_returned(at: usize, to: usize, php: &Php, kernel: Kernel) -> Option<bool> {
    let fields = &php.layout.frame;
    let [function, call, previous] = kernel.words(at, [fields.function, fields.call, fields.previous])?;
    let kind = kernel.word(function)? & 0xff;
    if call & CALLED_BY_C != 0 {
        return (kind == super::layout::USER || kind == super::layout::EVAL).then_some(false);
    }
    (previous == to).then_some(true)
}

/// What no call of the loop runs: functions in C that C code has called, and what is further out than a fiber.
pub(super) fn rest(frames: &mut PhpFrames, left: usize) -> bool {
    let place = |index: usize| frames.raw(index).map(|raw| raw.place);
    let is_of_c = (0..left).all(|index| matches!(place(index), Some(Place::Shim | Place::Inner)));
    let is_of_fiber = (0..left).rev().find_map(|index| match place(index)? {
        Place::Shim => None,
        place => Some(place == Place::Fiber),
    });
    let fits = is_of_c || is_of_fiber == Some(true);
    if fits {
        frames.set_calls(0, left, BEYOND);
    }
    fits
}
