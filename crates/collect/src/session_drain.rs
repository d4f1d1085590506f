//! One session being drained: the four files of one process image, read by copies.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use heapscribe_analyze::answer::Amount;
use heapscribe_convert::ring::Held;
use heapscribe_formats::model::{HowEnded, LiveRole, MemorySample, ProcessIndex, Stage};
use heapscribe_wire::chunk::State;
use heapscribe_wire::definitions::{Definition, Position};
use heapscribe_wire::head::{Head, Leaving};

use crate::first_chunks::Rest;
use crate::heap_samples::HeapSamples;
use crate::jit_names::JitNames;
use crate::killed;
use crate::log::Log;
use crate::marks::{MarkContext, Marks};
use crate::named_snapshots;
use crate::other_programs;
use crate::output::Output;
use crate::session_head::SessionHead;
use crate::spilled::SpillProgress;
use crate::summary::losses;
use heapscribe_session::inspect::{self, Snapshot};
use heapscribe_session::jit::TickLine;
use heapscribe_session::{
    Alive, Memory, SessionKey, base_directory, counter_and_ns, is_out_of_descriptors, mark_request,
    own_namespace, process_info, read_head, read_up_to, try_open_file,
};

mod chunks;

pub(super) use self::chunks::SealedChunk;

/// Definitions taken in one go.
const DEFINITIONS_BYTES: usize = 4 << 20;

/// There is no descriptor for a session.
pub(super) struct OutOfDescriptors;

/// A session, and how far it is drained.
pub(super) struct SessionDrain {
    directory: PathBuf,
    head: SessionHead,
    defs: File,
    log: Log,
    alive: Option<Alive>,
    /// The pid namespace in which the session's pid counts, by inode number.
    pub(super) namespace: u64,
    memory: Memory,
    heap: HeapSamples,
    jit: JitNames,
    samples: Vec<MemorySample>,
    pub(super) process: Option<ProcessIndex>,
    key: SessionKey,
    position: Position,
    defs_read: u64,
    spill: SpillProgress,
    has_calls: bool,
    /// The newest moment that is known of it.
    newest_mono_ns: u64,
    marks: Marks,
    notes: Vec<String>,
    /// Whether nothing of it goes into the trace.
    is_ignored: bool,
    /// What is taken of it, where chunks may have been written to another trace before.
    rest: Option<Rest>,
}

impl SessionDrain {
    /// The session `key` of `base`, when its files are there; `keeps`: of a dead process nothing is taken out of them. A
    /// half-made one whose process has ended is removed: nothing was recorded in it.
    ///
    /// # Errors
    /// When there is no descriptor for it: then it is left as it is.
    pub(super) fn open(
        base: &Path,
        key: SessionKey,
        keeps: bool,
    ) -> Result<Option<SessionDrain>, OutOfDescriptors> {
        let directory = base_directory::session_path(base, key);
        let SessionKey { pid, created_mono_ns } = key;
        let files = || {
            let file = |name, write| try_open_file(&directory.join(name), write);
            Ok((file("head", true)?, file("defs", false)?, file("log", true)?))
        };
        let ready = || match files() {
            Err(e) if is_out_of_descriptors(&e) => Err(OutOfDescriptors),
            files => Ok(files
                .ok()
                .and_then(|files| Some((read_head(&files.0, |head| head.pid_namespace)?, files)))),
        };
        let opened = ready()?;
        let opened = if opened.is_none() && Alive::of_session(base, key).is_none() {
            // A forked child may have made its session, used it and ended since that look.
            let opened = ready()?;
            if opened.is_none() {
                base_directory::remove_session(base, key);
            }
            opened
        } else {
            opened
        };
        let Some((namespace, (head, defs, log))) = opened else { return Ok(None) };
        let alive = Alive::find_in(namespace, pid, created_mono_ns);
        let pid_here = pid_here(alive.as_ref(), namespace, pid);
        let jit = JitNames::of(pid, pid_here);
        // Sampled at once: a short-lived process may not be there for a second time.
        let memory = alive.as_ref().map_or_else(Memory::of_ended, |alive| Memory::of(alive.pid()));
        let memory = memory.without(&directory);
        Ok(Some(SessionDrain {
            directory,
            head: SessionHead::new(head),
            defs,
            log: Log::new(log, keeps && alive.is_none()),
            alive,
            namespace,
            samples: memory.sample().into_iter().collect(),
            memory,
            heap: HeapSamples::default(),
            jit,
            key,
            process: None,
            position: Position::default(),
            defs_read: 0,
            spill: SpillProgress::default(),
            has_calls: false,
            newest_mono_ns: created_mono_ns,
            marks: Marks::default(),
            notes: Vec::new(),
            is_ignored: false,
            rest: None,
        }))
    }

