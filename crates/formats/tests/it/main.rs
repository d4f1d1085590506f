//! Files that others wrote: released versions of ours, memtrace's own writer, Go's own tracer.

mod golden;
mod gotrace;
mod memtrace;
