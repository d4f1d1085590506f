//! `heapscribe top`: what is live in a process, as it changes.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::cli::TopArgs;
use crate::symbols::Resolver;
use crate::{live, tui};

/// Runs the command.
pub(crate) fn run(args: &TopArgs) -> Result<ExitCode> {
    let place = live::places(args.session_dir.as_deref());
    let session = live::one(&args.process, &place)?.open()?;
    let interval = Duration::from_nanos(args.interval_ns);
    let resolver = Resolver { debug_dir: args.symbols.debug_dir.clone() };
    if args.once {
        tui::once(&session, interval, &resolver, &mut anstream::stdout().lock())?;
    } else {
        tui::run(&session, interval, &resolver)?;
    }
    Ok(ExitCode::SUCCESS)
}
