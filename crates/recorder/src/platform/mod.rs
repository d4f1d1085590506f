//! What every part stands on: memory of our own, shared files, one lock, time. Nothing here knows what is
//! recorded.

pub(crate) mod c_path;
pub(crate) mod clock;
pub(crate) mod entry_table;
pub(crate) mod inherited_head;
pub(crate) mod lock;
pub(crate) mod map_count;
pub(crate) mod mapped_file;
pub(crate) mod memory;
pub(crate) mod refusals;
pub(crate) mod room;
pub(crate) mod session_clock;
pub(crate) mod session_path;
pub(crate) mod sole_process;
pub(crate) mod thread_pointer;
