//! From code words to stacks.
//!
//! A reader that missed events cannot know what the cache holds, but it can know what it does not know:
//! buckets are forgotten, and become known again when the file says what is in them. A frame from a
//! forgotten bucket is [`LocationCode::UNKNOWN`], never a wrong one.

use super::code_word::{MANY_PREDICTED, MISS, ONE_PREDICTED, TAG};
use crate::memtrace::error::Fault;
use crate::memtrace::fields::Cursor;
use crate::memtrace::header::Verifier;
use crate::memtrace::layout::{BUCKETS, FRAMES_MAX};
use crate::memtrace::locations::LocationCode;

/// The bucket after one whose successor is not known. It follows itself and holds no code.
const FORGOTTEN: u16 = BUCKETS as u16;
/// Buckets and their forgotten one, as a power of two: indices need no check then. The pages of the upper
/// half are never touched.
const PLACES: usize = 2 * BUCKETS;
/// Frames of a code word, at most.
const WORD_FRAMES_MAX: usize = 1 + u8::MAX as usize;
/// Initial capacity of a stack, frames.
const FRAMES_AT_FIRST: usize = 1024;
const MASK: u16 = (PLACES - 1) as u16;

/// A domain's cache and its last stack.
#[derive(Debug)]
pub(crate) struct StackReader {
    codes: Box<[LocationCode; PLACES]>,
    next: Box<[u16; PLACES]>,
    stack: Stack,
    scratch: Stack,
    /// Events were missed, so that buckets may be forgotten.
    missed: bool,
    /// Nor is the last stack known, or how deep it was.
    lost_stack: bool,
    /// Stacks that are not in the file.
    pub(crate) hidden: u64,
}

impl StackReader {
    pub(crate) fn new() -> Self {
        let codes = vec![LocationCode(0); PLACES].into_boxed_slice().try_into();
        let next = vec![0; PLACES].into_boxed_slice().try_into();
        let mut reader = StackReader {
            codes: codes.unwrap_or_else(|_| Box::new([LocationCode(0); PLACES])),
            next: next.unwrap_or_else(|_| Box::new([0; PLACES])),
            stack: Stack::default(),
            scratch: Stack::default(),
            missed: false,
            lost_stack: false,
            hidden: 0,
        };
        reader.next[usize::from(FORGOTTEN)] = FORGOTTEN;
        reader
    }

    /// Forgets everything: events were missed.
    pub(crate) fn forget(&mut self) {
        self.codes[..BUCKETS].fill(LocationCode::UNKNOWN);
        self.next[..BUCKETS].fill(FORGOTTEN);
        self.stack.cut(0);
        self.missed = true;
        self.lost_stack = true;
    }

    /// Compares the cache with the verifier of a packet's header, and fills a forgotten bucket from it.
    pub(crate) fn verify(&mut self, verifier: Verifier) -> Result<(), Fault> {
        let index = usize::from(verifier.index);
        if index >= BUCKETS {
            return Err(Fault::Verifier);
        }
        let (code, next) = (self.codes[index], self.next[index]);
        let lost_code = self.missed && code == LocationCode::UNKNOWN;
        let is_same = (next == verifier.next || next == FORGOTTEN)
            && (code.0 == verifier.code || lost_code)
            && usize::from(verifier.next) < BUCKETS;
        if !is_same {
            return Err(Fault::Verifier);
        }
        self.codes[index] = LocationCode(verifier.code);
        self.next[index] = verifier.next;
        Ok(())
    }

