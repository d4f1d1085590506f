//! Counts what the drainer takes, and closes windows. What was counted is saved before it is freed in its session, so that
//! an agent that is killed leaves neither a gap nor anything that is counted twice: the next one closes the window that was
//! open, under the name that it had, and goes on where it was counted to.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_collect::Tap;
use heapscribe_convert::Opened;
use heapscribe_convert::otlp::{self, post::gzip};
use heapscribe_convert::recorded::About;
use heapscribe_convert::rolling::{self, DefinitionsTrace, Image, ImageKey, Window};
use heapscribe_convert::tables::rows::Sum;
use heapscribe_diagnostics::Problem;
use heapscribe_formats::model::{ChunkInfo, ProcessEnd, ProcessIndex, ProcessInfo, SessionInfo};
use heapscribe_session::monotonic_ns;
use heapscribe_symbols::Resolver;
use heapscribe_wire::definitions::Position;
use heapscribe_wire::head::DROP_COUNTERS;

use super::place::Place;
use super::spool::{Dropped, Spool};
use super::state::{self, State};
use super::tables::{self, Names, Whose};
use crate::message;

/// Processes that have ended of which all is forgotten together, once there are more of them than others.
const ENDED_MIN: usize = 64;

/// Where windows go.
pub(crate) struct Target {
    pub(crate) out: PathBuf,
    pub(crate) whose: Whose,
    /// The service in names of files.
    pub(crate) service: String,
    /// Where profiles wait for a collector, if there is one.
    pub(crate) spool: Option<Spool>,
}

/// The windows of a recording.
pub(crate) struct Windows {
    target: Target,
    place: Place,
    state: State,
    info: SessionInfo,
    definitions: DefinitionsTrace,
    /// A file of definitions that the saved state may still name.
    before_this: Option<PathBuf>,
    /// By their numbers in the trace of definitions.
    images: Vec<Image>,
    /// Those of the drainer's processes that are not forgotten.
    numbers: BTreeMap<ProcessIndex, ProcessIndex>,
    /// Those of the agent before this one, until their processes are seen.
    restored: BTreeMap<ImageKey, Image>,
    /// What recorders of processes that have ended lost.
    drops: [u64; DROP_COUNTERS],
    /// Whether the state could not be saved, which is said once.
    is_unsaved: bool,
    pub(crate) closed: u64,
    /// What windows had that are closed, and how many samples.
    before: (Sum, u64),
}

/// What another agent left. A file that makes no sense is set aside: the service must start all the same. Sessions that
/// are there already have what that agent counted, and nobody knows up to where: they would be counted twice.
fn left(path: &Path, takes_sessions: bool) -> Result<(State, Vec<Image>)> {
    match State::load(path) {
        Ok(left) => Ok(left.unwrap_or_default()),
        Err(e) if e.kind() == io::ErrorKind::InvalidData && takes_sessions => {
            let hint = format!(
                "remove {} to count again what its sessions still have; what windows that are written \
                 already have of it counts twice then",
                path.display()
            );
            Err(Problem::new(e.to_string(), hint).into())
        }
        Err(e) if e.kind() == io::ErrorKind::InvalidData => {
            let aside = path.with_extension("damaged");
            std::fs::rename(path, &aside).context("cannot set aside what another agent left")?;
            message::warning(&format!(
                "{e}; begun anew. The window that was open is lost, and how much was in it; the file is {} now",
                aside.display()
            ));
            Ok(<(State, Vec<Image>)>::default())
        }
        Err(e) => Err(e).context("cannot read what another agent left"),
    }
}

impl Windows {
    /// Goes on where another agent was killed, whose open window is closed; else begins. Gives the directory of its sessions,
    /// if there was one.
    pub(crate) fn begin(
        target: Target,
        place: Place,
        info: &SessionInfo,
        takes_sessions: bool,
    ) -> Result<Windows> {
        let (mut state, mut images) = left(&place.state(), takes_sessions)?;
        let boot = state::boot();
        let before = place.definitions(state.starts);
        if state.boot == boot {
            close_left(&target, &place, &mut state, &mut images, &before)?;
        } else {
            let lost = images.iter().map(|image| image.allocated().blocks).fold(0, u64::saturating_add);
            if lost > 0 {
                message::warning(&format!(
                    "the machine was started anew: {} of the window that was open are in no window",
                    heapscribe_units::counted(lost, "block")
                ));
            }
            if let Some(spool) = &target.spool {
                if !state.boot.is_empty() {
                    spool.remove_unclosed(state.window_mono_ns); // the open window is in none, as was just said
                }
                spool.put_first();
            }
            let run = format!("{}-{:x}", boot.get(..8).unwrap_or_default(), info.started_mono_ns);
            state = State { boot, run, starts: state.starts, dropped: state.dropped, ..State::default() };
            state.window_mono_ns = info.started_mono_ns;
            images.clear();
        }
        state.window_real_ns =
            info.started_real_ns.saturating_sub(info.started_mono_ns.saturating_sub(state.window_mono_ns));
        state.starts += 1;
        let definitions = DefinitionsTrace::create(&place.definitions(state.starts), info)?;
        let restored = images.into_iter().filter(|image| !image.has_ended).map(|image| (image.key, image));
        let mut windows = Windows {
            target,
            place,
            state,
            info: info.clone(),
            definitions,
            before_this: Some(before),
            images: Vec::new(),
            numbers: BTreeMap::new(),
            restored: restored.collect(),
            drops: [0; DROP_COUNTERS],
            is_unsaved: false,
            closed: 0,
            before: (Sum::default(), 0),
        };
        windows.save();
        Ok(windows)
    }

