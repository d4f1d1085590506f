//! What each of the packages is made of.

use super::content::Content;
use super::requires::Requires;

/// What all packages are made of.
pub(super) struct Made {
    /// The version of the program.
    pub(super) version: String,
    /// The time that files have, in seconds: that of the commit, so that two builds are equal.
    pub(super) epoch: u64,
    pub(super) requires: Requires,
    pub(super) content: Content,
}
