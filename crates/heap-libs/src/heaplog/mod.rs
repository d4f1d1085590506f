//! A log of every call of the program's own heap, in the forms of heaphook's: what `libpreloaded_heaptrack.so` is.
//!
//! | file | |
//! |---|---|
//! | `library` | the exported functions and the start |
//! | `calls` | the functions in the heap's place: each forwards its call and logs it |
//! | `line` | the text of lines |
//! | `log` | where the next line is written |
//! | `windows` | the parts of the file that are mapped |
//! | `file` | the file: names, windows, length |
//! | `nested_calls` | calls that a heap makes of its own functions |
//! | `process_exit` | the end of the process |
//!
//! *It guarantees* that the program goes on whatever happens to the log, with the same errno and without a descriptor
//! of ours; that the line of a free stands before any line of a later block at its address; that a
//! program that is killed leaves all lines that were written. *It refuses* to wait: what can not be written is
//! counted.

#[cfg(feature = "heaplog")]
mod calls;
mod file;
#[cfg(feature = "heaplog")]
mod library;
mod line;
mod log;
#[cfg(feature = "heaplog")]
mod nested_calls;
#[cfg(feature = "heaplog")]
mod process_exit;
mod windows;
