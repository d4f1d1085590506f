//! Which process this is, in memory that a forked child inherits: there it names the parent.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use heapscribe_nolibc::sys;

/// The process that made the last session.
static PID: AtomicU32 = AtomicU32::new(0);
/// When that session was made; 0 when there is none.
static CREATED_MONO_NS: AtomicU64 = AtomicU64::new(0);

/// Whether this process was forked from one that has recorded.
pub(super) fn is_forked_child() -> bool {
    let pid = PID.load(Ordering::Relaxed);
    pid != 0 && (CREATED_MONO_NS.load(Ordering::Relaxed) != 0 || pid != sys::pid())
}

/// When the session of the process that forked this one was made.
pub(super) fn parent_created_mono_ns() -> u64 {
    CREATED_MONO_NS.load(Ordering::Relaxed)
}

/// This process has made its session.
pub(super) fn set(pid: u32, created_mono_ns: u64) {
    PID.store(pid, Ordering::Relaxed);
    CREATED_MONO_NS.store(created_mono_ns, Ordering::Relaxed);
}
