//! heaptrack's data files, as its programs read them: a line of text for each thing, named by its first letter; all
//! numbers but version strings are hexadecimal, and what is numbered is numbered by its lines.
//!
//! ```text
//!   v 10400 3                heaptrack's version and the format's; from 3 on a text has its length before it
//!   X COMMAND                the rest of the line, in all versions
//!   I PAGE_BYTES PAGES       of the machine
//!   s LENGTH TEXT            texts, from 1; 0 is none
//!   i IP MODULE [FUNCTION FILE LINE]...   instructions, from 1, with the functions inlined there, innermost first
//!   t INSTRUCTION PARENT     stacks, from 1: the instruction and the stack of its caller, 0 for none
//!   a SIZE STACK             kinds of blocks, from 0
//!   + KIND     - KIND        a block was allocated, or freed
//!   c MS       R PAGES       the time since the start, the resident set
//! ```
//!
//! *Lost in this format*: threads; which of several blocks of a kind was freed, and so how long it lived; times between
//! milliseconds; calls that failed.

mod write;

pub use write::{Instruction, Writer};
