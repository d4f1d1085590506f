//! Time on the session's clock, read without a system call where the kernel offers that.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering};

use heapscribe_wire::head::{ClockKind, MONOTONIC_SHIFT, TSC_SHIFT};

use crate::loader::Loader;
use crate::sys;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

type ClockGettime = unsafe extern "C" fn(i32, *mut Timespec) -> i32;

/// The kernel's own function in the vDSO; 0 until it is found. Not libc's, which may be interposed
/// (libfaketime): the times of a session are compared with the drainer's.
static VDSO: AtomicUsize = AtomicUsize::new(0);

/// Finds the kernel's function. Without it each reading is a system call.
pub(crate) fn find(loader: &Loader) {
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
pub(crate) fn monotonic_ns() -> u64 {
    read(1)
}

/// CLOCK_REALTIME, ns since 1970.
pub(crate) fn realtime_ns() -> u64 {
    read(0)
}

/// The raw counter behind the ticks, shifted.
#[inline(always)]
pub(crate) fn ticks(kind: ClockKind) -> u64 {
    match kind {
        // SAFETY: every x86_64 has the instruction; the plan asks for it only where the kernel itself
        // keeps time by it, so it is enabled and constant.
        ClockKind::Tsc => unsafe { core::arch::x86_64::_rdtsc() >> TSC_SHIFT },
        ClockKind::Monotonic => monotonic_ns() >> MONOTONIC_SHIFT,
    }
}

/// The raw counter itself, read when all before it is done.
#[inline(always)]
pub(crate) fn units(kind: ClockKind) -> u64 {
    match kind {
        // SAFETY: as in `ticks`; the fence is of SSE2, which every x86_64 has.
        ClockKind::Tsc => unsafe {
            core::arch::x86_64::_mm_lfence();
            core::arch::x86_64::_rdtsc()
        },
        ClockKind::Monotonic => monotonic_ns(),
    }
}

/// The shift of a clock's raw counter.
pub(crate) const fn shift(kind: ClockKind) -> u32 {
    match kind {
        ClockKind::Tsc => TSC_SHIFT,
        ClockKind::Monotonic => MONOTONIC_SHIFT,
    }
}
