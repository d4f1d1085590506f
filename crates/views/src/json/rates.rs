//! How often the heap was called.

use heapscribe_analyze::answer::Answer;
use serde::Serialize;

/// In each second of the recording, rounded to tenths.
#[derive(Serialize)]
pub(super) struct RatesJson {
    calls_per_second: f64,
    allocations_per_second: f64,
    bytes_per_second: f64,
}

impl From<&Answer> for RatesJson {
    fn from(a: &Answer) -> Self {
        let round = |rate: f64| (rate * 10.0).round() / 10.0;
        RatesJson {
            calls_per_second: round(a.calls_per_second()),
            allocations_per_second: round(a.allocations_per_second()),
            bytes_per_second: round(a.allocated_bytes_per_second()),
        }
    }
}
