//! `heapscribe agent`: windows of a recording that goes on, into files and to a collector.
//!
//! | file | what it does |
//! |---|---|
//! | `place` | where the state lies, and its lock |
//! | `state` | what another agent needs to go on where this one was killed |
//! | `previous` | what another agent left, be it damaged |
//! | `target` | where windows go |
//! | `windows` | counts what the drainer takes, and closes windows |
//! | `tables` | a window as files of Parquet |
//! | `spool` | profiles that wait for the collector, within a bound |
//! | `sender` | sends them, the oldest first |
//! | `rate` | how much is sampled |
//! | `metrics` | figures for Prometheus |

pub(crate) mod metrics;
pub(crate) mod place;
mod previous;
pub(crate) mod rate;
pub(crate) mod sender;
pub(crate) mod spool;
mod state;
pub(crate) mod tables;
pub(crate) mod target;
pub(crate) mod windows;
