//! The frames of a thread that an interpreter runs, cached for the next walk.
//!
//! A walk goes from the innermost frame out, all the way: only what hangs on the thread's state is known to be there. But
//! where it follows the frames that are cached, the next address is known before it is loaded, so that the processor need
//! not wait for it, and what is unchanged - object, instruction - keeps its line and its hash. What a frame was before it
//! ended is kept as well: the next one in its place is mostly a call of one of a few functions, and those are cached.
#![allow(unsafe_code)]

use core::sync::atomic::{Ordering, compiler_fence};

use super::frozen::Frozen;
use super::layout::Shaped;
use super::pages::Pages;
use super::raw::{Change, Place, RawFrame, Source};
use super::read::Read;
use crate::platform::lock::Held;
use crate::platform::memory;
use crate::unwind::{Frame, PathHash};

/// Frames that are followed at most; of a thread with more nothing but its native stack is recorded.
const FRAMES_MAX: usize = 1 << 16;
const FRAMES_AT_FIRST: usize = 128;
/// By how much more there is room for when that is not enough.
const GROWTH: usize = 8;
/// How many frames a thread may have left since the last walk, to be found again at once.
const LEFT_MAX: usize = 32;
/// Instructions whose frames are cached, a power of two.
const RECENT: usize = 1024;

/// A frame of a chain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) raw: RawFrame,
    /// All zero while it is not known.
    frame: Frame,
    /// The path out from here.
    hash: PathHash,
    /// Of when the frame is: it holds while no known code object was freed.
    generation: u32,
    /// An address in the stack frame of the call that runs it; worked out for new stacks only.
    pub(super) call: usize,
}

/// An instruction, and what its frame was in a generation.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    code: usize,
    instruction: usize,
    frame: Frame,
    generation: u32,
}

/// What a walk has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walked {
    /// The hash of the path of all frames.
    Known(PathHash),
    /// No frames.
    Nothing,
    /// The frame of this index is to be defined.
    New(usize),
    /// There is no room for so many frames.
    NoRoom,
    /// Something cannot be read.
    Unreadable,
}

/// The frames of a thread, the outermost first.
#[derive(Debug, Default)]
pub(crate) struct InterpretedFrames {
    pub(super) entries: &'static mut [Entry],
    new: &'static mut [RawFrame],
    recent: &'static mut [Recent],
    /// What they were when the thread let go of the interpreter's lock.
    pub(crate) frozen: Frozen,
    /// Where walks through the kernel copy what they read.
    pub(crate) pages: Option<&'static Pages>,
    pub(super) len: usize,
    /// How many of them have a frame and a hash.
    resolved: usize,
    generation: u32,
}

impl InterpretedFrames {
    /// How many frames were found.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The frame of this index, and an address in the call that runs it; `None` for what is no frame.
    pub(crate) fn frame(&self, index: usize) -> Option<(Option<Frame>, usize)> {
        let entry = self.entries.get(..self.len)?.get(index)?;
        Some(((entry.frame != Frame::default()).then_some(entry.frame), entry.call))
    }

    /// The code object and the instruction of a frame.
    pub(crate) fn code(&self, index: usize) -> Option<(usize, usize)> {
        let raw = self.entries.get(..self.len)?.get(index)?.raw;
        Some((raw.code, raw.instruction))
    }

    /// Forgets all frames.
    pub(crate) fn forget(&mut self) {
        (self.len, self.resolved) = (0, 0);
    }

    /// Makes more room. False when there is enough for the deepest, or no memory.
    #[cold]
    pub(crate) fn grow(&mut self, held: &Held<'_>) -> bool {
        let frames = (self.entries.len() * GROWTH).max(FRAMES_AT_FIRST);
        if frames > FRAMES_MAX {
            return false;
        }
        let bytes = frames * (size_of::<Entry>() + size_of::<RawFrame>()) + RECENT * size_of::<Recent>();
        let Some(place) = memory::alloc(bytes, held) else { return false };
        let entries = place.as_ptr().cast::<Entry>();
        let new = entries.wrapping_add(frames).cast::<RawFrame>();
        let recent = new.wrapping_add(frames).cast::<Recent>();
        self.forget();
        // SAFETY: new zeroed memory for all three, aligned to 64, which stays and is this chain's alone; zero is valid for
        // integers and for the first variant of `Place`.
        unsafe {
            self.entries = core::slice::from_raw_parts_mut(entries, frames);
            self.new = core::slice::from_raw_parts_mut(new, frames);
            self.recent = core::slice::from_raw_parts_mut(recent, RECENT);
        }
        true
    }

