//! A progress bar for work that takes longer than a second, on terminals only.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use heapscribe_symbols::{Debuginfod, Progress, Resolver};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Set when the terminal is somebody else's to draw on.
static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// Draws no bar from now on: the whole screen is taken.
pub(crate) fn draw_no_progress() {
    IS_HIDDEN.store(true, Ordering::Relaxed);
}

/// Looks up names, and draws a bar when that takes a second.
pub(crate) fn resolver(debug_dir: &Path) -> Resolver {
    Resolver::new(debug_dir).with_debuginfod(Debuginfod::from_environment()).with_progress(NamesBar::new())
}

/// A bar while the index of a trace is made; hidden until that has taken a second.
pub(crate) struct IndexBar {
    bar: ProgressBar,
    started: Instant,
    on_terminal: bool,
}

impl IndexBar {
    /// Nothing is drawn yet.
    pub(crate) fn new() -> IndexBar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("making the index {bar:30} {percent}% {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let on_terminal = std::io::stderr().is_terminal() && !IS_HIDDEN.load(Ordering::Relaxed);
        IndexBar { bar, started: Instant::now(), on_terminal }
    }

    /// So many of so many events are done.
    pub(crate) fn set(&self, done: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(done);
        if self.on_terminal && self.bar.is_hidden() && self.started.elapsed() >= Duration::from_secs(1) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes it.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Hidden until the work has taken a second.
struct NamesBar {
    bar: ProgressBar,
    started: OnceLock<Instant>,
    on_terminal: bool,
}

impl NamesBar {
    fn new() -> NamesBar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("looking up names {bar:30} {percent}% {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let on_terminal = std::io::stderr().is_terminal() && !IS_HIDDEN.load(Ordering::Relaxed);
        NamesBar { bar, started: OnceLock::new(), on_terminal }
    }
}

impl Progress for NamesBar {
    fn start(&self, addresses: u64) {
        self.bar.reset();
        self.bar.set_length(addresses);
        let _ = self.started.set(Instant::now());
    }

    fn module(&self, path: &str) {
        self.bar.set_message(path.rsplit('/').next().unwrap_or(path).to_owned());
    }

    fn waiting(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        if self.on_terminal && self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn advance(&self) {
        self.bar.inc(1);
        let is_long = self.started.get().is_some_and(|started| started.elapsed() >= Duration::from_secs(1));
        if self.on_terminal && self.bar.is_hidden() && is_long {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}
