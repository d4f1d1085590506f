//! Which atomics the protocols are written with: core's, or loom's where a model of them is built.
//!
//! A model is a test with `--cfg loom`, see `tests/loom`. It takes the protocol's source as a module of
//! its own, so that the library has core's atomics always: nothing that runs in a target depends on
//! loom, not even by its manifest.
#![allow(unexpected_cfgs, reason = "`loom` is given by hand, for models only")]

#[cfg(not(all(loom, test)))]
pub(super) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(all(loom, test))]
pub(super) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Whether these are a model's atomics, which have neither the size nor the place of real ones.
pub(super) const IS_MODEL: bool = cfg!(all(loom, test));

/// Runs a test: once, or in a model in each of its possible orders.
#[cfg(test)]
pub(super) fn check(test: impl Fn() + Send + Sync + 'static) {
    #[cfg(not(loom))]
    test();
    #[cfg(loom)]
    loom::model(test);
}
