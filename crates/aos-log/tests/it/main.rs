//! The log that aos-log writes: records, encoders, parts, the C functions, and the reader of it all.

#[cfg(target_env = "gnu")]
mod c_api;
mod common;
mod encoders;
mod flatc;
mod log;
mod logger;
mod read;
mod round_trip;
#[path = "../../../heapscribe/tests/e2e/support/skip.rs"]
mod skip;
mod vectors;
mod writer;
mod written;
