//! The program as its users see it: help, errors, reports, dumps and pictures of small traces.

mod check;
mod choose;
mod cut_snapshot;
mod damaged;
mod diff;
mod dump;
mod exports;
mod flame;
mod gotrace;
mod heaphook;
mod help;
mod hotspots;
mod interpreted;
mod memtrace;
mod messages;
mod names;
mod plot;
mod profiles;
mod range;
mod replay;
mod report;
mod sample;
mod see;
mod setup;
#[path = "../e2e/support/skip.rs"]
mod skip;
mod view;
