//! What an agent has recorded, and its sampling rate: it follows what was seen, in each running process and for those to come.

use heapscribe_session::control::Controlled;
use heapscribe_session::inspect::SessionPath;
use heapscribe_session::{Base, base_directory, clock_kind, monotonic_ns, own_namespace};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::plan::{Plan, WhenFull};

use crate::agent::rate::adapted;
use crate::agent::windows::Windows;
use crate::cli::AgentArgs;
use crate::message;

/// Chunks of each process's buffer: samples fill one in minutes.
pub(super) const LOG_CHUNKS: u32 = 64;
/// Bytes that a process may write to a file while no agent reads its buffer.
const SPILL_BYTES: u64 = 256 << 20;
/// The first rate; a process that allocates 6 GB in an hour has 11,000 samples.
pub(super) const FIRST_MEAN_BYTES: u64 = 512 << 10;
/// Before a window ends, only so many times the samples of a whole one change the rate.
const FAR_TOO_MANY: u64 = 3;

/// What is sampled now.
pub(super) struct Sampling {
    pub(super) mean_bytes: u64,
    samples_per_hour: u64,
    window_ns: u64,
    is_fixed: bool,
    /// Since when the rate holds, and how many samples this window had then.
    since: (u64, u64),
}

impl Sampling {
    /// With what was asked for, or what another agent found.
    pub(super) fn begin(args: &AgentArgs, windows: &mut Windows) -> Sampling {
        let found = Some(windows.state().rate).filter(|rate| *rate > 0);
        let mean_bytes = args.sample.or(found).unwrap_or(FIRST_MEAN_BYTES);
        windows.state().rate = mean_bytes;
        Sampling {
            mean_bytes,
            samples_per_hour: args.samples_per_hour,
            window_ns: args.window,
            is_fixed: args.sample.is_some(),
            since: (monotonic_ns(), 0),
        }
    }

    /// The next window begins.
    pub(super) fn next_window(&mut self) {
        self.since = (monotonic_ns(), 0);
    }

    /// Looks in the middle of a window, whether far too much is sampled.
    pub(super) fn look(&mut self, base: &Base, windows: &mut Windows) {
        let budget = u128::from(self.samples_per_hour) * u128::from(self.window_ns) / 3_600_000_000_000;
        let seen = windows.seen();
        if u128::from(seen.saturating_sub(self.since.1)) > budget.max(50) * u128::from(FAR_TOO_MANY) {
            self.adapt(base, windows, seen);
        }
    }

    /// Changes the rate if it is far off.
    pub(super) fn adapt(&mut self, base: &Base, windows: &mut Windows, seen: u64) {
        if self.is_fixed {
            return;
        }
        let now = monotonic_ns();
        let (seen_since, time_ns) = (seen.saturating_sub(self.since.1), now.saturating_sub(self.since.0));
        let wanted = adapted(self.mean_bytes, seen_since, time_ns, self.samples_per_hour);
        if wanted == self.mean_bytes {
            return;
        }
        self.mean_bytes = wanted;
        self.since = (now, seen);
        windows.state().rate = wanted;
        self.publish(base);
    }

    /// Has all processes sample at this rate, and those to come.
    pub(super) fn publish(&self, base: &Base) {
        if let Err(e) = base.write_plan(&plan(self.mean_bytes), &[]) {
            message::error(&e);
        }
        for key in base_directory::sessions(base.path()) {
            set(&SessionPath::in_base(base.path(), key), self.mean_bytes);
        }
    }
}

/// Has a process sample at this rate, or the nearest that it can; one that ends in this moment does not matter.
fn set(session: &SessionPath, mean_bytes: u64) {
    let Ok(process) = Controlled::of(session) else { return };
    let mode = process.nearest(Mode::Sampled { mean_bytes });
    // What somebody turned off, or wants to have whole, stays so.
    if matches!(process.mode, Mode::Sampled { .. }) && process.mode != mode {
        let _ = process.set_mode(mode);
    }
}

/// What processes are to record.
pub(super) fn plan(mean_bytes: u64) -> Plan {
    Plan {
        drainer_pid: std::process::id(),
        pid_namespace: own_namespace(),
        clock: clock_kind(),
        // A service does not wait for us.
        when_full: WhenFull::Drop,
        log_chunks: LOG_CHUNKS,
        spill_limit_bytes: SPILL_BYTES,
        mode: Mode::Sampled { mean_bytes },
        reads_interpreters: true,
        ..Plan::default()
    }
}
