//! Which atomics the protocols are written with: core's, or loom's where a model of them is built.
//!
//! A model is a test with `--cfg loom`, see `tests/loom`. It takes the protocol's source as a module of
//! its own, so that the library has core's atomics always: nothing that runs in a target depends on
//! loom, not even by its manifest.
#![allow(unexpected_cfgs, reason = "`loom` is given by hand, for models only")]

#[cfg(not(all(loom, test)))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(all(loom, test))]
pub(crate) use model::{AtomicU32, AtomicU64, Ordering};

/// Keeps a thread's accesses in order where another process's barrier (`membarrier(2)`) makes them so: what
/// is left to do is the compiler's. In a model the thread has a fence of its own, which is the same.
#[inline(always)]
pub(crate) fn order_for_barrier() {
    #[cfg(not(all(loom, test)))]
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(all(loom, test))]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Whether these are a model's atomics, which have neither the size nor the place of real ones.
pub(crate) const IS_MODEL: bool = cfg!(all(loom, test));

/// Runs a test: once, or in a model in each of its possible orders.
#[cfg(test)]
pub(crate) fn check(test: impl Fn() + Send + Sync + 'static) {
    #[cfg(not(loom))]
    test();
    #[cfg(loom)]
    loom::model(test);
}

/// loom's atomics, each behind a gate. loom 0.7 keeps one last access of an atomic to find the orders
/// that are worth a try: where a thread loads and then stores, its own load hides the load of another
/// thread before it, and the order in which that one sees the store is never tried. The store that each
/// access makes to its gate first is seen by nobody, so it orders nothing, and hides nothing.
#[cfg(all(loom, test))]
#[allow(missing_docs, dead_code, reason = "they are those of core")]
mod model {
    pub use loom::sync::atomic::Ordering;

    macro_rules! gated {
        ($name:ident, $value:ty) => {
            #[derive(Debug, Default)]
            pub struct $name {
                gate: loom::sync::atomic::AtomicBool,
                atomic: loom::sync::atomic::$name,
            }

            impl $name {
                fn pass(&self) -> &loom::sync::atomic::$name {
                    self.gate.store(true, Ordering::Relaxed);
                    &self.atomic
                }

                pub fn load(&self, order: Ordering) -> $value {
                    self.pass().load(order)
                }

                pub fn store(&self, value: $value, order: Ordering) {
                    self.pass().store(value, order);
                }

                pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    self.pass().fetch_add(value, order)
                }

                pub fn compare_exchange(
                    &self,
                    old: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.pass().compare_exchange(old, new, success, failure)
                }
            }
        };
    }

    gated!(AtomicU32, u32);
    gated!(AtomicU64, u64);
}
