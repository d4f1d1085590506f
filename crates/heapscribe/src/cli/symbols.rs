//! Where names of functions and lines of code come from, the same on every command that prints them.

use std::path::PathBuf;

use clap::Args;

/// Where separate debug files are when nothing else is asked for.
pub(crate) const DEBUG_DIR: &str = "/usr/lib/debug";

/// Where names and lines of code come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct SymbolArgs {
    /// Directory with separate debug files
    #[arg(long, value_name = "DIR", default_value = DEBUG_DIR, value_parser = parse_directory)]
    pub(crate) debug_dir: PathBuf,

    /// Names that `heapscribe symbols` collected where the program's files are; can be given several times
    #[arg(long = "symbols", value_name = "BUNDLE")]
    pub(crate) bundles: Vec<PathBuf>,
}

/// The default one is there only where packages with debug information are installed.
fn parse_directory(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if text == DEBUG_DIR || path.is_dir() { Ok(path) } else { Err("there is no such directory".to_owned()) }
}
