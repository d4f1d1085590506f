//! Whether a trace keeps rules. A rule is judged for each process by itself, and the verdict is one of three:
//! it holds, it is broken, or undecided - because events were lost, because the recording ended
//! too early, or because the range of an estimate reaches over the limit. What is undecided never passes.
//!
//! The way: [`rule`] says what is asked for, [`subject`] gathers the figures of each process, [`calls`] those
//! of places where there must be no calls, [`judge`] holds them against the limits, [`baseline`] compares with
//! an older trace. [`no_findings`] forbids findings. [`suppress`] removes what suppressions accept.

pub mod baseline;
mod by_rule;
pub mod calls;
pub mod evicted;
pub mod judge;
mod leaks;
pub mod no_findings;
mod pattern;
pub mod rule;
pub mod subject;
pub mod suppress;
mod temporary;
pub mod unit;
pub mod unrecorded;
pub mod unwanted;
mod verdict;
pub mod worst;

pub use by_rule::{OfRule, by_rule};
pub use verdict::{Checked, Culprit, Evidence, Finding, Reason, Verdict, Whose};
