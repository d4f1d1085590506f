//! What rounding adds to blocks: bytes that were asked for, and those that glibc's heap gives for them, by class of sizes.

use heapscribe_analyze::heap_bytes;
use serde::Serialize;

use super::answered::{NoAnswer, asked_for};
use super::ask::Ask;
use super::viewer::Viewer;
use super::wanted::Wanted;
use crate::model::plain;

/// Classes of sizes, the smallest first.
#[derive(Serialize, Default)]
pub(super) struct GivenRows {
    from_bytes: Vec<u64>,
    asked_bytes: Vec<u64>,
    given_bytes: Vec<u64>,
    /// Why it is not known, or how exact it is.
    note: &'static str,
}

/// A chunk's header, which a program cannot use.
const HEADER_BYTES: u64 = 8;

const RULE: &str = "Given is what malloc_usable_size of glibc says of blocks in its heap. From 128 KiB on, blocks that get a mapping of \
                    their own take up to a page more.";
const OTHER: &str = "What rounding adds is not known here: it is computed for the heap of glibc, and this program was not seen to \
                     use that one.";
const MANY: &str =
    "What rounding adds is counted for up to 20 million events: choose a shorter range to see it.";
const NO_EVENTS: &str = "What rounding adds is counted from events, which this file does not have.";
const LIVED: &str = "What rounding adds is not counted by lifetime.";

/// The answer to a question, from its events.
pub(super) fn rounding(viewer: &Viewer<'_>, ask: &Ask) -> Result<GivenRows, NoAnswer> {
    let none = |note| Ok(GivenRows { note, ..GivenRows::default() });
    let Some(ranges) = &viewer.ranges else { return none(NO_EVENTS) };
    let stacks = viewer.stacks()?;
    if !stacks.is_glibc {
        return none(OTHER);
    }
    if ask.blocks.age_ns.is_some() {
        return none(LIVED);
    }
    let (question, _) = asked_for(ranges, || Ok(viewer.over_time()?.peak().time_ns), &ask.blocks)?;
    let wanted = Wanted::new(&stacks.calls, &ask.blocks).map_err(NoAnswer::Refused)?;
    let is_wanted = |key: &_| wanted.has_key(key) && wanted.has_tip(|| stacks.tip(key));
    let Some(classes) = ranges.given(&question, |size| heap_bytes(size) - HEADER_BYTES, &is_wanted) else {
        return none(MANY);
    };
    let mut rows = GivenRows { note: RULE, ..GivenRows::default() };
    for (class, sum) in classes {
        rows.from_bytes.push(class.min_bytes());
        rows.asked_bytes.push(plain(sum.asked).bytes);
        rows.given_bytes.push(u64::try_from(sum.given_bytes).unwrap_or(0));
    }
    Ok(rows)
}
