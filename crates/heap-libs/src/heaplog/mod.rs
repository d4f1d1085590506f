//! A log of every call of the program's own heap, in the forms of heaphook's: what `libpreloaded_heaptrack.so` is.
//!
//! | file | |
//! |---|---|
//! | `calls` | what stands in the heap's place: forwards each call and logs it |
//! | `line` | what lines look like |
//! | `log` | where the next line goes |
//! | `windows` | the parts of the file that are mapped |
//! | `file` | the file: names, windows, length |
//! | `nested` | calls that a heap makes of its own functions |
//! | `leaving` | the end of the process |
//!
//! *It guarantees* that the program goes on whatever becomes of the log, with the same errno and without a descriptor
//! of ours; that a line of a block that goes stands before any line of a block that comes to its address; that a
//! program that is killed leaves all lines that were written. *It refuses* to wait: what can not be written is
//! counted.

#[cfg(feature = "heaplog")]
mod calls;
mod file;
#[cfg(feature = "heaplog")]
mod leaving;
mod line;
mod log;
#[cfg(feature = "heaplog")]
mod nested;
mod windows;

#[cfg(feature = "heaplog")]
mod exports {
    #![allow(unsafe_code)]

    use heapscribe_interpose::{Line, Start, export};
    use heapscribe_nolibc::sys::Errno;

    use super::{calls, log, nested};
    use crate::nothing::Nothing;

    export! {
        static HEAP: Nothing = Nothing;
        start = |_| start();
    }

    fn start() -> Start {
        HEAP.describe(Line::blank().text(b"heaplog"), Line::blank());
        let (Some(before), Some(loader)) = (HEAP.before(), HEAP.loader()) else { return Start::Pass };
        nested::find(loader, before);
        calls::set_heap(*before);
        match log::prepare() {
            Ok(()) => Start::Around(&calls::LOGGED),
            Err(Errno(number)) => {
                let line = Line::new().text(b"there is no log (error ").number(number.unsigned_abs().into());
                line.text(b")").say();
                Start::Pass
            }
        }
    }
}
