//! The step that nearly all of a walk are: by a rule that is cached, one frame out on the same stack. In a function of its
//! own, without anything that a walk may need else, so that the loop over such steps keeps its state in registers.
#![allow(unsafe_code)]

use super::frame::Registers;
use super::new_frame::BY_BP;
use super::pc_cache::PcCache;
use super::rule::Kind;
use super::step::word;

/// A step as nearly all are.
pub(super) struct Usual {
    /// The registers of the caller.
    pub caller: Registers,
    /// As in [`NewFrame`].
    pub loaded: usize,
}

/// A step by a rule that is cached, from the stack pointer or the frame pointer, to a frame of the stack. `None` of any
/// other.
///
/// # Safety
/// - The frame is one of the calling thread's stack, or the frame of its hook's caller.
/// - The stack is readable from its stack pointer to `readable`, and that is not below it.
#[inline(always)]
pub(super) unsafe fn usual_step(here: Registers, cache: &PcCache, readable: usize) -> Option<Usual> {
    let rule = cache.get(here.pc)?;
    let (base, by) = match rule.kind() {
        Kind::Stack => (here.sp, 0),
        Kind::Frame => (here.bp, BY_BP),
        _ => return None,
    };
    let cfa = base.wrapping_add(rule.offset() as usize);
    // Of a CFA that is not above the stack pointer the frame has 0 bytes, or more than there are.
    let (frame_bytes, below) = (cfa.wrapping_sub(here.sp), rule.saved_below());
    let is_frame = frame_bytes.wrapping_sub(1) < readable - here.sp && cfa.is_multiple_of(8);
    if !is_frame || below > frame_bytes {
        return None;
    }
    // SAFETY: words of the stack, above its pointer; that of rbp is not read when rbp was not saved.
    let (bp, loaded, pc) = unsafe {
        let saved_slot = cfa - below;
        let (bp, loaded) = if below == 0 { (here.bp, 0) } else { (word(saved_slot), saved_slot) };
        (bp, loaded, word(cfa.wrapping_sub(8)))
    };
    (pc != 0).then_some(Usual { caller: Registers { pc, sp: cfa, bp }, loaded: loaded | by })
}
