//! Models of what is written by one and read by another without a lock between them: each possible order
//! of their steps is tried, with all that the memory model lets a load see.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p heapscribe-wire --test loom --release -- --nocapture
//! ```
//!
//! Without `--cfg loom` this is empty. `LOOM_MAX_PREEMPTIONS=5` goes further than the models do by
//! themselves. A test that `should_panic` shows that a step of a protocol is needed: without it, it fails.
#![allow(unexpected_cfgs, reason = "`loom` is given by hand")]
#![cfg(loom)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

// The protocol's own source, built with loom's atomics.
#[path = "../../src/chunk.rs"]
#[allow(dead_code, unreachable_pub, reason = "the library's source, of which the models use a part")]
#[allow(clippy::wrong_self_convention, reason = "it is of the library's interface")]
mod chunk;
#[path = "../../src/limits.rs"]
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod limits;
#[path = "../../src/loss.rs"]
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod loss;
#[path = "../../src/operation.rs"]
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod operation;
#[path = "../../src/heap/state.rs"]
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod state;
#[path = "../../src/sync.rs"]
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod sync;
#[path = "../../src/varint.rs"]
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod varint;

mod hand_over;
mod heap;
mod held;
mod intern;
mod killed;
mod marks;
mod parties;
mod slot;
mod spill;

/// Runs `model` in each of its orders that preempt a thread at most `preemptions` times, and says how
/// many they were.
fn explore(name: &str, preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.max_branches = 10_000;
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&orders);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let (orders, bound) = (orders.load(Ordering::Relaxed), builder.preemption_bound.unwrap_or(0));
    println!("{name}: {orders} orders of at most {bound} preemptions");
}
