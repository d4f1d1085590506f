//! How names of functions are shown, the same on every command that prints them for people.

use clap::Args;

/// Whether names are short.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct NameArgs {
    /// Show names of functions whole, with parameters and arguments of templates
    #[arg(long)]
    full_names: bool,
}

impl NameArgs {
    /// Has all that is printed from now on show them so.
    pub(crate) fn apply(self) {
        if self.full_names {
            heapscribe_symbols::show_full_names();
        }
    }
}
