//! Any bytes as a data file of heaptrack's: they are read to their end, and what is a file with blocks becomes a trace.
#![no_main]

use heapscribe_convert::heaptrack::from::convert;
use heapscribe_formats::{Trace, heaptrack};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut reader = heaptrack::Reader::new(bytes);
    while let Ok(Some(_)) = reader.next_record() {}
    let mut made = Vec::new();
    convert(bytes, &mut made).expect("a vector takes what is written");
    let trace = Trace::open(made).expect("what is made is a trace");
    assert!(trace.problems().is_empty());
});
