//! heaphook's logs: a line of text for each call of the heap, in both forms that heaphook has had.
//!
//! ```text
//!   spaces (0.1, heaplog.PID.log)        a null pointer is 0, any other 0x and hexadecimal digits
//!     FUNCTION POINTER SIZE NEW          NEW is 0 but for realloc
//!     malloc free calloc realloc posix_memalign memalign aligned_alloc valloc pvalloc malloc_usable_size
//!   commas (later, heaplog_PID.log)      a pointer is 0x and 16 hexadecimal digits
//!     alloc, SIZE, ALIGN, POINTER, NS    ALIGN is 1 when none was asked for
//!     alloc_zeroed, SIZE, POINTER, NS
//!     realloc, OLD, SIZE, NEW, NS
//!     dealloc, POINTER, NS
//!     get_block_size, POINTER, SIZE, NS
//! ```
//! NS is how long the call took. Each line is taken for what it is, whatever the lines before it were.
//!
//! *You bring* a [`crate::Source`], or a `Vec` that takes lines. *It guarantees* that what it wrote is read
//! as the same lines; that a line which is none is counted under its reason with the place of the first;
//! that it takes memory for a piece of the file and never for a line of any length. *It refuses* the last
//! line of a file when no newline ends it: a number may go on there.
//!
//! *Lost by heaphook's libraries*, so that nobody can read it from a log:
//! - when a call was, on which thread, and from where: the order of the lines is all there is;
//! - the true order where threads meet: a line is written after its call, so that another thread's
//!   allocation of the address that was freed can stand before the line of the free;
//! - that a forked child continues to write into its parent's log;
//! - in the form with spaces, alignments, and whether posix_memalign failed;
//! - in the form with commas, which of the aligned functions it was, `free(NULL)`, and that a size of 0
//!   was asked for.
//!
//! *Lost on the way into this format*: all but blocks, their sizes and their order; see
//! [`Line`] for which fields each form has no room for.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use heapscribe_formats::heaplog::{Operation, Reader, Style};
//!
//! let mut reader = Reader::new(&b"malloc 0x55d0 24 0\nrubbish\nfree 0x55d0 0 0\n"[..]);
//! let mut operations = Vec::new();
//! reader.for_each(|moment, line| {
//!     assert_eq!(moment.style, Style::Spaces);
//!     operations.push(line.operation);
//!     ControlFlow::<()>::Continue(())
//! })?;
//! assert_eq!(operations[1], Operation::Free { address: 0x55d0 });
//! assert_eq!(reader.skipped().count(), 1);
//! # Ok::<(), heapscribe_formats::heaplog::LogError>(())
//! ```

mod limits;
mod line;
mod parse;
mod read;
mod write;

pub use limits::LINE_BYTES_MAX;
pub use line::{Line, Operation, Style};
pub use parse::{Bad, is_begin, parse};
pub use read::{LogError, Moment, Reader, Skipped};

#[cfg(test)]
mod tests;
