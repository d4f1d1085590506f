//! How `--help` is laid out.

/// Prints help with the examples first: most people look for a line to copy.
pub(super) const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}\n";
