//! The system calls: raw, each a function of its own.
//!
//! Raw, because the C library's wrappers set `errno` (the program's, which a hook must keep), may be
//! interposed by other preloaded libraries, and differ between glibc and musl. A failed call comes back
//! as [`Errno`]; nothing here allocates, locks or retries, except on `EINTR` where noted. Calls that a filter of the
//! program's would end it for are not made, see [`forbid`].

mod errno;
mod file;
mod forbidden;
mod futex;
mod memory;
mod own_memory;
mod path;
mod process;
mod readable;
mod rights;
mod syscall;

pub use errno::{Errno, Result};
pub use file::{File, Open, Room, Stat, rename_new, room, standard_error, write_stderr};
pub use forbidden::{CallSet, forbid, permit};
pub use futex::{Slept, futex_wait, futex_wake};
pub use memory::{
    Advice, ProgramCall, advise, for_program, map_again, map_private, map_private_over, protect_none,
    protect_read, protect_read_write, unmap,
};
pub use own_memory::{PAGES_MAX, is_writable, read_own, read_own_pages};
pub use path::{has_attribute, is_read_only, stat_path, symlink, unlink};
pub use process::{
    AlternateStack, SignalsBlocked, abort, address_space_limit, alternate_stack, barrier, clock_ns,
    clock_step_ns, exec_frees_descriptors, exit, file_size_limit, is_readable, parent_pid, pid,
    pid_namespace, process_exists, readlink, register_for_barriers, shares_memory_with_parent, sleep_ns,
    thread_exists, thread_name, tid, working_directory,
};
pub use readable::are_readable;
pub use rights::{euid, gains_no_rights, gid, has_other_rights, uid};