    /// Ignores a process whose program fits none of the patterns `only`, if there are any, or one of `except`, and tells
    /// it to record no more.
    pub(super) fn ignore_unless(&mut self, only: &[String], except: &[String]) {
        self.is_ignored = other_programs::silence(self.head.file(), only, except);
    }

    /// Tells that `record` may have written and freed chunks of it; those that it did not free are held elsewhere, too.
    pub(super) fn begins_late(&mut self, held: Rc<Held>) {
        self.rest = Some(Rest::new(held));
        self.jit.begin_late();
    }

    /// Its head.
    pub(super) fn head(&self) -> Rc<File> {
        self.head.file().clone()
    }

    /// Whether nothing of it goes into the trace.
    pub(super) fn is_ignored(&self) -> bool {
        self.is_ignored
    }

    /// The file of its program, if that was exec'd.
    pub(super) fn program(&self) -> Option<Vec<u8>> {
        self.head.program()
    }

    /// The pid that its process has, or had, here.
    pub(super) fn pid_here(&self) -> Option<u32> {
        pid_here(self.alive.as_ref(), self.namespace, self.key.pid)
    }

    pub(super) fn alive(&self) -> Option<&Alive> {
        self.alive.as_ref()
    }

    /// How the process image has ended, if it has.
    pub(super) fn how_ended(&self) -> Option<HowEnded> {
        // Asked first: a process that is seen to have ended has said before what it was about to do.
        let is_alive = self.alive.as_ref().is_some_and(Alive::is_alive);
        match self.head.leaving() {
            Some(Leaving::Exec) => (!is_alive || self.head.is_abandoned()).then_some(HowEnded::Execed),
            leaving => (!is_alive)
                .then(|| killed::how_ended(self.pid_here(), self.key.created_mono_ns, leaving.is_some())),
        }
    }

    /// How the process image has ended whose pid has another session now: it exec'd, unless the process itself has ended
    /// and the pid is used again. Within two ticks of the kernel's clock the new process may pass for the old one.
    pub(super) fn how_replaced(&self) -> HowEnded {
        let of_living = match self.head.leaving() {
            Some(Leaving::Exit) => HowEnded::Exited,
            _ => HowEnded::Execed,
        };
        self.how_ended().unwrap_or(of_living)
    }

    /// The number of the process in the trace, which gets it at first.
    fn process(&mut self, output: &mut Output) -> ProcessIndex {
        if let Some(process) = self.process {
            return process;
        }
        let info = read_head(self.head.file(), process_info).unwrap_or_default();
        output.summary.began(info.created_mono_ns);
        output.summary.programs += u64::from(info.stage == Stage::Execed);
        let process = output.process(&info);
        self.process = Some(process);
        self.spill.bytes = output.spilled(process).unwrap_or(0);
        process
    }

    /// Writes a mark that `ctl` requested.
    fn take_mark(&mut self, process: ProcessIndex, output: &mut Output) {
        let Some(mark) = mark_request::take(&self.directory) else { return };
        let headers = self.log.chunks(self.head.chunks_in_use(), |header| header.state != State::Free as u32);
        let (marks, position) = (&mut self.marks, self.position);
        read_head(self.head.file(), |head| {
            marks.write(mark, &MarkContext { process, position, head, headers: &headers }, output);
        });
    }

    fn take_definitions(&mut self, process: ProcessIndex, output: &mut Output) {
        let committed = self.head.committed_bytes();
        while self.defs_read < committed {
            let mut bytes = vec![0; ((committed - self.defs_read) as usize).min(DEFINITIONS_BYTES)];
            let n = read_up_to(&self.defs, &mut bytes, self.defs_read);
            let see = |definition: &Definition<'_>| self.jit.definition(definition);
            let accepted = output.definitions(process, self.position, &bytes[..n], see);
            self.jit.defined(accepted.bytes, accepted.position);
            self.position = accepted.position;
            self.defs_read += accepted.bytes as u64;
            if accepted.bytes == 0 {
                let why = accepted.bad.map_or("it is truncated", |bad| bad.why);
                self.note(format!("cannot read the definitions from byte {} on: {why}", self.defs_read));
                self.defs_read = u64::MAX;
            }
        }
    }

    /// Samples its memory; now and then what was sampled goes into the trace.
    /// The more processes there are, the fewer of each wait until then.
    pub(super) fn sample_memory(&mut self, processes: usize, output: &mut Output) {
        const SAMPLES_MAX: usize = 500;
        const SAMPLES_OF_ALL: usize = 1 << 16;
        if self.is_ignored {
            return;
        }
        self.samples.extend(self.memory.sample());
        self.jit.look();
        self.sample_heap(false, output);
        let limit = (SAMPLES_OF_ALL / processes.max(1)).clamp(1, SAMPLES_MAX);
        let Some(process) = self.process else { return };
        if self.samples.len() >= limit {
            output.memory(process, &std::mem::take(&mut self.samples));
        }
        if self.heap.waiting() >= limit {
            self.heap.write(process, output);
        }
    }

