//! The bytes of nearly all events, allocations and frees of short numbers, written as a word or two.
//!
//! ```text
//!   alloc   dt 1  size 1  stack 2            or  dt 2  size 2  stack 2
//!   free    dt 1  age 2  size 1  stack 2     or  dt 2  age 2  size 2  stack 2
//!           dt 1  age 4  size 1  stack 2     or  dt 2  age 4  size 2  stack 2      bytes of each number
//!   of a program with many stacks, from 16,384 on:
//!   alloc   dt 2  size 2  stack 3            free   dt 2  age 4  size 2  stack 3
//! ```
//! These are the varints of all events, but some have a byte more than they need, which is 0 but for the mark of the one
//! before: to find the least number of bytes of each took as many instructions as to find the stack.

use super::tag::{ALLOC, FREE, tag};
use crate::call::Call;
use crate::ids::StackId;
use crate::limits::EVENT_BYTES_MAX;

/// Numbers below these take a byte, at most two, at most three, at most four.
const ONE_END: u64 = 1 << 7;
const TWO_END: u64 = 1 << 14;
const THREE_END: u64 = 1 << 21;
const FOUR_END: u64 = 1 << 28;

/// Makes each number below [`TWO_END`] that begins at a bit of `AT` two bytes.
#[inline(always)]
const fn two_bytes<const AT: u64>(numbers: u64) -> u64 {
    // The bits above the lowest seven move up by one.
    (numbers + (numbers & (AT * (TWO_END - ONE_END)))) | (AT * ONE_END)
}

/// Makes a number below [`THREE_END`] three bytes.
#[inline(always)]
const fn three_bytes(number: u64) -> u64 {
    two_bytes::<1>(number & (TWO_END - 1)) | ONE_END << 8 | number >> 14 << 16
}

/// Makes a number below [`FOUR_END`] four bytes.
#[inline(always)]
const fn four_bytes(number: u64) -> u64 {
    let halves = number & (TWO_END - 1) | (number >> 14) << 16;
    two_bytes::<0x0001_0001>(halves) | ONE_END << 8
}

/// `wide` if a number of `all` takes more than a byte, else `narrow`: without a branch, as nobody could foretell it.
#[inline(always)]
const fn wide_or_narrow(all: u64, wide: u64, narrow: u64) -> u64 {
    let is_wide = ((all >= ONE_END) as u64).wrapping_neg();
    narrow ^ (narrow ^ wide) & is_wide
}

/// Writes an allocation by a function that takes no alignment; how many bytes it took. `None` when a number is not short.
#[inline(always)]
pub fn put_alloc(
    at: &mut [u8; EVENT_BYTES_MAX],
    call: Call,
    dt: u64,
    size_bytes: u64,
    stack: StackId,
) -> Option<usize> {
    let (stack, all) = (u64::from(stack.0), dt | size_bytes);
    if all | stack >= TWO_END || call.is_aligned() {
        return None;
    }
    let stack = two_bytes::<1>(stack);
    let narrow = dt | size_bytes << 8 | stack << 16;
    let wide = two_bytes::<0x0001_0001>(dt | size_bytes << 16) | stack << 32;
    let word = wide_or_narrow(all, wide, narrow) << 8 | tag(ALLOC, call) as u64;
    *at.first_chunk_mut()? = word.to_le_bytes();
    Some(wide_or_narrow(all, 7, 5) as usize)
}

/// Writes a free of a block of the same thread; how many bytes it took. `None` when a number is not short.
#[inline(always)]
pub fn put_free(
    at: &mut [u8; EVENT_BYTES_MAX],
    call: Call,
    dt: u64,
    age_ticks: u64,
    size_bytes: u64,
    stack: StackId,
) -> Option<usize> {
    let (stack, all) = (u64::from(stack.0), dt | size_bytes);
    if all | stack >= TWO_END {
        return None;
    }
    let (first, rest) = at.split_first_mut()?;
    *first = tag(FREE, call);
    if age_ticks < TWO_END {
        let narrow = dt | two_bytes::<0x0100_0001>(age_ticks | stack << 24) << 8 | size_bytes << 24;
        let numbers = dt | age_ticks << 16 | size_bytes << 32 | stack << 48;
        let wide = two_bytes::<0x0001_0001_0001_0001>(numbers);
        *rest.first_chunk_mut()? = wide_or_narrow(all, wide, narrow).to_le_bytes();
        return Some(wide_or_narrow(all, 9, 7) as usize);
    }
    if age_ticks >= FOUR_END {
        return None;
    }
    let (age, stack) = (four_bytes(age_ticks), two_bytes::<1>(stack));
    if all < ONE_END {
        *rest.first_chunk_mut()? = (dt | age << 8 | size_bytes << 40 | stack << 48).to_le_bytes();
        return Some(9);
    }
    let numbers = two_bytes::<0x0001_0000_0000_0001>(dt | size_bytes << 48);
    *rest.first_chunk_mut()? = (numbers | age << 16).to_le_bytes();
    *rest.get_mut(8..)?.first_chunk_mut()? = (stack as u16).to_le_bytes();
    Some(11)
}

/// As [`put_alloc`], of a stack that [`put_alloc`] has no room for.
#[inline]
pub fn put_alloc_of_many(
    at: &mut [u8; EVENT_BYTES_MAX],
    call: Call,
    dt: u64,
    size_bytes: u64,
    stack: StackId,
) -> Option<usize> {
    let stack = u64::from(stack.0);
    if dt | size_bytes >= TWO_END || stack >= THREE_END || call.is_aligned() {
        return None;
    }
    let numbers = two_bytes::<0x0001_0001>(dt | size_bytes << 16) | three_bytes(stack) << 32;
    *at.first_chunk_mut()? = (numbers << 8 | tag(ALLOC, call) as u64).to_le_bytes();
    Some(8)
}

/// As [`put_free`], of a stack that [`put_free`] has no room for.
#[inline]
pub fn put_free_of_many(
    at: &mut [u8; EVENT_BYTES_MAX],
    call: Call,
    dt: u64,
    age_ticks: u64,
    size_bytes: u64,
    stack: StackId,
) -> Option<usize> {
    let stack = u64::from(stack.0);
    if dt | size_bytes >= TWO_END || stack >= THREE_END || age_ticks >= FOUR_END {
        return None;
    }
    let (first, rest) = at.split_first_mut()?;
    *first = tag(FREE, call);
    let numbers = two_bytes::<0x0001_0000_0000_0001>(dt | size_bytes << 48) | four_bytes(age_ticks) << 16;
    *rest.first_chunk_mut()? = numbers.to_le_bytes();
    *rest.get_mut(8..)?.first_chunk_mut()? = (three_bytes(stack) as u32).to_le_bytes();
    Some(12)
}
