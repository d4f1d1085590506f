//! The kernel's clocks, read without a system call where the kernel offers that. Not by libc's function, which may
//! be interposed (libfaketime): what is read here is compared with what other processes read.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::loader::Loader;
use crate::sys;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

type ClockGettime = unsafe extern "C" fn(i32, *mut Timespec) -> i32;

/// The kernel's own function in the vDSO; 0 until it is found.
static VDSO: AtomicUsize = AtomicUsize::new(0);

/// Finds the kernel's function. Without it each reading is a system call.
pub fn find(loader: &Loader) {
    let is_vdso = |name: &[u8]| name.windows(4).any(|part| part == b"vdso");
    let vdso = loader.modules().find(|module| is_vdso(module.name()));
    if let Some(function) = vdso.and_then(|module| module.find_symbol(b"__vdso_clock_gettime")) {
        VDSO.store(function as usize, Ordering::Relaxed);
    }
}

/// A clock by the kernel's function; `None` where it has none, or that does not know the clock.
fn read_quickly(clock: i32) -> Option<u64> {
    let function = VDSO.load(Ordering::Relaxed);
    if function == 0 {
        return None;
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the vDSO's function of this name has this type; it writes one timespec.
    let failed = unsafe { core::mem::transmute::<usize, ClockGettime>(function)(clock, &raw mut time) } != 0;
    (!failed).then_some(time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64)
}

fn read(clock: i32) -> u64 {
    read_quickly(clock).unwrap_or_else(|| sys::clock_ns(clock))
}

/// The number of CLOCK_MONOTONIC_COARSE.
const COARSE: i32 = 6;

/// CLOCK_MONOTONIC_COARSE, ns: what CLOCK_MONOTONIC was when the kernel last counted a step of time. `None` where
/// reading it would be a system call.
pub fn coarse_ns() -> Option<u64> {
    read_quickly(COARSE)
}

/// The kernel's step of time, ns: 1 to 10 ms.
pub fn coarse_step_ns() -> u64 {
    sys::clock_step_ns(COARSE)
}

/// CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    read(1)
}

/// CLOCK_REALTIME, ns since 1970.
pub fn realtime_ns() -> u64 {
    read(0)
}
