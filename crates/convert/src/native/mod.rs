//! Our own traces, written and rewritten: what every conversion to them ends in, thinning, and redaction.

pub mod changes;
pub mod join;
mod live_tables;
pub mod named_table;
pub mod redact;
pub mod rewrite;
pub mod thin;
pub mod thread_chunk;
pub(crate) mod trace_output;
pub mod writer;
