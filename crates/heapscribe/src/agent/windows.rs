//! Counts what the drainer takes, and closes windows. What was counted is saved before it is freed in its session, so that
//! an agent that is killed leaves neither a gap nor anything that is counted twice: the next one closes the window that was
//! open, under the name that it had, and goes on where it was counted to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use heapscribe_collect::Tap;
use heapscribe_convert::rolling::{DefinitionsTrace, Image, ImageKey};
use heapscribe_convert::tables::rows::Sum;
use heapscribe_formats::model::{ChunkInfo, ProcessEnd, ProcessIndex, ProcessInfo, SessionInfo};
use heapscribe_session::monotonic_ns;
use heapscribe_wire::definitions::Position;
use heapscribe_wire::head::DROP_COUNTERS;

use super::place::Place;
use super::previous::left;
use super::spool::Dropped;
use super::state::{self, State, StateFile};
use super::target::{Target, write};
use crate::message;

/// Processes that have ended of which all is forgotten together, once there are more of them than others.
const ENDED_MIN: usize = 64;

/// The windows of a recording.
pub(crate) struct Windows {
    target: Target,
    place: Place,
    state: State,
    info: SessionInfo,
    definitions: DefinitionsTrace,
    /// A file of definitions that the saved state may still name.
    before_this: Option<PathBuf>,
    file: StateFile,
    /// Images that are not in the file as they are now.
    changed: BTreeSet<ProcessIndex>,
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
            file: StateFile::at(place.state()),
            changed: BTreeSet::new(),
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
        self.changed.insert(number);
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

    /// Saves all of it.
    fn save(&mut self) {
        self.state.until_ns = monotonic_ns();
        // First what numbers mean, then the numbers.
        let saved = self.definitions.flush().and_then(|()| {
            let images = self.images.iter().chain(self.restored.values());
            self.file.replace(&self.state, images)
        });
        if saved.is_ok()
            && let Some(before) = self.before_this.take()
        {
            let _ = std::fs::remove_file(before); // there is none at the first start
        }
        self.saved(saved);
    }

    /// Saves what has changed. Images of another agent that were not seen come behind those that were, so that no other can
    /// be added.
    fn save_changes(&mut self) {
        self.state.until_ns = monotonic_ns();
        let added = self.definitions.flush().and_then(|()| {
            let changed = self.changed.iter().filter_map(|number| self.images.get(number.0 as usize));
            if self.restored.is_empty() { self.file.add(&self.state, changed) } else { Ok(false) }
        });
        match added {
            Ok(false) => self.save(),
            added => self.saved(added.map(drop)),
        }
    }

    fn saved(&mut self, saved: std::io::Result<()>) {
        match saved {
            Ok(()) => {
                self.is_unsaved = false;
                self.changed.clear();
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
        self.changed.insert(number);
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

    fn freed(&mut self, process: ProcessIndex, chunks: &[(u32, u64)]) {
        if let Some((_, image)) = self.image(process) {
            image.freed(chunks);
        }
    }

    fn spilled(&self, process: ProcessIndex) -> u64 {
        let image = self.numbers.get(&process).and_then(|number| self.images.get(number.0 as usize));
        image.map_or(0, |image| image.spilled_bytes)
    }

    fn has_spilled(&mut self, process: ProcessIndex, bytes: u64) {
        if let Some((_, image)) = self.image(process) {
            image.spilled_bytes = bytes;
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
        self.save_changes();
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
        StateFile::at(place.state()).replace(state, images.iter()).context("cannot save the state")?;
    }
    Ok(())
}

fn next_window(state: &mut State, images: &mut [Image], to_ns: u64) {
    images.iter_mut().for_each(Image::next_window);
    state.window_real_ns = state.window_real_ns.saturating_add(to_ns.saturating_sub(state.window_mono_ns));
    state.window_mono_ns = to_ns;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::agent::tables::Whose;

    fn windows(dir: &Path) -> Windows {
        let info = SessionInfo { host: "host".to_owned(), ..SessionInfo::default() };
        let whose = Whose { host: info.host.clone(), ..Whose::default() };
        let target = Target { out: dir.to_owned(), whose, service: "shop".to_owned(), spool: None };
        Windows::begin(target, Place::take(dir, "host", "shop").unwrap(), &info, false).unwrap()
    }

    fn process(windows: &mut Windows, pid: u32) -> ProcessIndex {
        windows.process(ProcessIndex(pid), &ProcessInfo { pid, ..ProcessInfo::default() });
        ProcessIndex(pid)
    }

    /// 2,000 programs that ended one after the other had all of them saved twice for each: windows of 10 s closed after two
    /// minutes.
    #[test]
    fn what_is_saved_for_a_process_does_not_grow_with_their_number() {
        let dir = tempfile::tempdir().unwrap();
        let mut windows = windows(dir.path());
        let before = windows.file.written;
        let processes: Vec<_> = (0..500).map(|pid| process(&mut windows, pid)).collect();
        windows.commit();
        let all = windows.file.written - before;
        for process in processes {
            windows.ended(process, &ProcessEnd::default());
            windows.commit();
        }
        let each = (windows.file.written - before - all) / 500;
        assert!(each < 200, "{each} bytes for a process, of {all} for all");
        let (_, images) = State::load(&windows.place.state()).unwrap().unwrap();
        assert_eq!(images, windows.images);
        windows.close().unwrap();
        assert_eq!(State::load(&windows.place.state()).unwrap().unwrap().1, []);
    }
}
