//! One trace of the two that a killed `record` leaves: the one that it was writing, and the rest, which `recover`
//! takes out of the sessions.
//!
//! Blocks are copied as they are stored. A chunk that `record` had written and not yet freed is in both: threads number
//! their chunks, so it is known, and copied once. So is one that the rest has twice, as a running process wrote it out while
//! it was read. Of a process that is in the rest, definitions, tables of live blocks and the end are those of the rest,
//! which has all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::{Context, Result};
use heapscribe_formats::model::{Process, ProcessEnd, ProcessIndex, ProcessInfo, SessionEnd};
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::header::HEADER_BYTES;
use heapscribe_formats::native::splice::{Piece, Pieces};
use heapscribe_formats::{Scratch, Source, Trace};
use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Position};
use heapscribe_wire::ids::NameId;
use heapscribe_wire::limits::NAMES_MAX;

use super::trace_output::{CANNOT_WRITE, TraceOutput};

/// The thread of marks that `ctl` requested, which `record` writes and numbers itself.
const CTL: u32 = 0;

/// What tells the processes of one machine apart.
type Identity = (u32, u64);

/// What tells chunks apart: process, thread, and number among those of the thread.
type ChunkId = (ProcessIndex, u32, u64);

/// A trace that was joined.
#[derive(Debug, Default)]
pub struct Joined {
    /// Its bytes.
    pub bytes: u64,
    /// What could not be read of the two.
    pub problems: Vec<String>,
}

/// Writes the two as one.
///
/// # Errors
/// When it cannot be written, or a part not be read at all.
pub fn join<S: Source + Copy, T: Source + Copy>(first: S, rest: T, out: impl Write) -> Result<Joined> {
    let parts = (Trace::open(first)?, Trace::open(rest)?);
    let mut to = Join { to: TraceOutput::new(out), joined: Joined::default() };
    to.to.writer.start(&parts.1.session().cloned().unwrap_or_default(), &mut to.to.bytes);
    let numbers = to.processes(parts.0.processes(), parts.1.processes());
    let (of_first, of_rest) = (numbers.of(parts.0.processes()), numbers.of(parts.1.processes()));
    let known: BTreeSet<ProcessIndex> = of_rest.values().copied().collect();
    let is_defined = |kind| kind == Kind::Definitions;
    to.copy(rest, &of_rest, |piece, _| is_defined(piece.kind))?;
    to.names_of_marks(&parts, &of_first, &of_rest)?;
    let (in_rest, mut written) = (events(&parts.1, &of_rest), BTreeSet::new());
    let mut is_new = |piece: &Piece<'_>, process| {
        let Some((info, sums)) = piece.chunk else { return true };
        let chunk = (process, info.thread, info.sequence);
        let has_all = in_rest.get(&chunk).is_none_or(|events| *events <= sums.events);
        info.thread == CTL || has_all && written.insert(chunk)
    };
    let end = to.copy(first, &of_first, |piece, process| {
        let is_of_rest = matches!(
            piece.kind,
            Kind::Definitions | Kind::Live | Kind::Blocks | Kind::MemoryMap | Kind::Pages
        );
        !(is_of_rest && known.contains(&process)) && is_new(piece, process)
    })?;
    to.damage(&parts.0, end);
    to.copy(rest, &of_rest, |piece, process| !is_defined(piece.kind) && is_new(piece, process))?;
    let of_ended = parts.0.processes().iter().filter(|process| !known.contains(&of_first[&process.index.0]));
    to.ends(of_ended, &of_first);
    to.ends(parts.1.processes().iter(), &of_rest);
    if let Some(end) = parts.1.session_end() {
        // `record --no-wait` has seen how the program ended; `recover` cannot know it.
        let exit = end.exit.or(parts.0.session_end().and_then(|end| end.exit));
        to.to.writer.session_end(&SessionEnd { exit, ..end.clone() }, &mut to.to.bytes);
    }
    to.finish()
}

/// The numbers of processes in the new trace.
struct Numbers(BTreeMap<Identity, ProcessIndex>);

impl Numbers {
    /// By their numbers in a part.
    fn of(&self, processes: &[Process]) -> BTreeMap<u32, ProcessIndex> {
        let number =
            |process: &Process| Some((process.index.0, *self.0.get(&identity(process.info.as_ref()?))?));
        processes.iter().filter_map(number).collect()
    }
}

/// Events of each chunk of a part; of copies of one chunk, those of the longest.
fn events<S: Source>(part: &Trace<S>, numbers: &BTreeMap<u32, ProcessIndex>) -> BTreeMap<ChunkId, u32> {
    let mut events = BTreeMap::new();
    for chunk in part.chunks() {
        let Some(process) = numbers.get(&chunk.process.0) else { continue };
        let most = events.entry((*process, chunk.info.thread, chunk.info.sequence)).or_insert(0);
        *most = chunk.sums.events.max(*most);
    }
    events
}

