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

fn read(clock: i32) -> u64 {
    let function = VDSO.load(Ordering::Relaxed);
    if function == 0 {
        return sys::clock_ns(clock);
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the vDSO's function of this name has this type; it writes one timespec.
    let failed = unsafe { core::mem::transmute::<usize, ClockGettime>(function)(clock, &raw mut time) } != 0;
    if failed { sys::clock_ns(clock) } else { time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64 }
}

/// CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    read(1)
}

/// CLOCK_REALTIME, ns since 1970.
pub fn realtime_ns() -> u64 {
    read(0)
}
