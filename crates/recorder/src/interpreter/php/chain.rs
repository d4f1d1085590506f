//! The frames of PHP that a thread runs, cached for the next walk.
#![allow(unsafe_code)]

use core::sync::atomic::{Ordering, compiler_fence};

use heapscribe_wire::ids::FunctionId;

use super::names::PhpFunctions;
use super::source::{Place, RawFrame, Source};
use crate::interpreter::chain::Walked;
use crate::interpreter::read::Read;
use crate::platform::lock::Held;
use crate::platform::memory;
use crate::unwind::{Frame, PathHash};

/// The call of frames that run on no part of the native stack: they are further out than all of it.
pub(crate) const BEYOND: usize = usize::MAX;
/// Frames that are followed at most; of a thread with more nothing but its native stack is recorded.
const FRAMES_MAX: usize = 1 << 16;
const FRAMES_AT_FIRST: usize = 128;
/// By how much more there is room for when that is not enough.
const GROWTH: usize = 8;

/// A frame of a chain.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    raw: RawFrame,
    /// The number of its function; 0: not known.
    function: FunctionId,
    /// The path out from here.
    hash: PathHash,
    /// An address in the stack frame of the call that runs it; worked out for new stacks only.
    call: usize,
}

impl Entry {
    /// The frame; all zero of what is none.
    fn frame(&self) -> Frame {
        match self.raw.place {
            Place::Shim | Place::Fiber => Frame::default(),
            Place::Inner | Place::Outermost => Frame::interpreted(self.function, self.raw.line),
        }
    }
}

/// The frames of a thread, the outermost first.
#[derive(Debug, Default)]
pub(crate) struct PhpFrames {
    entries: &'static mut [Entry],
    new: &'static mut [RawFrame],
    len: usize,
    /// How many of them have a number and a hash.
    resolved: usize,
    /// How often there was none since there was one: addresses mean others then.
    requests: u32,
    has_run: bool,
}

impl PhpFrames {
    /// There is no frame.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        if self.has_run {
            (self.len, self.resolved, self.has_run) = (0, 0, false);
            self.entries.fill(Entry::default());
            self.requests = self.requests.wrapping_add(1);
        }
    }

    /// A frame as it is in memory.
    pub(crate) fn raw(&self, index: usize) -> Option<RawFrame> {
        self.entries.get(..self.len)?.get(index).map(|entry| entry.raw)
    }

    /// What the function of a frame is known by, together with the request that it is of.
    pub(crate) fn key(&self, index: usize) -> Option<u64> {
        Some(key(self.raw(index)?, self.requests))
    }

    /// The call that runs the frames `from..to`: an address in its stack frame.
    pub(super) fn set_calls(&mut self, from: usize, to: usize, call: usize) {
        for entry in self.entries.get_mut(from..to).unwrap_or_default() {
            entry.call = call;
        }
    }

    /// Makes more room. False when there is enough for the deepest, or no memory.
    #[cold]
    pub(crate) fn grow(&mut self, held: &Held<'_>) -> bool {
        let frames = (self.entries.len() * GROWTH).max(FRAMES_AT_FIRST);
        if frames > FRAMES_MAX {
            return false;
        }
        let bytes = frames * (size_of::<Entry>() + size_of::<RawFrame>());
        let Some(place) = memory::alloc(bytes, held) else { return false };
        let entries = place.as_ptr().cast::<Entry>();
        let new = entries.wrapping_add(frames).cast::<RawFrame>();
        (self.len, self.resolved) = (0, 0);
        // SAFETY: new zeroed memory for both, aligned to 64, which stays and is this chain's alone; zero is valid for
        // integers and for the first variant of `Place`.
        unsafe {
            self.entries = core::slice::from_raw_parts_mut(entries, frames);
            self.new = core::slice::from_raw_parts_mut(new, frames);
        }
        true
    }

    /// Walks all frames from the innermost one. A handler that jumps away in between leaves nothing cached.
    #[inline(always)]
    pub(crate) fn walk<R: Read>(&mut self, source: &Source<'_, R>, functions: &PhpFunctions) -> Walked {
        self.has_run = true;
        let (mut frame, mut count) = (source.innermost, 0);
        while frame != 0 {
            let Some(place) = self.new.get_mut(count) else { return Walked::NoRoom };
            let Some((raw, previous)) = source.frame(frame) else { return Walked::Unreadable };
            *place = raw;
            (frame, count) = (previous, count + 1);
        }
        let (len, resolved) = (self.len, self.resolved);
        let found = self.new.get(..count).unwrap_or_default();
        let cached = self.entries.get(..len.min(resolved)).unwrap_or_default();
        let same =
            cached.iter().zip(found.iter().rev()).take_while(|(entry, raw)| entry.raw == **raw).count();
        self.len = 0;
        compiler_fence(Ordering::SeqCst);
        let changed = self.entries.get_mut(same..count).unwrap_or_default();
        for (entry, raw) in changed.iter_mut().zip(found.iter().rev().skip(same)) {
            let is_known = entry.raw.function == raw.function;
            let function = if is_known { entry.function } else { FunctionId::default() };
            *entry = Entry { raw: *raw, function, ..Entry::default() };
        }
        self.resolved = same;
        compiler_fence(Ordering::SeqCst);
        self.len = count;
        self.resolve(functions)
    }

    /// Gives each entry the number of its function and its hash.
    #[inline(always)]
    pub(crate) fn resolve(&mut self, functions: &PhpFunctions) -> Walked {
        let before = self.resolved.checked_sub(1).and_then(|before| self.entries.get(before));
        let mut hash = before.map_or(PathHash::seed(None), |entry| entry.hash);
        for index in self.resolved..self.len {
            let Some(entry) = self.entries.get_mut(index) else { break };
            let place = entry.raw.place;
            if entry.function == FunctionId::default() && matches!(place, Place::Inner | Place::Outermost) {
                match functions.number(key(entry.raw, self.requests)) {
                    Some(number) => entry.function = number,
                    None => return Walked::New(index),
                }
            }
            hash = hash.roll(entry.frame().in_place(place as u64));
            entry.hash = hash;
            self.resolved = index + 1;
        }
        Walked::Known(hash)
    }
}

impl PhpFrames {
    /// How many frames were found.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The frame of this index, and an address in the call that runs it; `None` for what is no frame.
    pub(crate) fn frame(&self, index: usize) -> Option<(Option<Frame>, usize)> {
        let entry = self.entries.get(..self.len)?.get(index)?;
        let is_frame = matches!(entry.raw.place, Place::Inner | Place::Outermost);
        Some((is_frame.then(|| entry.frame()), entry.call))
    }
}

/// What a function is known by in a request; never 0.
#[inline(always)]
fn key(raw: RawFrame, requests: u32) -> u64 {
    (raw.function ^ u64::from(requests).wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1)
}
