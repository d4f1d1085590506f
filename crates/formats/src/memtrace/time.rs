//! The time of an event: its low bits, completed from the packet's begin.

use super::error::Fault;
use super::header::Header;
use super::layout::{TIME_BITS, TIME_MASK};

/// When an event with this first word was, us since 1970.
#[inline(always)]
pub(crate) fn of_event(header: &Header, word: u32) -> Result<i64, Fault> {
    let begin = header.time_begin_us;
    let low = i64::from(word & TIME_MASK);
    let begin_low = begin & i64::from(TIME_MASK);
    let turn = if low < begin_low { 1 << TIME_BITS } else { 0 };
    let time_us = (begin - begin_low).wrapping_add(low + turn);
    if begin <= time_us && time_us <= header.time_end_us {
        Ok(time_us)
    } else {
        Err(Fault::TimeOutsidePacket)
    }
}
