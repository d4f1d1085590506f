//! Forwards signals from `record` and `run` to the program. Those of the terminal reach both anyway, since
//! both are in the foreground.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

/// Signals that came in and are to be looked at.
pub(crate) struct Signals(SignalsInfo<WithOrigin>);

impl Signals {
    /// From now on these signals do not end us. Those that are ignored stay so, for us and the program:
    /// it would not inherit that (`nohup`, jobs in the background) if we took them.
    pub(crate) fn take() -> Result<Signals> {
        let ignored = heapscribe_spawn::ignored_signals();
        let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];
        let wanted = all.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let signals = SignalsInfo::new(wanted.clone()).context("cannot install signal handlers")?;
        // The program inherits what we were started with, also that they are blocked; we are to pass them on.
        heapscribe_spawn::unblock(wanted);
        Ok(Signals(signals))
    }

    /// Passes on to `child` what a process sent us. Whether somebody asked us to stop.
    pub(crate) fn pass_on(&mut self, child: Option<u32>) -> bool {
        let mut stop = false;
        for origin in self.0.pending() {
            stop |= matches!(origin.signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT);
            let sent_by_process = origin.process.is_some_and(|sender| sender.pid != 0);
            if sent_by_process && let Some(pid) = child.and_then(|pid| Pid::from_raw(pid as i32)) {
                // It may have ended this instant.
                let _ = Signal::from_named_raw(origin.signal).map(|signal| kill_process(pid, signal));
            }
        }
        stop
    }
}
