//! The recorder that runs inside the target: capture, interning, live slots, events in place.
#![cfg_attr(not(test), no_std)]

pub mod capture;
pub mod loader;
pub mod sys;
