//! The version of what is agreed on.

/// Version of everything in this crate: the session files and, through them, the blocks of a trace that
/// carry their bytes. A reader refuses a version it does not know.
pub const ABI_VERSION: u32 = 9;