    /// The hash of the path of all frames, where these are the ones that are cached, at whatever instructions: four of five
    /// walks of a Python program.
    #[inline(always)]
    pub(crate) fn walk_same<R: Read, S: Shaped>(&mut self, source: Source<'_, R, S>) -> Option<PathHash> {
        let len = self.len;
        let last = len.checked_sub(1)?;
        let innermost = self.entries.get(last)?;
        let is_same = source.functions.generation() == self.generation && self.resolved == len;
        if first_frame(source)? != innermost.raw.frame || !is_same {
            return None;
        }
        let hash = innermost.hash;
        // A handler that jumps away in between leaves nothing cached.
        self.len = 0;
        compiler_fence(Ordering::SeqCst);
        let is_same = self.read_instructions(source, len);
        compiler_fence(Ordering::SeqCst);
        self.len = len;
        match is_same? {
            true if self.resolved == len => Some(hash),
            true => match self.resolve(source) {
                Walked::Known(hash) => Some(hash),
                _ => None,
            },
            false => None,
        }
    }

    /// Brings the instructions of the cached frames up to date. False when they are other frames; `None` when they cannot be
    /// read.
    #[inline(always)]
    fn read_instructions<R: Read, S: Shaped>(
        &mut self,
        source: Source<'_, R, S>,
        len: usize,
    ) -> Option<bool> {
        let mut left = len;
        // Each leads to the one before it, so that the addresses are those of a walk from frame to frame.
        for entry in self.entries.get_mut(..len)?.iter_mut().rev() {
            left -= 1;
            match entry.raw.change(source.read, source.shape)? {
                Change::Nothing => {}
                Change::Instruction(instruction) => {
                    (entry.raw.instruction, entry.frame) = (instruction, Frame::default());
                    self.resolved = left;
                }
                Change::Other => return Some(false),
            }
        }
        Some(true)
    }

    /// Walks all frames. A handler that jumps away in between leaves nothing cached.
    #[inline(always)]
    pub(crate) fn walk<R: Read, S: Shaped>(&mut self, source: Source<'_, R, S>) -> Walked {
        let Some(first) = first_frame(source) else { return Walked::Unreadable };
        if first == 0 {
            return Walked::Nothing;
        }
        let generation = source.functions.generation();
        let is_same = generation == self.generation;
        let (len, resolved) = if is_same { (self.len, self.resolved) } else { (0, 0) };
        self.len = 0;
        compiler_fence(Ordering::SeqCst);
        let found = match self.follow(source, first, len, resolved) {
            Err(Stopped::Elsewhere) => self.follow(source, first, 0, 0),
            found => found,
        };
        let (len, resolved) = match found {
            Ok(found) => found,
            Err(Stopped::NoRoom) => return Walked::NoRoom,
            Err(_) => return Walked::Unreadable,
        };
        (self.generation, self.resolved) = (generation, resolved);
        compiler_fence(Ordering::SeqCst);
        self.len = len;
        self.resolve(source)
    }

    /// Brings the entries up to date: how many there are, and how many of the outermost are as they were.
    #[inline(always)]
    fn follow<R: Read, S: Shaped>(
        &mut self,
        source: Source<'_, R, S>,
        first: usize,
        len: usize,
        resolved: usize,
    ) -> Result<(usize, usize), Stopped> {
        let (joined, new) = self.join(source, first, len)?;
        let mut unchanged = resolved.min(joined);
        let entries = self.entries.get_mut(..joined).ok_or(Stopped::NoRoom)?;
        // Each leads to the one before it, as above.
        for (index, entry) in entries.iter_mut().enumerate().rev() {
            let change = entry.raw.change(source.read, source.shape).ok_or(Stopped::Unreadable)?;
            if change == Change::Nothing {
                continue;
            }
            let raw = RawFrame::read(source.read, source.shape.shape().frame, entry.raw.frame);
            let raw = raw.ok_or(Stopped::Unreadable)?;
            if raw.previous != entry.raw.previous {
                return Err(Stopped::Elsewhere);
            }
            (entry.raw, entry.frame) = (raw, Frame::default());
            unchanged = unchanged.min(index);
        }
        if new > 0 {
            let inner = self.entries.get_mut(joined..joined + new).ok_or(Stopped::NoRoom)?;
            for (entry, raw) in inner.iter_mut().zip(self.new.iter().take(new).rev()) {
                if entry.raw != *raw {
                    (entry.raw, entry.frame) = (*raw, Frame::default());
                }
            }
        }
        Ok((joined + new, unchanged))
    }

