//! Any bytes as a trace, as they are.
#![no_main]

mod everything;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| everything::read_everything(bytes));
