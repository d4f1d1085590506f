//! Tests that cannot be run here: each is reported, and listed by CI at its end.

use std::fs;
use std::io::Write as _;

/// Reports that a test is skipped and why, also in the log that CI lists at its end.
pub(crate) fn skip(why: impl std::fmt::Display) {
    println!("skipped: {why}");
    let Some(log) = std::env::var_os("HEAPSCRIBE_SKIPPED_LOG") else { return };
    let test = std::thread::current().name().unwrap_or("a thread of a test").to_owned();
    let line = format!("{}::{test}: {why}\n", module_path!().split("::").next().unwrap_or_default());
    let log = fs::File::options().append(true).create(true).open(log);
    log.and_then(|mut log| log.write_all(line.as_bytes())).expect("the log of skipped tests can be written");
}
