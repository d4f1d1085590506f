//! The library: the exported functions, and how the log is started.
#![allow(unsafe_code)]

use heapscribe_interpose::{Line, Start, export};
use heapscribe_nolibc::sys::Errno;

use super::{calls, log, nested_calls};
use crate::null_heap::NullHeap;

export! {
    static HEAP: NullHeap = NullHeap;
    start = |_| start();
}

fn start() -> Start {
    HEAP.describe(Line::blank().text(b"heaplog"), Line::blank());
    let (Some(previous), Some(loader)) = (HEAP.previous(), HEAP.loader()) else { return Start::Pass };
    nested_calls::find(loader, previous);
    calls::set_heap(*previous);
    match log::prepare() {
        Ok(()) => Start::Around(&calls::LOGGED),
        Err(Errno(number)) => {
            let line = Line::new().text(b"there is no log (error ").number(number.unsigned_abs().into());
            line.text(b")").print();
            Start::Pass
        }
    }
}
