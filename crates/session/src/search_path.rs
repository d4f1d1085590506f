//! Where recordings may be looked for.

use std::path::{Path, PathBuf};

use crate::base_directory::SESSION_DIR;

/// Directories in which base directories of recordings lie.
#[derive(Clone, Debug, Default)]
pub struct SearchPath(Vec<PathBuf>);

impl SearchPath {
    /// The directories, in the order in which they are looked into.
    pub fn directories(&self) -> &[PathBuf] {
        &self.0
    }
}

/// Where `record` may have put sessions, in its order; or the one place that was asked for.
pub fn places(asked: Option<&Path>) -> SearchPath {
    if let Some(dir) = asked {
        return SearchPath(vec![dir.to_owned()]);
    }
    let mut places = vec![PathBuf::from(SESSION_DIR)];
    places.extend(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
    places.push(std::env::temp_dir());
    SearchPath(places)
}
