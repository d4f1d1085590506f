//! A frame on its way from the leaf outwards, as a walk in progress notes it, and its place on the stack.

/// Where a frame was found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameSlot {
    /// Address of the word that holds the return address.
    pub address: usize,
    /// The return address; 0 in the word that ends a stack, which is no frame.
    pub pc: usize,
}

/// A frame on its way from the leaf outwards.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFrame {
    /// Address of the word that holds the return address.
    pub slot: usize,
    /// The return address.
    pub pc: usize,
    /// The frame pointer register.
    pub bp: usize,
    /// Where the caller's frame pointer was loaded from, 0: nowhere, it is in the register still. The low
    /// bits say [`BY_BP`], [`GUESS`], [`BY_CFA`].
    pub loaded: usize,
}

impl NewFrame {
    /// Where the frame was found.
    #[inline(always)]
    pub(crate) fn frame_slot(&self) -> FrameSlot {
        FrameSlot { address: self.slot, pc: self.pc }
    }

    /// Whether the step from it to its caller depends on nothing but the stack pointer.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.loaded & FLAGS == 0
    }
}

/// The caller was found by the frame pointer.
pub(super) const BY_BP: usize = 1;
/// The caller was found by a frame pointer that nothing vouches for.
pub(super) const GUESS: usize = 2;
/// The CFA was read from the stack; the word is in a second entry before this one.
pub(super) const BY_CFA: usize = 4;
pub(super) const FLAGS: usize = 7;
