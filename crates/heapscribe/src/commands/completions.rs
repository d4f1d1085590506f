//! `heapscribe completions`: the command line for shells.

use std::process::ExitCode;

use anyhow::Result;
use clap_complete::{Shell as Target, generate};

use crate::cli::{self, CompletionsArgs, Shell};

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode> {
    let target = match args.shell {
        Shell::Bash => Target::Bash,
        Shell::Zsh => Target::Zsh,
        Shell::Fish => Target::Fish,
    };
    // In memory first: clap panics when it cannot write.
    let mut script = Vec::new();
    generate(target, &mut cli::command(), cli::NAME, &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(ExitCode::SUCCESS)
}
