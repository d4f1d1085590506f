//! What a call needs besides being handed on and told of: nothing, for nearly all programs, and a hook finds
//! that out with one look at one byte.
//!
//! ```text
//!   bit 0  nests       the heap calls its own functions through the hooks
//!   bit 1  timed       how long the heap takes is told, by the time stamp counter
//!   bit 2  timed       the same, by the monotonic clock
//!   bit 3  ruled       the first call that breaks a rule of real time stops the process
//!   bit 4  unsettled   there is no session yet that could say
//! ```
//! Kept over a fork: a child has its parent's plan.

use core::sync::atomic::{AtomicU8, Ordering};

use heapscribe_wire::head::ClockKind;

use crate::capture::Registers;
use crate::clock;
use crate::enter::enter;

const NESTS: u8 = 1;
const BY_TSC: u8 = 1 << 1;
const BY_MONOTONIC: u8 = 1 << 2;
const RULED: u8 = 1 << 3;
const UNSETTLED: u8 = 1 << 4;

static WAYS: AtomicU8 = AtomicU8::new(UNSETTLED);

fn ways() -> u8 {
    WAYS.load(Ordering::Relaxed)
}

/// Whether calls need nothing more.
#[inline(always)]
pub fn are_plain() -> bool {
    ways() == 0
}

/// Whether calls that break a rule are looked for.
pub(crate) fn are_ruled() -> bool {
    ways() & RULED != 0
}

/// The heap calls its own functions through the hooks.
pub(crate) fn set_nesting() {
    WAYS.fetch_or(NESTS, Ordering::Relaxed);
}

/// It is known what is wanted: the clock that calls are timed by, if they are, and whether there are rules.
pub(crate) fn settle(timed_by: Option<ClockKind>, is_ruled: bool) {
    let timed = match timed_by {
        Some(ClockKind::Tsc) => BY_TSC,
        Some(ClockKind::Monotonic) => BY_MONOTONIC,
        None => 0,
    };
    let wanted = timed | if is_ruled { RULED } else { 0 };
    let kept = ways() & NESTS;
    WAYS.store(kept | wanted, Ordering::Relaxed);
}

/// Before the first call is handed on: makes the session that says what is wanted, so that this call, which
/// makes the heap and is often the longest, is timed like the others.
#[inline(always)]
pub fn find_out(registers: &Registers) {
    if ways() & UNSETTLED != 0 {
        make_session(registers);
    }
}

#[cold]
fn make_session(registers: &Registers) {
    drop(enter(registers));
}

/// The call, and how long it took in units of the session's clock, if that is wanted. Nothing else lies
/// between the readings.
#[inline(always)]
pub fn timed<T>(call: impl FnOnce() -> T) -> (T, Option<u64>) {
    let kind = match ways() & (BY_TSC | BY_MONOTONIC) {
        0 => return (call(), None),
        BY_TSC => ClockKind::Tsc,
        _ => ClockKind::Monotonic,
    };
    let begin = clock::units(kind);
    let result = call();
    let end = clock::units(kind);
    (result, Some(end.saturating_sub(begin)))
}
