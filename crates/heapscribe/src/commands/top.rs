//! `heapscribe top`: watches the live heap of a process.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use super::resolver::resolver;
use crate::cli::TopArgs;
use crate::tui;
use heapscribe_session::inspect;

/// Runs the command.
pub(crate) fn run(args: &TopArgs) -> Result<ExitCode> {
    args.names.apply();
    let place = inspect::places(args.session_dir.as_deref());
    let interval = Duration::from_nanos(args.interval_ns);
    let found = match inspect::one(&args.process, &place) {
        Ok(found) => found,
        Err(e) => {
            let Some(pool) = tui::Pool::find(&args.process, &place) else { return Err(e) };
            return pool_alone(pool, interval, args.once);
        }
    };
    let session = found.open()?;
    let resolver = resolver(&args.symbols, &[])?;
    let looks = (interval, args.pages);
    if args.once {
        tui::once(&session, looks, &resolver, &mut anstream::stdout().lock())?;
    } else {
        tui::run(&session, looks, &resolver)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A process that is not recorded but runs with another heap.
fn pool_alone(mut pool: tui::Pool, interval: Duration, once: bool) -> Result<ExitCode> {
    if once {
        pool.once(&mut anstream::stdout().lock())?
    } else {
        pool.run(interval)?
    }
    Ok(ExitCode::SUCCESS)
}