    /// Reads the code words of a stack that has this many outermost frames in common with the last one. The
    /// stack, and how many of its outermost frames are known to be those of the last one.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        at: &mut Cursor<'_>,
        common: i64,
        words: u32,
    ) -> Result<(&[LocationCode], usize), Fault> {
        let common = usize::try_from(common).unwrap_or(usize::MAX);
        let reused = common.min(self.stack.len);
        let StackReader { codes, next, stack, scratch, .. } = self;
        if self.missed {
            if self.lost_stack && common <= FRAMES_MAX {
                stack.resize(common);
            }
            let is_known = common <= stack.len;
            self.lost_stack &= !is_known;
            self.hidden += u64::from(!is_known);
            let into = if is_known { stack.cut(common) } else { scratch.cut(0) };
            append::<true>(codes, next, into, at, words)?;
        } else if common <= stack.len {
            append::<false>(codes, next, stack.cut(common), at, words)?;
        } else {
            // The last stack was too deep to be written whole: this one cannot be known either, but its
            // words change the cache.
            self.hidden += 1;
            append::<false>(codes, next, scratch.cut(0), at, words)?;
        }
        Ok((&self.stack.frames[..self.stack.len], reused))
    }
}

/// Frames in a buffer that has space for all frames of a code word.
#[derive(Debug, Default)]
struct Stack {
    frames: Vec<LocationCode>,
    len: usize,
}

impl Stack {
    fn cut(&mut self, len: usize) -> &mut Self {
        self.len = len;
        self
    }

    /// Makes it this deep with frames that are not known.
    fn resize(&mut self, len: usize) {
        self.frames.truncate(self.len);
        self.frames.resize(len, LocationCode::UNKNOWN);
        self.len = len;
    }

    /// Space for the frames of a code word, behind those that are there.
    #[inline(always)]
    fn reserve(&mut self) -> &mut [LocationCode; WORD_FRAMES_MAX] {
        if self.len + WORD_FRAMES_MAX > self.frames.len() {
            self.grow();
        }
        let (_, behind) = self.frames.split_at_mut(self.len);
        behind.first_chunk_mut().expect("it was made")
    }

    #[cold]
    fn grow(&mut self) {
        self.frames.resize(2 * self.len + FRAMES_AT_FIRST, LocationCode::UNKNOWN);
    }
}

/// With `MISSED` what follows a forgotten bucket stays forgotten.
#[inline(always)]
fn append<const MISSED: bool>(
    codes: &mut [LocationCode; PLACES],
    next: &mut [u16; PLACES],
    stack: &mut Stack,
    at: &mut Cursor<'_>,
    words: u32,
) -> Result<(), Fault> {
    let mut place: u16 = 0;
    for _ in 0..words {
        let word = at.u16()?;
        let bucket = word >> 2;
        next[usize::from(place & MASK)] = bucket;
        if MISSED {
            next[usize::from(FORGOTTEN)] = FORGOTTEN;
        }
        place = bucket;
        let tag = word & TAG;
        if tag == MISS {
            codes[usize::from(place & MASK)] = LocationCode(at.int()?);
        }
        let frames = stack.reserve();
        frames[0] = codes[usize::from(place & MASK)];
        if tag == MANY_PREDICTED {
            let predicted = usize::from(at.u8()?);
            for frame in &mut frames[1..=predicted] {
                place = next[usize::from(place & MASK)];
                *frame = codes[usize::from(place & MASK)];
            }
            stack.len += 1 + predicted;
        } else {
            // Whether one prediction holds is unpredictable: both results are computed, without a branch.
            let is_one = tag == ONE_PREDICTED;
            let following = next[usize::from(place & MASK)];
            frames[1] = codes[usize::from(following & MASK)];
            place = if is_one { following } else { place };
            stack.len += 1 + usize::from(is_one);
        }
    }
    if stack.len > FRAMES_MAX { Err(Fault::DeepStack) } else { Ok(()) }
}

/// Bytes behind a code word, by its tag.
const BYTES_BEHIND: [usize; 4] = [0, 0, 1, 8];

/// Passes over the code words of a stack.
#[inline(always)]
pub(crate) fn skip(at: &mut Cursor<'_>, words: u32) -> Result<(), Fault> {
    for _ in 0..words {
        let tag = at.u16()? & TAG;
        at.skip(BYTES_BEHIND[usize::from(tag)])?;
    }
    Ok(())
}
