//! A progress bar for work that takes longer than a second, on terminals only.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Set when the terminal is somebody else's to draw on.
static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// Draws no bar from now on: the whole screen is taken.
pub(crate) fn draw_no_progress() {
    IS_HIDDEN.store(true, Ordering::Relaxed);
}

/// Hidden until the work has taken a second.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
    on_terminal: bool,
}

impl Progress {
    /// Over so many addresses.
    pub(super) fn start(total: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("looking up names {bar:30} {percent}% {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let on_terminal = std::io::stderr().is_terminal() && !IS_HIDDEN.load(Ordering::Relaxed);
        Progress { bar, started: Instant::now(), on_terminal }
    }

    /// Never shown: of work that goes on beside other work.
    pub(super) fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden(), started: Instant::now(), on_terminal: false }
    }

    /// What is being worked on.
    pub(super) fn show(&self, module: &str) {
        self.bar.set_message(module.rsplit('/').next().unwrap_or(module).to_owned());
    }

    /// One more is done.
    pub(super) fn advance(&self) {
        self.bar.inc(1);
        if self.on_terminal && self.bar.is_hidden() && self.started.elapsed() >= Duration::from_secs(1) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