    /// The state.
    pub(crate) fn state(&mut self) -> &mut State {
        &mut self.state
    }

    /// Closes the window with what was counted. On failure it stays open, and the next one has what it had.
    pub(crate) fn close(&mut self) -> Result<()> {
        let to_ns = monotonic_ns();
        let trace = self.definitions.open()?;
        let dropped = write(&self.target, (&self.place, &self.state), &self.images, &trace, to_ns)?;
        self.state.dropped.add(dropped);
        self.before = (self.allocated_of_all(), self.samples_of_all());
        next_window(&mut self.state, &mut self.images, to_ns);
        self.closed += 1;
        self.forget_ended();
        self.save();
        Ok(())
    }

    /// Forgets processes that have ended and are in no window that is open: a service may start thousands in an hour. Where
    /// the disk has no room for it, the next window tries it.
    fn forget_ended(&mut self) {
        let living: Vec<ProcessIndex> = (0..)
            .map(ProcessIndex)
            .zip(&self.images)
            .filter(|(_, of)| !of.has_ended)
            .map(|of| of.0)
            .collect();
        let ended = self.images.len() - living.len();
        // A file that the saved state may still name is not written over.
        if ended < living.len().max(ENDED_MIN) || self.before_this.is_some() {
            return;
        }
        let path = self.place.definitions(self.state.starts + 1);
        let Ok(definitions) = self.definitions.with_only(&living, &path, &self.info) else { return };
        self.before_this = Some(self.place.definitions(self.state.starts));
        self.state.starts += 1;
        self.definitions = definitions;
        self.images.retain(|image| !image.has_ended);
        self.numbers.retain(|_, number| living.binary_search(number).is_ok());
        for number in self.numbers.values_mut() {
            let new = living.partition_point(|old| old < number);
            *number = ProcessIndex(new as u32);
        }
    }

    /// The image of a process of the drainer.
    fn image(&mut self, process: ProcessIndex) -> Option<(ProcessIndex, &mut Image)> {
        let number = *self.numbers.get(&process)?;
        self.images.get_mut(number.0 as usize).map(|image| (number, image))
    }

    /// Windows that were not delivered, with these.
    pub(crate) fn dropped(&mut self, more: Dropped) -> Dropped {
        self.state.dropped.add(more);
        self.state.dropped
    }

    /// When the window that is open began.
    pub(crate) fn window_began_ns(&self) -> u64 {
        self.state.window_mono_ns
    }

    /// Samples that were seen in it.
    pub(crate) fn seen(&self) -> u64 {
        self.images.iter().map(|image| image.seen).sum()
    }

    /// What was allocated since this agent began, and in a window that another one left open.
    pub(crate) fn allocated_of_all(&self) -> Sum {
        sum(self.images.iter().map(Image::allocated).chain([self.before.0]))
    }

    /// Samples that were seen since then.
    pub(crate) fn samples_of_all(&self) -> u64 {
        self.before.1 + self.seen()
    }

    /// What is live.
    pub(crate) fn live(&self) -> Sum {
        sum(self.images.iter().map(Image::live))
    }

    /// What recorders of processes that have ended lost.
    pub(crate) fn drops(&self) -> [u64; DROP_COUNTERS] {
        self.drops
    }

    fn save(&mut self) {
        self.state.until_ns = monotonic_ns();
        // First what numbers mean, then the numbers.
        let saved = self.definitions.flush().and_then(|()| {
            let images = self.images.iter().chain(self.restored.values());
            self.state.save(&self.place.state(), images)
        });
        match saved {
            Ok(()) => {
                self.is_unsaved = false;
                if let Some(before) = self.before_this.take() {
                    let _ = std::fs::remove_file(before); // there is none at the first start
                }
            }
            Err(e) if !self.is_unsaved => {
                self.is_unsaved = true;
                message::warning(&format!("cannot save what another agent needs to go on: {e}"));
            }
            Err(_) => {}
        }
    }
}

