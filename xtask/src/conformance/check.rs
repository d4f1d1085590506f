//! A comparison of one of our answers with another system's, and where the files for it are.

use std::path::Path;

/// Where a format's files are, and the program that is to be compared.
pub(super) struct Place<'a> {
    pub(super) folder: &'a Path,
    pub(super) program: &'a Path,
}

/// One comparison.
pub(super) struct Check {
    pub(super) name: String,
    /// What is not as it should be.
    pub(super) wrong: Option<String>,
}

impl Check {
    pub(super) fn new(name: impl Into<String>, outcome: Result<(), String>) -> Check {
        Check { name: name.into(), wrong: outcome.err() }
    }
}
