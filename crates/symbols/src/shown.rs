//! Names as outputs for people have them: short, or whole where the user asks for that.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::short::short;

/// Set once, when a command begins.
static ARE_FULL: AtomicBool = AtomicBool::new(false);

/// Has names shown as they are, with parameters, arguments of templates and all.
pub fn show_full_names() {
    ARE_FULL.store(true, Ordering::Relaxed);
}

/// Whether names are shown as they are.
pub fn are_full_names_shown() -> bool {
    ARE_FULL.load(Ordering::Relaxed)
}

/// The name of a function for people.
pub fn shown(name: &str) -> String {
    if are_full_names_shown() { name.to_owned() } else { short(name) }
}
