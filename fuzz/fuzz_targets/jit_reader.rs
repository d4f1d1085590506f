//! Any bytes as what a runtime says of the code that it makes, and as the name of a function.
#![no_main]

use std::hint::black_box;

use heapscribe_formats::jit::function::function;
use heapscribe_formats::jit::{JitCode, jit_dump, perf_map};

fn check(pieces: &[JitCode]) {
    for piece in pieces {
        assert!(piece.start <= piece.end);
        assert!(piece.lines.is_sorted_by_key(|line| line.offset));
        black_box(function(&String::from_utf8_lossy(&piece.name)).shown());
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check(&perf_map::read(bytes).0);
    let dump = jit_dump::read(bytes);
    check(&dump.code);
    assert!(dump.code.is_sorted_by_key(|piece| piece.made));
    assert!(dump.problem.is_none_or(|(at, _)| at <= bytes.len() as u64));
    black_box(function(&String::from_utf8_lossy(bytes)));
});
