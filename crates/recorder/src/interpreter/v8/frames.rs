//! The frames of JavaScript that a thread runs: those of its native stack that have a function, cached for the next
//! capture.
#![allow(unsafe_code)]

use core::sync::atomic::{Ordering, compiler_fence};

use super::check::V8;
use super::heap::{Heap, is_object};
use super::layout::{
    ARGUMENTS, ARGUMENTS_MAX, BYTECODE_ARRAY, BYTECODE_OFFSET, CONTEXT, FUNCTION, SHARED_CODE,
};
use super::names::V8Functions;
use crate::interpreter::chain::Walked;
use crate::interpreter::read::{Direct, Kernel, Read};
use crate::interpreter::word_hash::hash;
use crate::platform::lock::{Held, Lock};
use crate::platform::memory;
use crate::unwind::cached::{CachedStack, NOT_USED};
use crate::unwind::{Frame, PathHash};

/// Frames at most; of a thread with more nothing but its native stack is recorded.
const FRAMES_MAX: usize = 1 << 14;
const FRAMES_AT_FIRST: usize = 128;
const GROWTH: usize = 8;

/// What kind of code runs a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    /// V8's interpreter: the frame has the bytecode that it is at.
    Interpreted,
    /// Code that was compiled, or a builtin function.
    #[default]
    Compiled,
    /// No frame of JavaScript.
    Native,
}

impl Kind {
    pub(super) const fn number(self) -> u64 {
        self as u64 + 1
    }

    pub(super) const fn from_number(number: u64) -> Option<Kind> {
        match number {
            1 => Some(Kind::Interpreted),
            2 => Some(Kind::Compiled),
            3 => Some(Kind::Native),
            _ => None,
        }
    }
}

/// What a frame runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Running {
    pub kind: Kind,
    pub function: usize,
    /// Its bytecodes; of compiled code, what leads to it, hashed.
    pub code: usize,
    /// The offset of the bytecode that it is at; of compiled code, the address that this returns to.
    pub at: usize,
}

/// A frame of JavaScript.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Which of the native frames it is, and the path out from that.
    index: usize,
    path: PathHash,
    running: Running,
    /// What it is known by: words of what it leads to; 0: nothing was read.
    identity: u64,
    /// The frame, without those that are inlined into it.
    frame: Frame,
    /// The frames out from here.
    hash: PathHash,
}

/// The native stack of a capture, and how what it leads to is read.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub v8: &'a V8,
    pub stack: &'a CachedStack,
    /// How many of the cached frames are active, from the outermost on.
    pub active: usize,
    pub kernel: Kernel,
    pub functions: &'a V8Functions,
    pub lock: &'a Lock,
}