    fn sample_heap(&mut self, is_last: bool, output: &mut Output) {
        let base = self.directory.parent().unwrap_or(&self.directory);
        self.heap.sample(base, self.key, is_last, &mut output.heaps);
    }

    fn note(&mut self, note: String) {
        const NOTES_MAX: usize = 16;
        self.notes.extend((self.notes.len() < NOTES_MAX).then_some(note));
    }

    /// Writes what is live, which does not follow from events of which some are missing. Gives how much it is.
    fn write_live(&mut self, process: ProcessIndex, how: HowEnded, output: &mut Output) -> Option<Amount> {
        let role = if how == HowEnded::Abandoned { LiveRole::Snapshot } else { LiveRole::After };
        let snapshot =
            inspect::at(&self.directory).and_then(|path| Snapshot::take(&path.open()?)?.undamaged());
        let unknown = |e| self.note(format!("the live blocks are not known: {e:#}"));
        let snapshot = snapshot.map_err(unknown).ok()?;
        let (live, problems) = output.live(process, &snapshot, 0, role);
        problems.into_iter().for_each(|problem| self.note(problem));
        Some(live)
    }

    /// Takes all that is left, and writes how the image ended, and when: at `ended_mono_ns` at the latest, when
    /// that was seen. A process that left by itself has said it, and others may hold blocks before we look. Of one that
    /// was dead when it was found the newest moment is written that is known of it. Gives the head.
    pub(super) fn end(mut self, how: HowEnded, ended_mono_ns: u64, output: &mut Output) -> Rc<File> {
        if self.is_ignored {
            return self.head.into_file();
        }
        let process = self.process(output);
        self.take_definitions(process, output);
        // It is older than what is still in the log.
        self.take_spilled(process, output);
        let mut sealed = Vec::new();
        self.add_sealed(u64::MAX, output, &mut sealed);
        sealed.iter().for_each(|chunk| self.take_sealed(chunk, output));
        // Before the chunks are freed: should we be killed, they are there or here.
        output.flush();
        self.free(sealed.iter(), output);
        // A thread killed while it wrote a chunk out has left it in both places.
        let open = self.log.chunks(self.head.chunks_in_use(), |h| {
            h.state != State::Free as u32 && h.committed > 0 && !self.spill.has(h)
        });
        self.take_definitions(process, output);
        output.set_clock(read_head(self.head.file(), |head| TickLine::new(head, None, counter_and_ns())));
        for (index, header) in &open {
            self.take_chunk(process, *index, header, output);
        }
        output.set_clock(None);
        output.memory(process, &std::mem::take(&mut self.samples));
        self.sample_heap(how != HowEnded::Execed, output);
        self.heap.write(process, output);
        let names = self.jit.names(self.head.file(), ended_mono_ns, &self.defs);
        output.definitions(process, self.position, &names, |_| ());
        let (mut end, problem) = self.head.process_end(&self.directory);
        problem.into_iter().for_each(|problem| self.note(problem));
        end.modes = self.head.modes(&self.directory, self.key.created_mono_ns);
        let problems = named_snapshots::write(&self.directory, process, output);
        problems.into_iter().for_each(|problem| self.note(problem));
        let is_needed = output.is_ring() || self.rest.is_some() || losses(&end).touches_leaks();
        let table = if is_needed { self.write_live(process, how, output) } else { None };
        if let Some(rest) = self.rest.take() {
            output.begins_late(process, rest.first, table);
        }
        let left = |head: &Head<'_>| head.leaving.map_or(u64::MAX, |_| head.leaving_mono_ns);
        let left_mono_ns = read_head(self.head.file(), left).filter(|_| how != HowEnded::Abandoned);
        let is_killed = left_mono_ns == Some(u64::MAX);
        let was_dead = is_killed && self.alive.is_none() && how != HowEnded::Execed;
        let seen_mono_ns = if was_dead { self.newest_mono_ns } else { ended_mono_ns };
        end.ended_mono_ns = seen_mono_ns.min(left_mono_ns.unwrap_or(u64::MAX));
        end.how = how;
        end.lost_note = self.notes.join("; ");
        output.image_ended(process, self.key, table, (self.has_calls, is_killed), end);
        if let Some(statistics) = self.heap.end(how) {
            output.summary.heaps.take(statistics);
        }
        self.head.into_file()
    }
}

/// The pid here of a process that is alive, or has ended; `None` of one that ended in another namespace: its pid there is
/// another's here.
fn pid_here(alive: Option<&Alive>, namespace: u64, pid: u32) -> Option<u32> {
    let is_ours = namespace == 0 || namespace == own_namespace();
    alive.map(Alive::pid).or(is_ours.then_some(pid))
}
