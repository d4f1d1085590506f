//! What valgrind's tools write: massif, the heap at moments and who held it when it was largest, and DHAT, what each stack
//! allocated, held at the peak, and held at the end. Both name a frame in one line of text:
//!
//! ```text
//!   0x109162: keep_many (blocks.c:7)
//!   0x484682F: malloc (in /usr/libexec/valgrind/vgpreload_massif-amd64-linux.so)
//! ```
//!
//! *Lost in reading*: addresses of frames that have a name; of massif the trees of moments other than the largest;
//! of DHAT reads and writes, and the most that a stack held by itself.

mod dhat;
mod frame;
mod massif;

#[cfg(test)]
mod tests;

pub use dhat::{is_begin as is_dhat, read as read_dhat};
pub use massif::{is_begin as is_massif, read as read_massif};
