//! From stacks to code words, the same ones that memtrace writes.
//!
//! In pseudo-code, frames outermost first, from bucket 0 on:
//!
//! ```text
//!   next frame in neither of its two buckets: miss: it takes the bucket that was hit longer ago
//!   in one of them:                           hit:  then count how many frames the predictions give
//!   a prediction that gives another frame:    go on as from the start, from the bucket reached
//! ```
//! Buckets that predictions pass through do not become younger.

use super::code_word::{MANY_PREDICTED, MISS, ONE_PREDICTED};
use crate::memtrace::fields::int;
use crate::memtrace::header::{Packet, Verifier};
use crate::memtrace::layout::{BUCKETS, CODE_BYTES_MAX, VARIABLE_BYTES_MAX};
use crate::memtrace::locations::LocationCode;

const MASK: usize = BUCKETS - 1;
/// Predictions that fit in a code word's byte.
const PREDICTIONS_MAX: u32 = 255;
/// The first bucket that a verifier names, and the step to the next one's.
const FIRST_VERIFIED: u16 = 4242;
const VERIFIED_STEP: u16 = 5413;

/// What a bucket holds, side by side, as it is used together.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    code: i64,
    /// The object whose stack used it last.
    date: i64,
}

/// The object whose stack is written, and the last place in the packet for a code word.
#[derive(Clone, Copy)]
struct Bounds {
    limit: usize,
    object: i64,
}

/// A domain's cache.
#[derive(Debug)]
pub(crate) struct StackWriter {
    buckets: Box<[Bucket; BUCKETS]>,
    next: Box<[u16; BUCKETS]>,
    verified: u16,
}

fn places(code: i64) -> (usize, usize) {
    let code = code as u64;
    let first = code.wrapping_mul(0x498_3723) >> 11;
    let second = code.wrapping_mul(0xFDE_A731) >> 21;
    (first as usize & MASK, second as usize & MASK)
}

impl StackWriter {
    pub(crate) fn new() -> Self {
        let buckets = vec![Bucket::default(); BUCKETS].into_boxed_slice().try_into();
        StackWriter {
            buckets: buckets.unwrap_or_else(|_| Box::new([Bucket::default(); BUCKETS])),
            next: Box::new([0; BUCKETS]),
            verified: FIRST_VERIFIED,
        }
    }

    /// The verifier of the cache for the next packet's header.
    pub(crate) fn verifier(&mut self) -> Verifier {
        let index = self.verified;
        self.verified = (index + VERIFIED_STEP) % BUCKETS as u16;
        let at = usize::from(index);
        Verifier { index, next: self.next[at], code: self.buckets[at].code }
    }

    /// Writes the frames of a stack that are not in common with the last one, as far as there is room;
    /// how many code words these are. Codes that the reader has not seen in this place are added to `new`.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        packet: &mut Packet,
        frames: &[LocationCode],
        object: i64,
        new: &mut Vec<LocationCode>,
    ) -> u32 {
        let limit = packet.pos() + VARIABLE_BYTES_MAX - CODE_BYTES_MAX;
        let (mut words, mut from) = (0, 0);
        let mut rest = frames.iter();
        while packet.pos() <= limit {
            let Some(frame) = rest.next() else { break };
            words += 1;
            let code = int(frame.0);
            let (first, second) = places(code);
            let hit = if self.buckets[first].code == code {
                first
            } else if self.buckets[second].code == code {
                second
            } else {
                new.push(*frame);
                let older = self.buckets[first].date < self.buckets[second].date;
                let bucket = if older { first } else { second };
                self.buckets[bucket] = Bucket { code, date: object };
                self.next[from] = bucket as u16;
                packet.put_u16((bucket as u16) << 2 | MISS);
                packet.put_i64(code);
                from = bucket;
                continue;
            };
            self.use_bucket(from, hit, object);
            from = self.predict(packet, hit, &mut rest, Bounds { limit, object }, &mut words);
        }
        words
    }

    fn use_bucket(&mut self, from: usize, bucket: usize, object: i64) {
        self.buckets[bucket].date = object;
        self.next[from] = bucket as u16;
    }

    /// Follows predictions from a bucket that was hit and writes how far they held; where they led.
    #[inline(always)]
    fn predict(
        &mut self,
        packet: &mut Packet,
        mut hit: usize,
        rest: &mut std::slice::Iter<'_, LocationCode>,
        bounds: Bounds,
        words: &mut u32,
    ) -> usize {
        let Bounds { limit, object } = bounds;
        let (mut reached, mut held) = (hit, 0);
        while let Some(frame) = rest.as_slice().first() {
            if packet.pos() + 2 > limit {
                // Nothing more has room: the caller stops as well.
                put_hit(packet, hit, held);
                *rest = [].iter();
                return reached;
            }
            let predicted = usize::from(self.next[reached]) & MASK;
            if self.buckets[predicted].code != int(frame.0) {
                break;
            }
            rest.next();
            if held < PREDICTIONS_MAX {
                held += 1;
            } else {
                put_hit(packet, hit, held);
                *words += 1;
                self.use_bucket(reached, predicted, object);
                (hit, held) = (predicted, 0);
            }
            reached = predicted;
        }
        put_hit(packet, hit, held);
        reached
    }
}

#[inline(always)]
fn put_hit(packet: &mut Packet, bucket: usize, held: u32) {
    let bucket = (bucket as u16) << 2;
    match held {
        0 => packet.put_u16(bucket),
        1 => packet.put_u16(bucket | ONE_PREDICTED),
        more => {
            packet.put_u16(bucket | MANY_PREDICTED);
            packet.put([more as u8]);
        }
    }
}
