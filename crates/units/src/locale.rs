//! The two signs of estimates that are not ASCII, and what stands for them where a locale has no others.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_ASCII: AtomicBool = AtomicBool::new(false);

/// Signs are ASCII from now on.
pub fn use_ascii() {
    IS_ASCII.store(true, Ordering::Relaxed);
}

/// Before a figure that is estimated.
pub fn about() -> &'static str {
    if IS_ASCII.load(Ordering::Relaxed) { "~" } else { "\u{2248}" }
}

/// Between a figure and its standard error.
pub fn plus_minus() -> &'static str {
    if IS_ASCII.load(Ordering::Relaxed) { "+-" } else { "\u{b1}" }
}