    /// Collects the frames that are not cached: how many of the outermost ones they join, and how many they are.
    #[inline(always)]
    fn join<R: Read, S: Shaped>(
        &mut self,
        source: Source<'_, R, S>,
        first: usize,
        len: usize,
    ) -> Result<(usize, usize), Stopped> {
        let last = len.checked_sub(1).and_then(|last| self.entries.get(last));
        let last = last.map_or(0, |last| last.raw.frame);
        let (mut frame, mut new) = (first, 0);
        while frame != last {
            if frame == 0 {
                return Ok((0, new));
            }
            let previous = RawFrame::previous(source, frame).ok_or(Stopped::Unreadable)?;
            // Mostly it was called by the innermost one that is cached.
            if previous != last
                && let Some(at) = self.position(frame, len)
            {
                return Ok((at + 1, new));
            }
            let raw = RawFrame::read(source.read, source.shape.shape().frame, frame);
            let raw = raw.ok_or(Stopped::Unreadable)?;
            *self.new.get_mut(new).ok_or(Stopped::NoRoom)? = raw;
            (frame, new) = (previous, new + 1);
        }
        Ok((len, new))
    }

    /// The index of a frame among the innermost ones that are cached.
    #[inline(always)]
    fn position(&self, frame: usize, len: usize) -> Option<usize> {
        let cached = self.entries.get(..len)?;
        let left = cached.iter().rev().take(LEFT_MAX).position(|entry| entry.raw.frame == frame)?;
        Some(len - 1 - left)
    }

    /// Gives each entry its frame and its hash.
    #[inline(always)]
    fn resolve<R: Read, S: Shaped>(&mut self, source: Source<'_, R, S>) -> Walked {
        let InterpretedFrames { entries, recent, len, resolved, generation, .. } = self;
        let before = resolved.checked_sub(1).and_then(|before| entries.get(before));
        let mut hash = before.map_or(PathHash::seed(None), |entry| entry.hash);
        let new = entries.get_mut(*resolved..*len).unwrap_or_default();
        for entry in new {
            let place = entry.raw.place(source.shape.shape().chain);
            let is_known = entry.generation == *generation && entry.frame != Frame::default();
            if !is_known && place != Place::Shim {
                let Some(frame) = recent_frame(recent, entry.raw, *generation, source) else {
                    return Walked::New(*resolved);
                };
                (entry.frame, entry.generation) = (frame, *generation);
            }
            hash = hash.roll(entry.frame.in_place(place as u64));
            entry.hash = hash;
            *resolved += 1;
        }
        Walked::Known(hash)
    }

    /// Sets the frame of an entry that a walk has not known, and goes on.
    pub(crate) fn define<R: Read, S: Shaped>(
        &mut self,
        index: usize,
        frame: Frame,
        source: Source<'_, R, S>,
    ) -> Walked {
        if let Some(entry) = self.entries.get_mut(index) {
            (entry.frame, entry.generation) = (frame, self.generation);
        }
        self.resolve(source)
    }
}

/// Why the frames were not followed to the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stopped {
    /// They are others than were cached.
    Elsewhere,
    NoRoom,
    Unreadable,
}

/// The innermost frame; 0 for none.
#[inline(always)]
fn first_frame<R: Read, S: Shaped>(source: Source<'_, R, S>) -> Option<usize> {
    let Source { read, shape, thread_state, .. } = source;
    let fields = shape.shape().thread;
    if fields.frame != 0 {
        return read.known_word(thread_state.wrapping_add(fields.frame));
    }
    let record = read.known_word(thread_state.wrapping_add(fields.record))?;
    read.word(record.wrapping_add(fields.record_frame))
}

/// The frame of an instruction that is known; of each, that of the last one with its place is cached.
#[inline(always)]
fn recent_frame<R: Read, S: Shaped>(
    recent: &mut [Recent],
    raw: RawFrame,
    generation: u32,
    source: Source<'_, R, S>,
) -> Option<Frame> {
    let RawFrame { code, instruction, .. } = raw;
    // Instructions are two bytes, or numbers in a code object.
    let place = (instruction >> 1 ^ instruction >> 11 ^ code >> 5) & (RECENT - 1);
    let cached = recent.get_mut(place)?;
    if cached.code == code && cached.instruction == instruction && cached.generation == generation {
        return (cached.frame != Frame::default()).then_some(cached.frame);
    }
    let frame = known_frame(raw, source)?;
    *cached = Recent { code, instruction, frame, generation };
    Some(frame)
}

/// The same by what is known of all.
#[inline(never)]
fn known_frame<R: Read, S: Shaped>(raw: RawFrame, source: Source<'_, R, S>) -> Option<Frame> {
    let (RawFrame { code, instruction, .. }, Source { read, layout, functions, .. }) = (raw, source);
    let serial = functions.serial(read, layout, code)?;
    functions.frame(serial, code, instruction)
}
