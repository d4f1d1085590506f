//! The program's own heap, behind functions of ours: what the others cost besides their heap.
#![allow(unsafe_code)]

use heapscribe_interpose::{Line, Start, export};

use crate::nothing::Nothing;

export! {
    static HEAP: Nothing = Nothing;
    start = start;
}

fn start(_: &Nothing) -> Start {
    HEAP.describe(Line::blank().text(b"system"), Line::blank());
    Start::Pass
}
