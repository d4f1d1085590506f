//! What a report says of a recording whose clock was read seldom.

use heapscribe_analyze::answer::EarlyTimes;
use heapscribe_units::duration;

/// By how much its times are early; nothing where they are not.
pub fn sentence(early: Option<EarlyTimes>) -> Option<String> {
    let early = early?;
    let by = duration(early.ns);
    let when = early.until_ns.map_or_else(String::new, |ns| {
        format!(" in the first {}, before a second thread or process began", duration(ns))
    });
    Some(format!(
        "Times are up to {by} early and lifetimes up to {by} off{when} (--clock coarse); the order of events is exact."
    ))
}
