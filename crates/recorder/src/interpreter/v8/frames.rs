//! The frames of JavaScript that a thread runs: those of its native stack that have a function, cached for the next
//! capture.
#![allow(unsafe_code)]

use core::sync::atomic::{Ordering, compiler_fence};

use super::heap::Heap;
use super::layout::{LITERAL_BEHIND_SCRIPT, SCRIPT_ID, SHARED_CODE};
use super::names::{Defined, Definer, V8Functions};
use super::native_stack::NativeStack;
use super::running::{Kind, Running};
use crate::interpreter::chain::Walked;
use crate::interpreter::read::{Direct, Read};
use crate::interpreter::word_hash::hash;
use crate::platform::lock::Held;
use crate::platform::memory;
use crate::unwind::{Frame, PathHash};

/// Frames at most; of a thread with more nothing but its native stack is recorded.
const FRAMES_MAX: usize = 1 << 14;
const FRAMES_AT_FIRST: usize = 128;
const GROWTH: usize = 8;
/// Of V8's heap.
const PAGE_BYTES: usize = 1 << 18;

/// A frame of JavaScript.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Which of the native frames it is, and the path out from that.
    index: usize,
    path: PathHash,
    running: Running,
    /// What it is known by: words of what it leads to; 0: nothing was read, or not its line.
    identity: u64,
    /// The frame, without those that are inlined into it.
    frame: Frame,
    /// The frames out from here.
    hash: PathHash,
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
    /// Forgets all frames.
    pub(crate) fn forget(&mut self) {
        (self.len, self.resolved, self.scanned) = (0, 0, 0);
    }

    /// Makes more room. False when there is enough for the deepest, or no memory.
    #[cold]
    pub(crate) fn grow(&mut self, held: &Held<'_>) -> bool {
        let frames = (self.entries.len() * GROWTH).max(FRAMES_AT_FIRST);
        let place = (frames <= FRAMES_MAX).then(|| memory::alloc(frames * size_of::<Entry>(), held));
        let Some(place) = place.flatten() else { return false };
        self.forget();
        // SAFETY: new zeroed memory, aligned to 64, which stays and is this list's alone; zero is valid for integers and
        // for the first variant of `Kind`.
        self.entries = unsafe { core::slice::from_raw_parts_mut(place.as_ptr().cast(), frames) };
        true
    }

    /// Finds all frames of a stack and what they run. A handler that jumps away in between leaves nothing cached.
    #[inline(always)]
    pub(crate) fn walk(&mut self, source: &NativeStack<'_>) -> Walked {
        let Some(innermost) = source.active.checked_sub(1) else { return Walked::Nothing };
        let is_same = |at: usize, path: PathHash| at < source.active && source.path(at) == Some(path);
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
            self.scanned_path = source.path(innermost).unwrap_or_default();
            self.scanned = source.active;
        }
        if self.len == 0 { Walked::Nothing } else { self.look(source) }
    }

    /// Looks for frames among the native ones from `from` on, of which `kept` further out are known.
    #[cold]
    fn scan(&mut self, source: &NativeStack<'_>, kept: usize, from: usize) -> Walked {
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
            let path = source.path(index).unwrap_or_default();
            let running = Running { kind, at: source.pc(index), ..Running::default() };
            *entry = Entry { index, path, running, ..Entry::default() };
            self.len += 1;
        }
        Walked::Nothing
    }

    /// Looks at what each frame runs.
    #[inline(always)]
    fn look(&mut self, source: &NativeStack<'_>) -> Walked {
        let heap = heap(source);
        let mut resolved = self.resolved;
        for (at, entry) in self.entries.iter_mut().take(self.len).enumerate() {
            let pointer = source.stack.slot_before(entry.index).wrapping_sub(8);
            let Running { kind, at: pc, .. } = entry.running;
            if !NativeStack::may_run_function(pointer) {
                // Other code is where one of a function was.
                self.forget();
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
            if entry.running.kind != Kind::Interpreted && entry.identity != 0 {
                let Some(inlined) = functions.inlined(entry.identity) else { return Walked::New(index) };
                hash = inlined.fold(hash, PathHash::roll);
            }
            hash = hash.roll(entry.frame).roll(Frame::from_bits(entry.index as u64));
            entry.hash = hash;
            self.resolved = index + 1;
        }
        Walked::Known(hash)
    }

    /// Defines a frame that is met for the first time. `None` when it cannot be read, or there is no room. A frame whose line
    /// could not be read is of this capture: the next one finds it as if it ran something else.
    #[cold]
    pub(crate) fn define(
        &mut self,
        index: usize,
        source: &NativeStack<'_>,
        definer: Definer<'_>,
    ) -> Option<()> {
        let entry = self.entries.get_mut(..self.len)?.get_mut(index)?;
        let (functions, encoding) = (source.functions, source.v8.encoding);
        let defined = functions.define(&heap(source), encoding, entry.running, entry.identity, definer)?;
        if let Defined::WithoutLine(frame) = defined {
            (entry.frame, entry.identity) = (frame, 0);
        }
        Some(())
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

/// What the frames of a stack lead to.
#[inline(always)]
fn heap<'a>(source: &NativeStack<'a>) -> Heap<'a, Direct> {
    // SAFETY: what a frame of the calling thread runs is alive, and nobody frees it meanwhile: it is this thread that
    // collects what its frames do not hold, and only after it has updated them.
    Heap { read: unsafe { Direct::new() }, layout: &source.v8.layout }
}

/// What a frame runs, with what it is known by: the function's own part, its name or scope, its script, its code and where
/// that is. Another function that was moved to where one was differs in one of these; one that was made where others were
/// forgotten may have all at the same addresses, but another number: of functions of `new Function` 193 of 8,000 had the name
/// of one before.
#[inline(always)]
fn identified<R: Read>(heap: &Heap<'_, R>, mut running: Running) -> Option<(Running, u64)> {
    let layout = heap.layout;
    let shared = heap.field(running.function, layout.shared)?;
    let (name, script) = (heap.field(shared, layout.name)?, heap.field(shared, layout.script)?);
    if running.kind != Kind::Interpreted {
        let own = heap.field(running.function, layout.function_code)?;
        running.code = hash([heap.field(shared, SHARED_CODE)?, own]) as usize;
    }
    let number = number(heap, shared, script)?;
    Some((running, hash([shared, name, script, number, running.code, running.at]).max(1)))
}

/// The number of a function in its process: of its script, and in that.
#[inline(always)]
fn number<R: Read>(heap: &Heap<'_, R>, shared: usize, script: usize) -> Option<usize> {
    let literal = heap.field(shared, heap.layout.script + LITERAL_BEHIND_SCRIPT)? >> 32;
    // What is no script, as of builtin functions, may end before that, but memory does not before the end of V8's page.
    let is_on_page = script % PAGE_BYTES + SCRIPT_ID + 8 <= PAGE_BYTES;
    let script = if is_on_page { heap.field(script, SCRIPT_ID)? } else { 0 };
    Some(script ^ literal)
}
