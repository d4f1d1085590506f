//! Notices of a library to the user, through the `log` facade, so that only the program prints.

use crate::hint_of;

/// The target of a record that says what to do about the one before it.
pub const HINT: &str = "hint";

/// Something is wrong, but the work goes on with the rest.
pub fn error(text: &str) {
    log::error!("{text}");
}

/// The same, with the causes of the error, and its hint when it has one.
pub fn failure(e: &anyhow::Error) {
    error(&format!("{e:#}"));
    if let Some(text) = hint_of(e) {
        hint(text);
    }
}

/// Something is odd, and nothing is lost by it.
pub fn warning(text: &str) {
    log::warn!("{text}");
}

/// What to do next about the notice before.
pub fn hint(text: &str) {
    log::info!(target: HINT, "{text}");
}
