//! The tags of events: their kinds, and the flag.

use crate::call::Call;

pub(super) const ALLOC: u8 = 1;
pub(super) const FREE: u8 = 2;
pub(super) const REALLOC: u8 = 3;
pub(super) const FAILED: u8 = 4;
pub(super) const NOTE: u8 = 5;
pub(super) const UNKNOWN: u8 = 6;
pub(super) const RATE: u8 = 7;
pub(super) const OTHER_THREAD: u8 = 0x80;

pub(super) const fn tag(kind: u8, call: Call) -> u8 {
    kind | (call as u8) << 3
}
