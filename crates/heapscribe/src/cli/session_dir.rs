//! Where sessions lie.

/// Where sessions lie when nothing else is asked for: in memory.
pub(crate) const SESSION_DIR: &str = "/dev/shm";
