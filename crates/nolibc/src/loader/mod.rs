//! What is loaded in this process, read from the loader's own data: no `dlsym`, no `dl_iterate_phdr`,
//! because both take locks (and may allocate) that the thread inside `malloc` may already hold.
//!
//! Two doors lead in: the `r_debug` list that the loader keeps for debuggers, walked when the recorder
//! starts, and `_dl_find_object` (glibc 2.35), which is lock-free and answers while the program runs.
//! Where the second is missing (musl, older glibc) a table is made of the list, and made anew when the list changed.

mod ahead;
mod auxv;
mod calls;
mod details;
mod elf;
mod find_object;
mod link_map;
mod list;
mod lookup;
mod maker;
mod module_table;
mod module_text;
mod rebind;
mod relocations;
mod static_exe;
mod symbol;

pub use ahead::Ahead;
pub use calls::Calls;
pub use details::{BuildId, ModuleDetails};
pub use list::{Module, Modules};
pub use lookup::Loader;
pub use maker::Maker;
pub use module_text::{ModuleText, Segment};
pub use rebind::Function;
