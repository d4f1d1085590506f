//! `symbols`: how long names of addresses take, beside binutils and LLVM.
//!
//! ```text
//!   compare  the tools in turn, and the table    work    heapscribe's symbolizer as a process of its own
//!   draw     addresses of a file's functions     answer  what a tool has printed
//! ```

pub(crate) mod answer;
pub(crate) mod compare;
pub(crate) mod draw;
pub(crate) mod work;
