//! Forwards signals from `record` and `run` to the program. Those of the terminal reach both anyway, since
//! both are in the foreground.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

/// Signals that came in and are to be looked at.
pub(crate) struct Signals(SignalsInfo<WithOrigin>);

/// The signals that this process was started to ignore: bit N - 1 for signal N.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map_or("0", str::trim);
    u64::from_str_radix(mask, 16).unwrap_or(0)
}

impl Signals {
    /// From now on these signals do not end us. Those that are ignored stay so, for us and the program:
    /// it would not inherit that (`nohup`, jobs in the background) if we took them.
    pub(crate) fn take() -> Result<Signals> {
        let ignored = ignored();
        let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];
        let wanted = all.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        SignalsInfo::new(wanted).map(Signals).context("cannot install signal handlers")
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
