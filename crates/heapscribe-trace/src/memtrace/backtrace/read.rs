//! From code words to stacks.
//!
//! A reader that missed events cannot know what the cache holds, but it can know what it does not know:
//! buckets are forgotten, and become known again when the file says what is in them. A frame from a
//! forgotten bucket is [`LocationCode::UNKNOWN`], never a wrong one.

use super::{MANY_PREDICTED, MISS, TAG};
use crate::memtrace::error::Fault;
use crate::memtrace::event::LocationCode;
use crate::memtrace::fields::Cursor;
use crate::memtrace::header::Verifier;
use crate::memtrace::layout::{BUCKETS, FRAMES_MAX};

/// The bucket after one whose successor is not known. It follows itself and holds no code.
const FORGOTTEN: u16 = BUCKETS as u16;
/// Buckets and their forgotten one, as a power of two: indices need no check then. The pages of the upper
/// half are never touched.
const PLACES: usize = 2 * BUCKETS;
const MASK: u16 = (PLACES - 1) as u16;

/// A domain's cache and its last stack.
#[derive(Debug)]
pub(crate) struct StackReader {
    codes: Box<[LocationCode; PLACES]>,
    next: Box<[u16; PLACES]>,
    stack: Vec<LocationCode>,
    scratch: Vec<LocationCode>,
    /// Events were missed, so that buckets may be forgotten.
    missed: bool,
    /// Nor is the last stack known, or how deep it was.
    lost_stack: bool,
    /// Stacks that the file does not tell.
    pub(crate) hidden: u64,
}

impl StackReader {
    pub(crate) fn new() -> Self {
        let codes = vec![LocationCode(0); PLACES].into_boxed_slice().try_into();
        let next = vec![0; PLACES].into_boxed_slice().try_into();
        let mut reader = StackReader {
            codes: codes.unwrap_or_else(|_| Box::new([LocationCode(0); PLACES])),
            next: next.unwrap_or_else(|_| Box::new([0; PLACES])),
            stack: Vec::new(),
            scratch: Vec::new(),
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
        self.stack.clear();
        self.missed = true;
        self.lost_stack = true;
    }

    /// Compares the cache with what a packet's header says of it, and learns from that what was forgotten.
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

    /// Reads the code words of a stack that has this many outermost frames in common with the last one.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        at: &mut Cursor<'_>,
        common: i64,
        words: u32,
    ) -> Result<&[LocationCode], Fault> {
        let common = usize::try_from(common).unwrap_or(usize::MAX);
        if common <= self.stack.len() {
            self.stack.truncate(common);
            self.lost_stack = false;
            append(&mut self.codes, &mut self.next, &mut self.stack, at, words)?;
        } else if self.lost_stack && common <= FRAMES_MAX {
            self.lost_stack = false;
            self.stack.resize(common, LocationCode::UNKNOWN);
            append(&mut self.codes, &mut self.next, &mut self.stack, at, words)?;
        } else {
            // The last stack was too deep to be written whole: this one cannot be known either, but its
            // words change the cache.
            self.hidden += 1;
            self.scratch.clear();
            append(&mut self.codes, &mut self.next, &mut self.scratch, at, words)?;
        }
        Ok(&self.stack)
    }
}

#[inline(always)]
fn append(
    codes: &mut [LocationCode; PLACES],
    next: &mut [u16; PLACES],
    stack: &mut Vec<LocationCode>,
    at: &mut Cursor<'_>,
    words: u32,
) -> Result<(), Fault> {
    let mut place: u16 = 0;
    for _ in 0..words {
        let word = at.u16()?;
        let bucket = word >> 2;
        next[usize::from(place & MASK)] = bucket;
        next[usize::from(FORGOTTEN)] = FORGOTTEN;
        place = bucket;
        if word & TAG == MISS {
            codes[usize::from(place & MASK)] = LocationCode(at.int()?);
            stack.push(codes[usize::from(place & MASK)]);
            continue;
        }
        let predicted = if word & TAG == MANY_PREDICTED { u16::from(at.u8()?) } else { word & TAG };
        stack.push(codes[usize::from(place & MASK)]);
        for _ in 0..predicted {
            place = next[usize::from(place & MASK)];
            stack.push(codes[usize::from(place & MASK)]);
        }
    }
    if stack.len() > FRAMES_MAX { Err(Fault::DeepStack) } else { Ok(()) }
}

/// Passes over the code words of a stack.
#[inline(always)]
pub(crate) fn skip(at: &mut Cursor<'_>, words: u32) -> Result<(), Fault> {
    for _ in 0..words {
        match at.u16()? & TAG {
            MISS => at.skip(8)?,
            MANY_PREDICTED => at.skip(1)?,
            _ => {}
        }
    }
    Ok(())
}
