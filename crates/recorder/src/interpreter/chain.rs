//! The frames of a thread that an interpreter runs, cached for the next walk.
//!
//! A walk goes from the innermost frame out, all the way: only what hangs on the thread's state is known to be there. But
//! where it follows the frames that are cached, the next address is known before it is loaded, so that the processor need
//! not wait for it, and what is unchanged - object, instruction - keeps its line and its hash.
#![allow(unsafe_code)]

use core::sync::atomic::{Ordering, compiler_fence};

use super::functions::Functions;
use super::layout::{Chain, Layout, OWNED_BY_C};
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

/// A frame as it is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct RawFrame {
    frame: usize,
    code: usize,
    instruction: usize,
    place: Place,
}

/// What a frame is to the call of the interpreter's loop that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    /// It was called by the frame further out, in the same call of the loop.
    #[default]
    Inner,
    /// It is the outermost of the call.
    Outermost,
    /// No frame, but what stands for the call.
    Shim,
}

/// A frame of a chain.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    raw: RawFrame,
    /// All zero while it is not known.
    frame: Frame,
    /// The path out from here.
    hash: PathHash,
    /// The number of the code object, while no known one was freed; 0: not known.
    serial: u32,
    generation: u32,
    /// An address in the stack frame of the call that runs it; worked out for new stacks only.
    call: usize,
}

impl Entry {
    /// Another frame is in its place, or the same one at another instruction.
    #[inline(always)]
    fn replace(&mut self, raw: RawFrame) {
        if self.raw.code != raw.code {
            self.serial = 0;
        }
        (self.raw, self.frame) = (raw, Frame::default());
    }
}

