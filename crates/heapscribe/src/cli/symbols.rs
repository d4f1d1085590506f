//! Where names of functions and lines of code come from, the same on every command that prints them.

use std::path::PathBuf;

use clap::Args;

/// Where separate debug files are when nothing else is asked for.
pub(crate) const DEBUG_DIR: &str = "/usr/lib/debug";

/// Where names and lines of code come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct SymbolArgs {
    /// Directory with separate debug files
    #[arg(long, value_name = "DIR", default_value = DEBUG_DIR)]
    pub(crate) debug_dir: PathBuf,
}
