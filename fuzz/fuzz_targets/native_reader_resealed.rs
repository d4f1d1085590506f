//! Any bytes as a trace, with all checksums made right, so that the fuzzer gets past them.
#![no_main]

mod everything;
#[path = "../../crates/formats/src/native/tests/resealed.rs"]
mod resealed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    resealed::reseal(&mut bytes);
    everything::read_everything(&bytes);
});
