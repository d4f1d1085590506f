//! heaptrack's data files, as its programs read them: a line of text for each thing, named by its first letter; all
//! numbers but version strings are hexadecimal, and what is numbered is numbered by its lines.
//!
//! ```text
//!   v 10400 3                heaptrack's version and the format's; from 3 on a text has its length before it
//!   X COMMAND                the rest of the line, in all versions
//!   x PROGRAM                its file, in raw files only, as all of the next
//!   m PATH START [OFFSET LENGTH]...   a module; `m -` begins anew, `m x` is the program
//!   t ADDRESS CALLER         + SIZE STACK POINTER         - POINTER
//!   I PAGE_BYTES PAGES       of the machine
//!   s LENGTH TEXT            texts, from 1; 0 is none
//!   i IP MODULE [FUNCTION FILE LINE]...   instructions, from 1, with the functions inlined there, innermost first
//!   t INSTRUCTION PARENT     stacks, from 1: the instruction and the stack of its caller, 0 for none
//!   a SIZE STACK             kinds of blocks, from 0
//!   + KIND     - KIND        a block was allocated, or freed
//!   c MS       R PAGES       the time since the start, the resident set
//! ```
//!
//! Raw files are those that heaptrack records with `--raw`; `heaptrack_interpret` looks names up and makes the others.
//!
//! *You bring* a reader of bytes, decompressed. *It guarantees* that lines which make no sense are counted with the number
//! of the first; that it takes memory for a line of a MiB at most. *It refuses* nothing else.
//!
//! *Lost in this format*: threads; which of several blocks of a kind was freed, and so how long it lived; times between
//! milliseconds; calls that failed.

mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::{Reader, Record, is_begin};
pub use write::{Instruction, Writer};
