//! Addresses to names: function, file and line for every address of a trace, inlined calls included.
//!
//! *You bring* modules as they were recorded (path and build id) and addresses as they stand in the file,
//! return addresses already moved back into their call. *It guarantees* that a name comes from the very
//! file that ran: a file whose build id differs is not used, and that is reported. *It refuses* nothing else:
//! what cannot be named keeps its module and offset.
//!
//! ```
//! use heapscribe_symbols::{Module, Resolver};
//!
//! #[inline(never)]
//! fn answer() -> u64 {
//!     std::hint::black_box(42)
//! }
//!
//! // Addresses are those in the file: the executable's first mapping in memory is its byte 0.
//! let program = std::env::current_exe()?;
//! let maps = std::fs::read_to_string("/proc/self/maps")?;
//! let mapping = maps.lines().find(|line| line.ends_with(&*program.to_string_lossy())).unwrap();
//! let bias = u64::from_str_radix(mapping.split('-').next().unwrap(), 16)?;
//! let address = answer as fn() -> u64 as usize as u64 - bias;
//!
//! let module = Module::of_file(&program)?;
//! let names = Resolver::new("/usr/lib/debug").resolve(&[(module, vec![address])]).remove(0);
//! let frames = names.at(address); // the innermost first
//! assert!(frames[0].function.as_ref().unwrap().ends_with("answer"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod debug_file;
mod debuginfod;
mod demangle;
mod dlang;
mod elf;
mod folders;
mod linked_heaps;
mod lookup;
mod mini_debug_info;
mod names;
pub mod places;
mod progress;
mod resolver;
mod short;
mod shown;
mod split_dwarf;
mod stable_names;
mod stacks;
mod symbol_tables;
mod whole_tree;

#[cfg(test)]
mod tests;

pub use debuginfod::Debuginfod;
pub use folders::Folders;
pub use linked_heaps::LinkedHeap;
pub use names::{LookupFailure, Module, Names, SourceFrame};
pub use progress::Progress;
pub use resolver::{CachedResolver, Resolver};
pub use short::short;
pub use shown::{are_full_names_shown, show_full_names, shown};
pub use stable_names::stable as stable_name;
pub use stacks::{NamedFrame, NamedStacks, Unnamed, file_of_module, lossy};
pub use symbol_tables::SymbolTables;
pub use whole_tree::symbols_of;