/// Of what a walk is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a, R> {
    /// How to read.
    pub read: R,
    /// Where everything is.
    pub layout: &'a Layout,
    /// The state of the thread.
    pub thread_state: usize,
    /// What is known of code objects.
    pub functions: &'a Functions,
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
    entries: &'static mut [Entry],
    new: &'static mut [RawFrame],
    len: usize,
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
        Some(((entry.raw.place != Place::Shim).then_some(entry.frame), entry.call))
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
        let bytes = frames * (size_of::<Entry>() + size_of::<RawFrame>());
        let Some(place) = memory::alloc(bytes, held) else { return false };
        let entries = place.as_ptr().cast::<Entry>();
        let new = entries.wrapping_add(frames).cast::<RawFrame>();
        self.forget();
        // SAFETY: new zeroed memory for both, aligned to 64, which stays and is this chain's alone; zero is valid for
        // integers and for the first variant of `Place`.
        unsafe {
            self.entries = core::slice::from_raw_parts_mut(entries, frames);
            self.new = core::slice::from_raw_parts_mut(new, frames);
        }
        true
    }

    /// Walks all frames. A handler that jumps away in between leaves nothing cached.
    #[inline(always)]
    pub(crate) fn walk<R: Read>(&mut self, source: Source<'_, R>) -> Walked {
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
    fn follow<R: Read>(
        &mut self,
        source: Source<'_, R>,
        first: usize,
        len: usize,
        resolved: usize,
    ) -> Result<(usize, usize), Stopped> {
        let (mut frame, mut new) = (first, 0);
        let joined = loop {
            if frame == 0 {
                break 0;
            }
            let last = len.checked_sub(1).and_then(|last| self.entries.get(last));
            let last = last.map_or(0, |last| last.raw.frame);
            if frame == last {
                break len;
            }
            let (raw, previous) = raw_frame(source, frame).ok_or(Stopped::Unreadable)?;
            // Mostly it was called by the innermost one that is cached.
            if previous != last
                && let Some(at) = self.position(frame, len)
            {
                break at + 1;
            }
            *self.new.get_mut(new).ok_or(Stopped::NoRoom)? = raw;
            (frame, new) = (previous, new + 1);
        };
        let mut unchanged = resolved.min(joined);
        let entries = self.entries.get_mut(..joined).ok_or(Stopped::NoRoom)?;
        for (index, entry) in entries.iter_mut().enumerate().rev() {
            if entry.raw.frame != frame {
                return Err(Stopped::Elsewhere);
            }
            let (raw, previous) = raw_frame(source, frame).ok_or(Stopped::Unreadable)?;
            if entry.raw != raw {
                entry.replace(raw);
                unchanged = unchanged.min(index);
            }
            frame = previous;
        }
        if frame != 0 {
            return Err(Stopped::Elsewhere);
        }
        let inner = self.entries.get_mut(joined..joined + new).ok_or(Stopped::NoRoom)?;
        for (entry, raw) in inner.iter_mut().zip(self.new.iter().take(new).rev()) {
            entry.replace(*raw);
        }
        Ok((joined + new, unchanged))
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
    fn resolve<R: Read>(&mut self, source: Source<'_, R>) -> Walked {
        let before = self.resolved.checked_sub(1).and_then(|before| self.entries.get(before));
        let mut hash = before.map_or(PathHash::seed(None), |entry| entry.hash);
        for index in self.resolved..self.len {
            let Some(entry) = self.entries.get_mut(index) else { break };
            let RawFrame { code, instruction, place, .. } = entry.raw;
            if entry.frame == Frame::default() && place != Place::Shim {
                let Source { read, layout, functions, .. } = source;
                if entry.serial == 0 || entry.generation != self.generation {
                    entry.serial = functions.serial(read, layout, code).unwrap_or(0);
                    entry.generation = self.generation;
                }
                match functions.frame(entry.serial, code, instruction) {
                    Some(frame) => entry.frame = frame,
                    None => return Walked::New(index),
                }
            }
            hash = hash.roll(entry.frame.in_place(place as u64));
            entry.hash = hash;
            self.resolved = index + 1;
        }
        Walked::Known(hash)
    }

    /// Sets the frame of an entry that a walk has not known, and goes on.
    pub(crate) fn define<R: Read>(&mut self, index: usize, frame: Frame, source: Source<'_, R>) -> Walked {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.frame = frame;
        }
        self.resolve(source)
    }

    /// Works out which call runs each frame. False when the calls are not as many as the frames say.
    #[cold]
    pub(crate) fn find_calls<R: Read>(&mut self, source: Source<'_, R>) -> bool {
        let Source { read, layout, thread_state, .. } = source;
        let fields = layout.thread;
        let mut call = match layout.chain {
            Chain::Shims => 0,
            _ => read.word(thread_state.wrapping_add(fields.record)).unwrap_or(0),
        };
        let mut starts = 0;
        for index in (0..self.len).rev() {
            // Once for each call: for each frame, `test_json` of CPython 3.13 took minutes at its deepest.
            if layout.chain == Chain::Shims && starts == 0 {
                let inner = self.entries.get(..=index).unwrap_or_default();
                let shim = inner.iter().rev().find(|entry| entry.raw.place == Place::Shim);
                call = shim.map_or(0, |entry| entry.raw.frame);
                starts = 1;
            }
            let Some(entry) = self.entries.get_mut(index) else { break };
            entry.call = call;
            if call == 0 {
                return false;
            }
            match entry.raw.place {
                Place::Inner => {}
                Place::Shim => starts = 0,
                Place::Outermost => {
                    call = read.word(call.wrapping_add(fields.record_previous)).unwrap_or(0);
                }
            }
        }
        true
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
fn first_frame<R: Read>(source: Source<'_, R>) -> Option<usize> {
    let Source { read, layout, thread_state, .. } = source;
    let fields = &layout.thread;
    if fields.frame != 0 {
        return read.word(thread_state.wrapping_add(fields.frame));
    }
    let record = read.word(thread_state.wrapping_add(fields.record))?;
    read.word(record.wrapping_add(fields.record_frame))
}

/// A frame, and the one further out.
#[inline(always)]
fn raw_frame<R: Read>(source: Source<'_, R>, frame: usize) -> Option<(RawFrame, usize)> {
    let Source { read, layout, .. } = source;
    let fields = &layout.frame;
    let previous = read.word(frame.wrapping_add(fields.previous))?;
    let (code, instruction) =
        (read.word(frame.wrapping_add(fields.code))?, read.word(frame.wrapping_add(fields.instruction))?);
    if layout.chain == Chain::Objects {
        let instruction = instruction & 0xffff_ffff;
        return Some((RawFrame { frame, code, instruction, place: Place::Outermost }, previous));
    }
    let flags = read.word(frame.wrapping_add(fields.flags))?;
    let byte = |shift: u32| flags >> shift & 0xff;
    let place = match layout.chain {
        Chain::Shims if byte(fields.owner_shift) == OWNED_BY_C => {
            return Some((RawFrame { frame, place: Place::Shim, ..RawFrame::default() }, previous));
        }
        Chain::Marked if byte(fields.entry_shift) != 0 => Place::Outermost,
        _ => Place::Inner,
    };
    Some((RawFrame { frame, code, instruction, place }, previous))
}