impl Tap for Windows {
    fn process(&mut self, process: ProcessIndex, info: &ProcessInfo) {
        let key = ImageKey { pid: info.pid, created_mono_ns: info.created_mono_ns };
        let number = self.definitions.process(info);
        self.numbers.insert(process, number);
        self.images.push(self.restored.remove(&key).unwrap_or_else(|| Image::new(key)));
    }

    fn definitions(&mut self, process: ProcessIndex, position: Position, bytes: &[u8]) {
        let Some((number, image)) = self.image(process) else { return };
        image.definitions(position, bytes);
        self.definitions.definitions(number, position, bytes);
    }

    fn events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) {
        if let Some((_, image)) = self.image(process) {
            image.chunk(info, payload);
        }
    }

    fn ended(&mut self, process: ProcessIndex, end: &ProcessEnd) {
        if let Some((_, image)) = self.image(process) {
            image.has_ended = true;
        }
        for (sum, n) in self.drops.iter_mut().zip(end.drops) {
            *sum = sum.saturating_add(n);
        }
    }

    fn commit(&mut self) {
        self.save();
    }
}

fn sum(sums: impl Iterator<Item = Sum>) -> Sum {
    let mut all = Sum::default();
    sums.for_each(|sum| all.add(&sum));
    all
}

/// Closes the window that an agent left open that was killed.
fn close_left(
    target: &Target,
    place: &Place,
    state: &mut State,
    images: &mut [Image],
    definitions: &std::path::Path,
) -> Result<()> {
    if let Some(spool) = &target.spool {
        spool.remove_unclosed(state.window_mono_ns);
    }
    let has_any = images.iter().any(|image| image.allocated() != Sum::default());
    if has_any {
        let trace = DefinitionsTrace::left(definitions)
            .with_context(|| format!("cannot close the window that was open: {}", definitions.display()))?;
        let until_ns = state.until_ns;
        let dropped = write(target, (place, state), images, &trace, until_ns)?;
        state.dropped.add(dropped);
        next_window(state, images, until_ns);
        state.save(&place.state(), images.iter()).context("cannot save the state")?;
    }
    Ok(())
}

fn next_window(state: &mut State, images: &mut [Image], to_ns: u64) {
    images.iter_mut().for_each(Image::next_window);
    state.window_real_ns = state.window_real_ns.saturating_add(to_ns.saturating_sub(state.window_mono_ns));
    state.window_mono_ns = to_ns;
}

/// Writes a window; what had to make room for it.
fn write(
    target: &Target,
    (place, state): (&Place, &State),
    images: &[Image],
    trace: &Opened,
    to_ns: u64,
) -> Result<Dropped> {
    let from_ns = state.window_mono_ns;
    let rows = rolling::rows(images, trace, Window { from_ns, to_ns });
    let whose = &target.whose;
    let number = (from_ns, state.window_real_ns);
    let names = Names::new(&target.out, &whose.host, &target.service, &state.run, number);
    tables::write(&rows, trace, whose, &names, (place, &state.rate.to_string()))?;
    let Some(spool) = &target.spool else { return Ok(Dropped::default()) };
    let mut about = About::of(trace);
    about.begin_real_ns = state.window_real_ns;
    about.duration_ns = to_ns.saturating_sub(from_ns);
    about.service.clone_from(&whose.service);
    about.attributes.clone_from(&whose.labels);
    if let Some(version) = &whose.version {
        about.attributes.insert("service.version".to_owned(), version.clone());
    }
    let profile = otlp::of_samples(&rolling::samples(&rows), &about, &Resolver::without_files());
    let all = sum(rows.rows.iter().map(|row| row.allocated));
    let packed = gzip(&profile).context("cannot compress a profile")?;
    spool.add(from_ns, (all.blocks, all.bytes), &packed).context("cannot write into the spool")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_state_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        std::fs::write(&path, b"heapscribe-agent 1\nwindow x\xff\n").unwrap();
        let refused = left(&path, true).unwrap_err();
        let refused = format!("{:?}", refused.downcast_ref::<Problem>());
        assert!(path.exists(), "its sessions would be counted twice");
        assert!(refused.contains("already have of it counts twice"), "{refused}");
        assert_eq!(left(&path, false).unwrap(), Default::default());
        assert!(!path.exists() && dir.path().join("state.damaged").exists());
        assert_eq!(left(&path, true).unwrap(), Default::default(), "there is none");
    }
}
