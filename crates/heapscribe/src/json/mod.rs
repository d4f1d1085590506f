//! Answers as JSON. The keys are a promise: they keep their names, meaning and order; new ones may come.

pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod go;
pub(crate) mod heap;
pub(crate) mod latency;
pub(crate) mod live;
pub(crate) mod messages;
pub(crate) mod parts;
pub(crate) mod report;
pub(crate) mod said;
pub(crate) mod sampling;
