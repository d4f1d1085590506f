//! `heapscribe agent`: windows of a recording that goes on, into files and to a collector.
//!
//! | file | what it does |
//! |---|---|
//! | `place` | where the state lies, and its lock |
//! | `state` | what another agent needs to go on where this one was killed |
//! | `windows` | counts what the drainer takes, and closes windows |
//! | `tables` | a window as files of Parquet |
//! | `spool` | profiles that wait for the collector, within a bound |
//! | `sender` | sends them, the oldest first |
//! | `rate` | how much is sampled |
//! | `metrics` | figures for Prometheus |

pub(crate) mod metrics;
pub(crate) mod place;
pub(crate) mod rate;
pub(crate) mod sender;
pub(crate) mod spool;
mod state;
pub(crate) mod tables;
pub(crate) mod windows;
