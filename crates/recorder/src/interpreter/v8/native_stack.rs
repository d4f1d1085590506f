//! The native stack of a capture, whose frames may run a function of JavaScript.
#![allow(unsafe_code)]

use super::heap::{Heap, is_object};
use super::layout::{ARGUMENTS, ARGUMENTS_MAX, BYTECODE_ARRAY, BYTECODE_OFFSET, CONTEXT, FUNCTION, V8};
use super::names::V8Functions;
use super::prologue::makes_frame;
use super::running::{Kind, Running};
use crate::interpreter::read::{Kernel, Read};
use crate::platform::lock::Lock;
use crate::unwind::PathHash;
use crate::unwind::cached::{CachedStack, NOT_USED};

/// The native stack of a capture, and how what it leads to is read.
#[derive(Clone, Copy)]
pub(crate) struct NativeStack<'a> {
    pub v8: &'a V8,
    pub stack: &'a CachedStack,
    /// How many of the cached frames are active, from the outermost on.
    pub active: usize,
    pub kernel: Kernel,
    pub functions: &'a V8Functions,
    pub lock: &'a Lock,
}

impl NativeStack<'_> {
    /// The frame pointer of a native frame that may be one of JavaScript: its caller's slot is behind what it points to.
    #[inline(always)]
    pub(super) fn frame_pointer(&self, index: usize) -> Option<usize> {
        let pointer = self.stack.slot_before(index).wrapping_sub(8);
        let is_used = self.stack.bp(index) == pointer && pointer != NOT_USED.wrapping_sub(8);
        is_used.then_some(pointer)
    }

    /// The path out from a native frame.
    #[inline(always)]
    pub(super) fn path(&self, index: usize) -> Option<PathHash> {
        self.stack.frame(index).map(|cached| cached.hash)
    }

    /// Where a native frame is.
    pub(super) fn pc(&self, index: usize) -> usize {
        self.stack.frame(index).map_or(0, |cached| cached.frame.address() as usize)
    }

    /// A word of the frame that a frame pointer belongs to, which [`Self::frame_pointer`] gave.
    #[inline(always)]
    fn word(pointer: usize, below: usize) -> usize {
        // SAFETY: it lies below a frame pointer, which the walk has found to be in this stack. A frame of V8's code has it; of
        // another, it is at or above the stack pointer, or in the red zone and frames of ours below.
        unsafe { (pointer.wrapping_sub(below) as *const usize).read_volatile() }
    }

    /// Whether there is a number of arguments where all frames that run a function have one. A builtin function that runs none
    /// may have a function of another frame's where these have theirs: it saved it there.
    #[inline(always)]
    fn has_arguments(pointer: usize) -> bool {
        (1..ARGUMENTS_MAX).contains(&Self::word(pointer, ARGUMENTS))
    }

    /// What a frame of this kind runs, but for the code of what is compiled. It reads the thread's own stack.
    #[inline(always)]
    pub(super) fn running(&self, kind: Kind, pc: usize, pointer: usize) -> Running {
        let word = |below| Self::word(pointer, below);
        let function = word(FUNCTION);
        match kind {
            Kind::Interpreted => {
                Running { kind, function, code: word(BYTECODE_ARRAY), at: word(BYTECODE_OFFSET) }
            }
            _ => Running { kind, function, code: 0, at: pc },
        }
    }

    /// What is known of the code that a frame returns to, found out when it is met for the first time.
    pub(super) fn kind(&self, index: usize, pointer: usize) -> Kind {
        if !Self::may_run_function(pointer) {
            return Kind::Native;
        }
        let pc = self.pc(index);
        if let Some(kind) = self.functions.kind(pc) {
            return kind;
        }
        let kind = self.look(index, pointer);
        if let Some(kind) = kind {
            self.functions.set_kind(pc, kind, self.lock);
        }
        kind.unwrap_or(Kind::Native)
    }

    /// Whether a frame has a context and a function. Of other code it has a small integer in place of the context, its type.
    #[inline(always)]
    pub(super) fn may_run_function(pointer: usize) -> bool {
        let is_possible = is_object(Self::word(pointer, CONTEXT)) && is_object(Self::word(pointer, FUNCTION));
        is_possible && Self::has_arguments(pointer)
    }

    /// The kind of the code that a frame returns to; `None` where the frame alone does not tell.
    #[cold]
    fn look(&self, index: usize, pointer: usize) -> Option<Kind> {
        let pc = self.pc(index);
        let heap = Heap { read: self.kernel, layout: &self.v8.layout };
        // What V8 compiles has no unwinding information; its builtin functions have, as all of the program's own text.
        let is_text = self.stack.frame(index).is_some_and(|cached| !cached.frame.guesses());
        match heap.shared(Self::word(pointer, FUNCTION)) {
            None => None,
            Some(_) if is_interpreter(self.kernel, pc) => Some(Kind::Interpreted),
            Some(_) if !is_text && !self.v8.contains(pc) => Some(Kind::Compiled),
            // Some of its own has no frame but that of the function that it was called by, as what replaces its code.
            Some(_) if !is_text || makes_frame(self.kernel, pc) => Some(Kind::Builtin),
            Some(_) => Some(Kind::Native),
        }
    }

    /// What a frame runs, with nothing that is known; `None` of native code.
    #[cold]
    pub(super) fn running_anew(&self, index: usize, pointer: usize) -> Option<Running> {
        let pc = self.pc(index);
        let kind = Self::may_run_function(pointer).then(|| self.look(index, pointer)).flatten();
        let kind = kind.filter(|kind| *kind != Kind::Native)?;
        Some(self.running(kind, pc, pointer))
    }
}

/// Whether the interpreter's calls return here: what it does next is to load the bytecode array and the offset from the
/// frame, which no compiler has code do. All versions that are read have the same instructions there.
fn is_interpreter(kernel: Kernel, pc: usize) -> bool {
    // mov r12, [rbp - 0x20]    mov r9d, [rbp - 0x24]
    const LOADS: [u8; 8] = [0x4c, 0x8b, 0x65, 0xe0, 0x44, 0x8b, 0x4d, 0xdc];
    let mut code = [0; LOADS.len()];
    cfg!(target_arch = "x86_64") && kernel.bytes(pc, &mut code) && code == LOADS
}
