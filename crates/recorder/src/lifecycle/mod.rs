//! The life of a process and of its threads, as far as it is recorded: a session begins, a child is forked,
//! threads begin, code is loaded and unloaded, the process ends.

mod base;
mod begin;
mod describe;
mod files;
mod fork;
mod identity;
mod modules_change;
mod new_program;
mod program_file;
mod refusal;
mod sandbox;
mod scratch;
mod threads;
mod unrecorded;

pub use begin::program_starts;
pub(crate) use begin::{InheritedMemory, get_or_begin};
pub(crate) use fork::provide_pthread_atfork;
pub use modules_change::{begin_close, deregister_frames, end_close, register_frames};
pub use new_program::{NewProgram, ProgramFile, obstacle};
pub use sandbox::{Before, Sandbox, enter_sandbox, leave_sandbox};
pub(crate) use threads::attach;
pub use unrecorded::{UnrecordedNote, note_unrecorded, take_back_unrecorded};
