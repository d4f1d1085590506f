//! `heapscribe view PID`: the same page on a process that runs. The page asks for a new look when it wants one; while no
//! page is open nothing is done to the process. What the page may change is what `ctl` changes, by POST alone.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heapscribe_convert::Opened;
use heapscribe_convert::ranges::IndexOptions;
use heapscribe_session::control::Controlled;
use heapscribe_session::inspect::{self, SearchPath, SessionPath, SessionReader, Snapshot};
use heapscribe_viewer::{Asked, Response, Server, Status, Viewer};
use heapscribe_wire::mode::Mode;
use serde_json::{Value, json};

use super::ctl;
use super::resolver::resolver;
use crate::cli::{ViewArgs, parse_mode};

/// A look holds allocations back for a moment: there is none earlier after the last one.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// Looks whose sizes are kept for who comes back.
const SAMPLES_MAX: usize = 2_000;

/// A request that waits for its answer.
type Waiting = (Asked, Sender<Response>);

/// A process that is looked at.
struct Live {
    session: SessionReader,
    pid: u32,
    place: SearchPath,
    begin: Instant,
    /// When each look was, ms from the first one, and what was live.
    samples: Vec<[u64; 3]>,
}

/// Serves looks at a process until it is interrupted.
pub(super) fn run(
    args: &ViewArgs,
    found: &SessionPath,
    place: SearchPath,
    server: &Server,
) -> Result<ExitCode> {
    let session = found.open()?;
    let mut live = Live {
        session,
        pid: found.living_pid().unwrap_or(found.pid),
        place,
        begin: Instant::now(),
        samples: Vec::new(),
    };
    let first = Snapshot::take(&live.session)?.with_jit_names(&live.session);
    let (send, receive) = channel::<Waiting>();
    thread::scope(|scope| {
        scope.spawn(move || server.serve(&|asked| answer(&send, asked)));
        let (mut next, mut waiting) = (Some(first), None);
        while let Some(snapshot) = next.take() {
            let look = live.look(args, &snapshot, waiting.take(), &receive)?;
            (next, waiting) = look.unzip();
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Has a request answered by the thread that looks.
fn answer(send: &Sender<Waiting>, asked: &Asked) -> Response {
    let (reply, answer) = channel();
    let sent = send.send((asked.clone(), reply));
    sent.ok().and_then(|()| answer.recv().ok()).unwrap_or_else(|| Response::empty(Status::ServerError))
}

impl Live {
    /// Answers from a look until the page wants another one; that look, and who waits for it.
    fn look(
        &mut self,
        args: &ViewArgs,
        snapshot: &Snapshot,
        waiting: Option<Sender<Response>>,
        receive: &Receiver<Waiting>,
    ) -> Result<Option<(Snapshot, Sender<Response>)>> {
        let (trace, saved) = Opened::of_snapshot(snapshot)?;
        let recording = trace.recording();
        let resolver = resolver(&args.symbols, &[])?;
        let index = IndexOptions { is_wanted: false, ..IndexOptions::default() };
        let viewer =
            Viewer::open(&trace, &recording, &args.traces[0], resolver, &index, &mut |_, _| {}).live();
        viewer.analyze();
        let ms = u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.samples.push([ms, saved.bytes, saved.blocks]);
        if self.samples.len() > SAMPLES_MAX {
            self.samples.remove(0);
        }
        let taken = Instant::now();
        if let Some(waiting) = waiting {
            let _ = waiting.send(self.state()); // of a page that was closed
        }
        while let Ok((asked, reply)) = receive.recv() {
            let response = match (asked.path.as_str(), asked.is_change) {
                ("api/control", true) => self.control(&asked),
                (_, true) => Response::empty(Status::MethodNotAllowed),
                ("api/live", _) if taken.elapsed() >= BETWEEN_LOOKS => match Snapshot::take(&self.session) {
                    Ok(snapshot) => return Ok(Some((snapshot.with_jit_names(&self.session), reply))),
                    Err(e) => refused(&format!("{e:#}")),
                },
                ("api/live", _) => self.state(),
                _ => viewer.answer(&asked),
            };
            let _ = reply.send(response);
        }
        Ok(None)
    }

    /// What the page shows of the process itself.
    fn state(&self) -> Response {
        let mode = self.process().ok().map(|process| process.mode);
        let column = |n: usize| -> Vec<u64> { self.samples.iter().map(|sample| sample[n]).collect() };
        let state = json!({
            "pid": self.pid,
            "is_running": self.session.living_pid().is_some(),
            "records": mode.map(ctl::describe),
            "is_off": mode == Some(Mode::Off),
            "ms": column(0),
            "bytes": column(1),
            "blocks": column(2),
        });
        Response::json(Status::Ok, &state)
    }

    /// The process, with the program that it runs now.
    fn process(&self) -> Result<Controlled> {
        Controlled::of(&inspect::one(&self.pid.to_string(), &self.place)?)
    }

    /// Does what `ctl` does.
    fn control(&self, asked: &Asked) -> Response {
        match self.controlled(asked) {
            Ok(()) => self.state(),
            Err(e) => refused(&format!("{e:#}")),
        }
    }

    fn controlled(&self, asked: &Asked) -> Result<()> {
        let process = self.process()?;
        let mode = match asked.query.get("do") {
            Some("start") => process.first_mode()?,
            Some("stop") => Mode::Off,
            Some("mode") => {
                let mode = asked.query.get("mode").context("`mode` is missing")?;
                parse_mode(mode).map_err(anyhow::Error::msg)?
            }
            Some("mark") => {
                let name = asked.query.get("name").filter(|name| !name.is_empty());
                return process.mark(name.context("the mark has no name")?.as_bytes());
            }
            _ => anyhow::bail!("there is no such control"),
        };
        process.set_mode(process.nearest(mode))
    }
}

fn refused(why: &str) -> Response {
    let error: Value = json!({ "error": why });
    Response::json(Status::BadRequest, &error)
}
