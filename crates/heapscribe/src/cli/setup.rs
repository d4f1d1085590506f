//! The command lines of `completions`, `man` and `reference`, which write down the command line itself.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::help::TEMPLATE;
use crate::exit;

/// Print shell completions
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe completions bash > ~/.local/share/bash-completion/completions/heapscribe
  heapscribe completions zsh > ~/.zfunc/_heapscribe
  heapscribe completions fish > ~/.config/fish/completions/heapscribe.fish
")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// A shell that there are completions for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Write the man pages
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe man --to ~/.local/share/man/man1 && man heapscribe-record
")]
pub(crate) struct ManArgs {
    /// Where to write them; the directory is created if needed
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
}

/// Write the reference of the command line in Markdown
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP)]
pub(crate) struct ReferenceArgs {
    /// Where to write cli.md; the directory is created if needed
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
}
