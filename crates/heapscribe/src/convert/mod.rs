//! From one format of traces to another. What a format has no room for is lost on the way; each direction
//! says what that is.

pub(crate) mod drawing;
pub(crate) mod from_heaplog;
pub(crate) mod from_memtrace;
pub(crate) mod in_order;
pub(crate) mod live;
pub(crate) mod log_tally;
pub(crate) mod made;
pub(crate) mod memtrace_places;
pub(crate) mod objects;
pub(crate) mod redact;
pub(crate) mod rewrite;
pub(crate) mod stacks;
pub(crate) mod tally;
pub(crate) mod thin;
pub(crate) mod to_aos;
pub(crate) mod to_gotrace;
pub(crate) mod to_heaplog;
pub(crate) mod to_memtrace;

#[cfg(test)]
mod tests;
