//! What a call needs besides being forwarded and recorded: nothing, for nearly all programs, and a hook finds
//! that out with one look at one byte.
//!
//! ```text
//!   bit 0  nests       the heap calls its own functions through the hooks
//!   bit 1  timed       how long the heap takes is recorded, by the time stamp counter
//!   bit 2  timed       the same, by the monotonic clock
//!   bit 3  ruled       the first call that breaks a rule of real time stops the process
//!   bit 4  unsettled   there is no session yet that decides
//! ```
//! Kept over a fork: a child has its parent's plan.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use heapscribe_wire::head::ClockKind;

use crate::platform::clock;

const NESTS: u8 = 1;
const BY_TSC: u8 = 1 << 1;
const BY_MONOTONIC: u8 = 1 << 2;
const RULED: u8 = 1 << 3;
const UNSETTLED: u8 = 1 << 4;

static HOOK_FLAGS: AtomicU8 = AtomicU8::new(UNSETTLED);

/// Whether the program's own mappings are recorded: apart, since hooks of the heap need not know.
static TRACKS_MAPPINGS: AtomicBool = AtomicBool::new(false);

#[inline(always)]
fn flags() -> u8 {
    HOOK_FLAGS.load(Ordering::Relaxed)
}

/// Whether calls need nothing more.
#[inline(always)]
pub fn are_clear() -> bool {
    flags() == 0
}

/// Whether calls that break a rule are looked for.
#[inline(always)]
pub(crate) fn are_ruled() -> bool {
    flags() & RULED != 0
}

/// Whether there is no session yet that decides what is wanted.
#[inline(always)]
pub fn are_unsettled() -> bool {
    flags() & UNSETTLED != 0
}

/// The heap calls its own functions through the hooks.
pub(crate) fn set_nesting() {
    HOOK_FLAGS.fetch_or(NESTS, Ordering::Relaxed);
}

/// It is known what is wanted: the clock that calls are timed by, if they are, and whether there are rules.
pub(crate) fn settle(timed_by: Option<ClockKind>, is_ruled: bool) {
    let timed = match timed_by {
        Some(ClockKind::Tsc) => BY_TSC,
        Some(ClockKind::Monotonic) => BY_MONOTONIC,
        None => 0,
    };
    let wanted = timed | if is_ruled { RULED } else { 0 };
    HOOK_FLAGS.store(flags() & NESTS | wanted, Ordering::Relaxed);
}

/// Whether the program's own mappings are recorded, by the plan of its session.
pub fn are_mappings_tracked() -> bool {
    TRACKS_MAPPINGS.load(Ordering::Relaxed)
}

/// It is known whether they are, before [`settle`] says that all is.
pub(crate) fn settle_mappings(tracks: bool) {
    TRACKS_MAPPINGS.store(tracks, Ordering::Relaxed);
}

/// The time in units of the session's clock, if calls are timed; else 0.
pub(crate) fn now() -> u64 {
    match flags() & (BY_TSC | BY_MONOTONIC) {
        0 => 0,
        BY_TSC => clock::units(ClockKind::Tsc),
        _ => clock::units(ClockKind::Monotonic),
    }
}

/// The call, and how long it took in units of the session's clock, if that is wanted. Nothing else lies
/// between the readings.
#[inline(always)]
pub fn timed<T>(call: impl FnOnce() -> T) -> (T, Option<u64>) {
    let kind = match flags() & (BY_TSC | BY_MONOTONIC) {
        0 => return (call(), None),
        BY_TSC => ClockKind::Tsc,
        _ => ClockKind::Monotonic,
    };
    let begin = clock::units(kind);
    let result = call();
    let end = clock::units(kind);
    (result, Some(end.saturating_sub(begin)))
}
