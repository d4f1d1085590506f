//! `heapscribe agent`: records a service for good, by samples, and rolls what it allocates and holds into windows.

use std::cell::RefCell;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use heapscribe_collect::{Drain, Origin};
use heapscribe_convert::otlp::post::Endpoint;
use heapscribe_session::{Alive, base_directory, monotonic_ns};
use heapscribe_spawn::Child;
use heapscribe_wire::plan::SESSION_VARIABLE;

use super::agent_rate::{LOG_CHUNKS, Sampling, plan};
use super::agent_sessions::Sessions;
use super::record::{raise_descriptor_limit, session_info};
use crate::agent::metrics::{Figures, Metrics};
use crate::agent::place::Place;
use crate::agent::sender::Sender;
use crate::agent::spool::Spool;
use crate::agent::tables::Whose;
use crate::agent::target::Target;
use crate::agent::windows::Windows;
use crate::cli::AgentArgs;
use crate::launch::preload::{self, Preload};
use crate::launch::{child, signals::Signals};
use crate::message;

/// How often figures are renewed.
const TICK_NS: u64 = 1_000_000_000;
/// How long nothing is looked at where nothing comes: samples are few.
const IDLE: Duration = Duration::from_millis(200);
/// Processes whose buffers are looked into for figures in a tick; of more it is done less often.
const PROCESSES_A_TICK: u64 = 64;
/// Where a trace goes that nobody wants.
const NOWHERE: &str = "/dev/null";

/// Runs the command.
pub(crate) fn run(args: &AgentArgs) -> Result<ExitCode> {
    let endpoint = args.endpoint.as_deref().map(Endpoint::parse).transpose()?;
    let info = session_info(&args.command, heapscribe_formats::model::RealTimeRules::default());
    let service = args.service.clone().unwrap_or_else(|| {
        let program = args.command.first().map(Path::new).and_then(Path::file_name);
        program.map_or_else(|| "all".to_owned(), |name| name.to_string_lossy().into_owned())
    });
    let place = Place::take(&args.output, &info.host, &service)?;
    let spool = endpoint.is_some().then(|| Spool::new(place.spool(), args.spool_max));
    let whose = Whose {
        host: info.host.clone(),
        service: args.service.clone(),
        version: args.service_version.clone(),
        labels: args.labels.iter().cloned().collect(),
    };
    let metrics = Metrics::default();
    args.metrics.map(|address| metrics.serve(address)).transpose()?;
    let target = Target { out: args.output.clone(), whose, service, spool: spool.clone() };
    let starts_it = !args.command.is_empty();
    let mut windows = Windows::begin(target, place, &info, !starts_it)?;
    let sampling = Sampling::begin(args, &mut windows);
    let sessions = Sessions::take(args, &mut windows, &plan(sampling.mean_bytes))?;
    let trace = args.keep_trace.as_deref().unwrap_or(Path::new(NOWHERE));
    if let Some(trace) = args.keep_trace.as_ref().filter(|_| starts_it) {
        Origin::leave(sessions.base.path(), trace, &info);
    }
    let mut drain = Drain::new(sessions.base.path(), trace, 1, Some(LOG_CHUNKS), &info, None)?;
    drain.except(args.exclude.clone());
    let windows = Rc::new(RefCell::new(windows));
    drain.tap(windows.clone());
    let sender = endpoint.zip(spool.clone()).map(|(endpoint, spool)| Sender::start(endpoint, spool));
    let agent = Agent {
        window_ns: args.window.max(TICK_NS / 10),
        sessions,
        drain,
        windows,
        sampling,
        sender,
        spool,
        metrics,
        is_asked: args.metrics.is_some(),
        tick_ns: 0,
        looked_ns: 0,
    };
    agent.run(args)
}

struct Agent {
    window_ns: u64,
    sessions: Sessions,
    drain: Drain,
    windows: Rc<RefCell<Windows>>,
    sampling: Sampling,
    sender: Option<Sender>,
    spool: Option<Spool>,
    metrics: Metrics,
    /// Whether somebody may ask for figures.
    is_asked: bool,
    tick_ns: u64,
    /// When buffers were looked into last for these figures.
    looked_ns: u64,
}

impl Agent {
    fn run(mut self, args: &AgentArgs) -> Result<ExitCode> {
        let mut signals = Signals::take()?;
        let mut child = None;
        if args.all {
            self.sampling.publish(&self.sessions.base);
            message::note(&format!("windows go to {}", args.output.display()));
        } else if args.session.is_none() {
            self.sessions.base.write_plan(&plan(self.sampling.mean_bytes), &[])?;
            match self.start(args) {
                Ok(started) => child = Some(started),
                Err(failure) => {
                    self.sessions.remove();
                    message::error(&failure.error);
                    return Ok(ExitCode::from(failure.exit_code));
                }
            }
        }
        raise_descriptor_limit();
        self.closed();
        let (status, is_over) = self.follow(args.all, child.as_mut(), &mut signals)?;
        self.drain.look_into_open();
        self.close();
        self.tick();
        if let Some(sender) = self.sender.take() {
            sender.finish();
        }
        if is_over {
            let _ = self.drain.finish(status.map(child::exit_status));
            self.sessions.remove();
        } else {
            let base = self.sessions.base.path().display();
            message::note(&format!(
                "still running: recorded processes of {base}; the next agent goes on there"
            ));
        }
        Ok(status.map_or(ExitCode::SUCCESS, child::exit_code))
    }

