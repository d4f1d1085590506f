//! What `check --format` prints after the text.

use std::path::PathBuf;

use heapscribe_symbols::NamedStacks;
use heapscribe_views::build_server;
use heapscribe_views::check::Checked;

use crate::cli::CheckFormat;

/// The lines for a build server, after the text.
pub(super) fn for_build_server(
    format: Option<CheckFormat>,
    checked: &Checked,
    names: &NamedStacks<'_>,
) -> String {
    let here = || std::env::current_dir().unwrap_or_default();
    let workspace = || std::env::var_os("GITHUB_WORKSPACE").map_or_else(here, PathBuf::from);
    match format {
        Some(CheckFormat::Github) => build_server::github(checked, names, &workspace()),
        Some(CheckFormat::Ctest) => build_server::ctest(checked),
        None => String::new(),
    }
}