fn name_of_mark(definition: &Definition<'_>) -> Option<(u32, Vec<u8>)> {
    match definition {
        Definition::Name { id, name } if id.0 > NAMES_MAX => Some((id.0, name.to_vec())),
        _ => None,
    }
}

fn identity(info: &ProcessInfo) -> Identity {
    (info.pid, info.created_mono_ns)
}

struct Join<W> {
    to: TraceOutput<W>,
    joined: Joined,
}

impl<W: Write> Join<W> {
    /// Writes the processes of both by the time of their creation.
    fn processes(&mut self, first: &[Process], rest: &[Process]) -> Numbers {
        let infos = first.iter().chain(rest).filter_map(|process| process.info.as_ref());
        let mut infos: Vec<&ProcessInfo> = infos.collect();
        infos.sort_by_key(|info| (info.created_mono_ns, info.pid));
        infos.dedup_by_key(|info| identity(info));
        let number = |info: &&ProcessInfo| (identity(info), self.to.writer.process(info, &mut self.to.bytes));
        Numbers(infos.iter().map(number).collect())
    }

    /// Writes the names of marks that `ctl` requested: no session has them.
    fn names_of_marks<S: Source, T: Source>(
        &mut self,
        (first, rest): &(Trace<S>, Trace<T>),
        of_first: &BTreeMap<u32, ProcessIndex>,
        of_rest: &BTreeMap<u32, ProcessIndex>,
    ) -> Result<()> {
        for process in rest.processes() {
            let Some(number) = of_rest.get(&process.index.0) else { continue };
            let Some((in_first, _)) = of_first.iter().find(|(_, of_first)| *of_first == number) else {
                continue;
            };
            let (mut names, mut of_rest) = (BTreeMap::new(), BTreeMap::new());
            let mut position = Position::default();
            first.definitions(ProcessIndex(*in_first), &mut Scratch::default(), |_, definition| {
                names.extend(name_of_mark(definition));
            })?;
            rest.definitions(process.index, &mut Scratch::default(), |id, definition| {
                position.next_node = position.next_node.max(id.0.saturating_add(1));
                of_rest.extend(name_of_mark(definition));
            })?;
            if of_rest.iter().any(|(id, name)| names.get(id).is_some_and(|other| other != name)) {
                self.joined
                    .problems
                    .push("marks of `ctl` after the end of `record` have names of others".into());
            }
            for (id, name) in &names {
                let mut at = [0; DEFINITION_BYTES_MAX];
                let name = Definition::Name { id: NameId(*id), name };
                let bytes = name.encode(&mut position.clone(), &mut at).unwrap_or(0);
                self.to.writer.definitions(*number, position, &at[..bytes], &mut self.to.bytes);
            }
        }
        Ok(())
    }

    /// Copies the pieces of a part that are wanted, but for what is written anew; where its last whole one ends.
    fn copy<S: Source>(
        &mut self,
        part: S,
        numbers: &BTreeMap<u32, ProcessIndex>,
        mut wants: impl FnMut(&Piece<'_>, ProcessIndex) -> bool,
    ) -> Result<u64> {
        let mut pieces = Pieces::new(part, HEADER_BYTES as u64);
        while let Ok(Some(piece)) = pieces.next_piece() {
            let is_copied = matches!(
                piece.kind,
                Kind::Definitions
                    | Kind::Events
                    | Kind::Memory
                    | Kind::Heap
                    | Kind::Resident
                    | Kind::Live
                    | Kind::Blocks
                    | Kind::MemoryMap
                    | Kind::Pages
            );
            if let Some(process) = numbers.get(&piece.process).filter(|_| is_copied)
                && wants(&piece, *process)
            {
                self.to.writer.splice(*process, &piece, &mut self.to.bytes);
            }
            self.to.flush_when_full().context(CANNOT_WRITE)?;
        }
        Ok(pieces.offset())
    }

    /// Notes what there is behind damage. Nothing is: `record` was killed in the middle of a block, whose chunks are in
    /// the rest.
    fn damage<S: Source>(&mut self, first: &Trace<S>, end: u64) {
        let lost = first.chunks().iter().filter(|chunk| chunk.offset >= end).count();
        if lost > 0 {
            let chunks = heapscribe_units::counted(lost as u64, "chunk");
            self.joined
                .problems
                .push(format!("damage at byte {end} of the first part hides {chunks} behind it"));
        }
    }

    /// Writes how processes ended. The peak that is known there is that of the rest alone.
    fn ends<'p>(
        &mut self,
        processes: impl Iterator<Item = &'p Process>,
        numbers: &BTreeMap<u32, ProcessIndex>,
    ) {
        for process in processes {
            if let (Some(number), Some(end)) = (numbers.get(&process.index.0), &process.end) {
                let end = ProcessEnd { peak: None, ..end.clone() };
                self.to.writer.process_end(*number, &end, &mut self.to.bytes);
            }
        }
    }

    fn finish(self) -> Result<Joined> {
        Ok(Joined { bytes: self.to.finish().context(CANNOT_WRITE)?, ..self.joined })
    }
}