impl Source<'_> {
    /// The frame pointer of a native frame that may be one of JavaScript: its caller's slot is behind what it points to.
    #[inline(always)]
    pub(super) fn frame_pointer(&self, index: usize) -> Option<usize> {
        let pointer = self.stack.slot_before(index).wrapping_sub(8);
        let is_used = self.stack.bp(index) == pointer && pointer != NOT_USED.wrapping_sub(8);
        is_used.then_some(pointer)
    }

    fn pc(&self, index: usize) -> usize {
        self.stack.frame(index).map_or(0, |frame| frame.address() as usize)
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
    fn running(&self, kind: Kind, pc: usize, pointer: usize) -> Running {
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
    fn kind(&self, index: usize, pointer: usize) -> Kind {
        if !Self::may_run_function(pointer) {
            return Kind::Native;
        }
        let pc = self.pc(index);
        if let Some(kind) = self.functions.kind(pc) {
            return kind;
        }
        let kind = self.look(pc, pointer);
        if kind != Kind::Native {
            self.functions.set_kind(pc, kind, self.lock);
        }
        kind
    }

    /// Whether a frame has a context and a function. Of other code it has a small integer in place of the context, its type.
    fn may_run_function(pointer: usize) -> bool {
        let is_possible = is_object(Self::word(pointer, CONTEXT)) && is_object(Self::word(pointer, FUNCTION));
        is_possible && Self::has_arguments(pointer)
    }

    #[cold]
    fn look(&self, pc: usize, pointer: usize) -> Kind {
        let heap = Heap { read: self.kernel, layout: &self.v8.layout };
        match heap.shared(Self::word(pointer, FUNCTION)) {
            None => Kind::Native,
            Some(_) if is_interpreter(self.kernel, pc) => Kind::Interpreted,
            Some(_) => Kind::Compiled,
        }
    }

    /// What a frame runs, with nothing that is known; `None` of native code.
    #[cold]
    pub(super) fn running_anew(&self, index: usize, pointer: usize) -> Option<Running> {
        let pc = self.pc(index);
        let kind = Self::may_run_function(pointer).then(|| self.look(pc, pointer));
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

/// The frames of a thread, the outermost first.
#[derive(Debug, Default)]
pub(crate) struct JsFrames {
    entries: &'static mut [Entry],
    len: usize,
    /// How many have a frame and a hash.
    resolved: usize,
    /// How many of the native frames were looked at, and the path out from the last of them.
    scanned: usize,
    scanned_path: PathHash,
}

impl JsFrames {
    /// Makes more room. False when there is enough for the deepest, or no memory.
    #[cold]
    pub(crate) fn grow(&mut self, held: &Held<'_>) -> bool {
        let frames = (self.entries.len() * GROWTH).max(FRAMES_AT_FIRST);
        let place = (frames <= FRAMES_MAX).then(|| memory::alloc(frames * size_of::<Entry>(), held));
        let Some(place) = place.flatten() else { return false };
        (self.len, self.resolved, self.scanned) = (0, 0, 0);
        // SAFETY: new zeroed memory, aligned to 64, which stays and is this list's alone; zero is valid for integers and
        // for the first variant of `Kind`.
        self.entries = unsafe { core::slice::from_raw_parts_mut(place.as_ptr().cast(), frames) };
        true
    }

    /// Finds all frames of a stack and what they run. A handler that jumps away in between leaves nothing cached.
    #[inline(always)]
    pub(crate) fn walk(&mut self, source: &Source<'_>) -> Walked {
        let Some(innermost) = source.active.checked_sub(1) else { return Walked::Nothing };
        let is_same = |at: usize, path: PathHash| at < source.active && source.stack.hash(at) == Some(path);
        let has_scanned = self.scanned > 0 && is_same(self.scanned - 1, self.scanned_path);
        if !has_scanned || self.scanned != source.active {
            let known = self.entries.get(..self.len).unwrap_or_default();
            let kept = known.iter().take_while(|entry| is_same(entry.index, entry.path)).count();
            let before = kept.checked_sub(1).and_then(|last| known.get(last));
            let from = if has_scanned { self.scanned } else { before.map_or(0, |entry| entry.index + 1) };
            let scanned = self.scan(source, kept, from);
            if scanned != Walked::Nothing {
                return scanned;
            }
            self.scanned_path = source.stack.hash(innermost).unwrap_or_default();
            self.scanned = source.active;
        }
        if self.len == 0 { Walked::Nothing } else { self.look(source) }
    }

    /// Looks for frames among the native ones from `from` on, of which `kept` further out are known.
    #[cold]
    fn scan(&mut self, source: &Source<'_>, kept: usize, from: usize) -> Walked {
        (self.len, self.scanned) = (kept, 0);
        self.resolved = self.resolved.min(kept);
        compiler_fence(Ordering::SeqCst);
        for index in from..source.active {
            let Some(pointer) = source.frame_pointer(index) else { continue };
            let kind = source.kind(index, pointer);
            if kind == Kind::Native {
                continue;
            }
            let Some(entry) = self.entries.get_mut(self.len) else { return Walked::NoRoom };
            let path = source.stack.hash(index).unwrap_or_default();
            let running = Running { kind, at: source.pc(index), ..Running::default() };
            *entry = Entry { index, path, running, ..Entry::default() };
            self.len += 1;
        }
        Walked::Nothing
    }

    /// Looks at what each frame runs.
    #[inline(always)]
    fn look(&mut self, source: &Source<'_>) -> Walked {
        // SAFETY: what a frame of the calling thread runs is alive, and nobody frees it meanwhile: it is this thread that
        // collects what its frames do not hold, and only after it has updated them.
        let heap = Heap { read: unsafe { Direct::new() }, layout: &source.v8.layout };
        let mut resolved = self.resolved;
        for (at, entry) in self.entries.iter_mut().take(self.len).enumerate() {
            let pointer = source.stack.slot_before(entry.index).wrapping_sub(8);
            let Running { kind, at: pc, .. } = entry.running;
            if !Source::has_arguments(pointer) {
                return Walked::Unreadable;
            }
            let running = source.running(kind, pc, pointer);
            let Some((running, identity)) = identified(&heap, running) else { return Walked::Unreadable };
            if entry.identity != identity {
                *entry = Entry { running, identity, frame: Frame::default(), ..*entry };
                resolved = resolved.min(at);
            }
        }
        self.resolved = resolved;
        self.resolve(source.functions)
    }

    /// Gives each entry its frame and its hash.
    #[inline(always)]
    pub(crate) fn resolve(&mut self, functions: &V8Functions) -> Walked {
        let before = self.resolved.checked_sub(1).and_then(|before| self.entries.get(before));
        let mut hash = before.map_or(PathHash::seed(None), |entry| entry.hash);
        for index in self.resolved..self.len {
            let Some(entry) = self.entries.get_mut(index) else { break };
            if entry.frame == Frame::default() {
                match functions.frame(entry.identity) {
                    Some(frame) => entry.frame = frame,
                    None => return Walked::New(index),
                }
            }
            if entry.running.kind != Kind::Interpreted {
                let Some(inlined) = functions.inlined(entry.identity) else { return Walked::New(index) };
                hash = inlined.fold(hash, PathHash::roll);
            }
            hash = hash.roll(entry.frame).roll(Frame::from_bits(entry.index as u64));
            entry.hash = hash;
            self.resolved = index + 1;
        }
        Walked::Known(hash)
    }

    /// What a frame runs, and what that is known by.
    pub(crate) fn running(&self, index: usize) -> Option<(Running, u64)> {
        let entry = self.entries.get(..self.len)?.get(index)?;
        Some((entry.running, entry.identity))
    }

    /// How many frames there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Which of the native frames a frame is, and the path out from that.
    pub(crate) fn place(&self, index: usize) -> Option<(usize, PathHash)> {
        let entry = self.entries.get(..self.len)?.get(index)?;
        Some((entry.index, entry.path))
    }

    /// A frame, after those that are inlined into it.
    pub(crate) fn frames<'a>(
        &self,
        index: usize,
        functions: &'a V8Functions,
    ) -> impl Iterator<Item = Frame> + use<'a> {
        let entry = self.entries.get(..self.len).and_then(|entries| entries.get(index)).copied();
        let compiled = entry.filter(|entry| entry.running.kind != Kind::Interpreted);
        let inlined = compiled.and_then(|entry| functions.inlined(entry.identity));
        inlined.into_iter().flatten().chain(entry.map(|entry| entry.frame))
    }
}

/// What a frame runs, with what it is known by: the function's own part, its name or scope, its script, its code and where
/// that is. Another function that was moved to where one was differs in one of these.
#[inline(always)]
fn identified<R: Read>(heap: &Heap<'_, R>, mut running: Running) -> Option<(Running, u64)> {
    let layout = heap.layout;
    let shared = heap.field(running.function, layout.shared)?;
    let (name, script) = (heap.field(shared, layout.name)?, heap.field(shared, layout.script)?);
    if running.kind != Kind::Interpreted {
        let own = heap.field(running.function, layout.function_code)?;
        running.code = hash([heap.field(shared, SHARED_CODE)?, own]) as usize;
    }
    Some((running, hash([shared, name, script, running.code, running.at]).max(1)))
}