    fn start(&mut self, args: &AgentArgs) -> Result<Child, child::NotStarted> {
        let failed = |error| child::NotStarted { exit_code: 125, error };
        let recorder = preload::place(preload::RECORDER).map_err(failed)?;
        let mut preload = Preload::default();
        preload.libraries.push(preload::before_sanitizers(recorder));
        preload.variables.push((SESSION_VARIABLE, self.sessions.base.path().into()));
        let child = child::start(&args.command, &preload)?;
        self.drain.watch(child.id());
        message::note(&format!("windows go to {}", args.output.display()));
        Ok(child)
    }

    /// Until all recorded processes have ended, where no others may come, or somebody stops us. How the program ended, and
    /// whether all did.
    fn follow(
        &mut self,
        is_endless: bool,
        mut child: Option<&mut Child>,
        signals: &mut Signals,
    ) -> Result<(Option<ExitStatus>, bool)> {
        let pid = child.as_ref().map(|child| child.id());
        let alive = pid.and_then(|pid| Alive::find(pid, u64::MAX));
        let mut status = None;
        loop {
            let ended = match (&mut child, status) {
                (Some(child), None) => child.try_wait().context("cannot wait for the program")?,
                (_, status) => status,
            };
            if let (None, Some(ended), Some(pid)) = (status, ended, pid) {
                self.drain.has_ended(pid, child::exit_status(ended));
            }
            self.drain.pass();
            status = ended;
            let waits = pid.is_some() && status.is_none();
            if !waits && !is_endless && self.drain.is_over() {
                return Ok((status, true));
            }
            if signals.pass_on(pid.filter(|_| waits)) && !waits {
                return Ok((status, is_endless && self.drain.living() == 0));
            }
            let now = monotonic_ns();
            let began_ns = self.windows.borrow().window_began_ns();
            if now.saturating_sub(began_ns) >= self.window_ns {
                self.drain.look_into_open();
                let seen = self.windows.borrow().seen();
                self.sampling.adapt(&self.sessions.base, &mut self.windows.borrow_mut(), seen);
                self.close();
            }
            if now.saturating_sub(self.tick_ns) >= TICK_NS {
                self.sessions.renew(&plan(self.sampling.mean_bytes))?;
                self.tick();
            }
            let idle = Duration::from_nanos(self.window_ns / 8).min(IDLE);
            self.drain.wait_idle(alive.as_ref().filter(|_| waits), idle);
        }
    }

    fn close(&mut self) {
        let outcome = self.windows.borrow_mut().close();
        match outcome {
            Ok(()) => self.sampling.next_window(),
            Err(e) => {
                message::error(&e);
                message::hint("the window stays open, and the next one has what it had");
            }
        }
        self.closed();
    }

    /// What is closed may be sent.
    fn closed(&self) {
        if let Some(sender) = &self.sender {
            sender.closed(self.windows.borrow().window_began_ns());
        }
    }

    /// Renews what is told, and looks whether far too much is sampled.
    fn tick(&mut self) {
        self.tick_ns = monotonic_ns();
        let living = self.drain.living() as u64;
        let due_ns = TICK_NS.saturating_mul(living / PROCESSES_A_TICK);
        if self.is_asked && self.tick_ns.saturating_sub(self.looked_ns) >= due_ns {
            self.looked_ns = self.tick_ns;
            self.drain.look_into_open();
        }
        let mut windows = self.windows.borrow_mut();
        self.sampling.look(&self.sessions.base, &mut windows);
        let sent = self.sender.as_ref().map(Sender::sent).unwrap_or_default();
        let refused = self.sender.as_ref().map(Sender::take_refused).unwrap_or_default();
        let (live, allocated) = (windows.live(), windows.allocated_of_all());
        let samples = windows.samples_of_all();
        let mut drops = windows.drops();
        for head in heads(self.sessions.base.path()) {
            drops.iter_mut().zip(head).for_each(|(sum, n)| *sum = sum.saturating_add(n));
        }
        self.metrics.set(Figures {
            processes: living,
            live_bytes: live.bytes,
            live_objects: live.blocks,
            allocated_bytes: allocated.bytes,
            allocated_objects: allocated.blocks,
            samples,
            mean_bytes: self.sampling.mean_bytes,
            drops,
            closed: windows.closed,
            delivered: sent.delivered,
            spooled: self.spool.as_ref().map(Spool::size).unwrap_or_default(),
            dropped: windows.dropped(refused),
            is_away: sent.failure.is_some(),
        });
    }
}

/// What recorders of living processes lost, by reason.
fn heads(base: &Path) -> impl Iterator<Item = [u64; heapscribe_wire::head::DROP_COUNTERS]> + use<> {
    let base = base.to_owned();
    base_directory::sessions(&base).filter_map(move |key| {
        let head = base_directory::session_path(&base, key).join("head");
        heapscribe_session::read_head(&heapscribe_session::open_file(&head, false)?, |head| head.drops)
    })
}
