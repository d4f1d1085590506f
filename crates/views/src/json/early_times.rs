//! Where times are early (`record --clock coarse`).

use heapscribe_analyze::answer::EarlyTimes;
use serde::Serialize;

/// By how much, and until when.
#[derive(Serialize)]
pub(super) struct EarlyTimesJson {
    ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_ns: Option<u64>,
}

impl From<EarlyTimes> for EarlyTimesJson {
    fn from(early: EarlyTimes) -> Self {
        EarlyTimesJson { ns: early.ns, until_ns: early.until_ns }
    }
}
