//! From heaptrack's data files to ours, raw ones and interpreted ones. A line of an allocation or a free is an event of
//! the one thread that there is; in a raw file modules stay modules, whose files give names; in an interpreted one each
//! instruction is a place, see [`heapscribe_symbols::places`].
//!
//! *Not in such a file*, so that nobody can answer it: threads; times between two milliseconds, so that events of one
//! keep their order and nothing else; calls that failed. In an interpreted file a free names a kind of blocks, and not
//! which one: the youngest is taken, so that lifetimes are the shortest that are possible. *Lost on the way*: resident
//! memory and suppressions.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use heapscribe_formats::heaptrack::{Reader, Record};
use heapscribe_formats::{HowEnded, ProcessEnd, ProcessInfo, SessionInfo};
use heapscribe_wire::definitions::{Definition, Module};
use heapscribe_wire::ids::{StackId, ThreadId};
use heapscribe_wire::record::{Block, Call, Event};

use super::frames::{Frames, Instruction};
use crate::native::thread_chunk::{ThreadChunk, ns_at, ticks_at};
use crate::native::writer::NativeWriter;

/// Our trace's clock at the start of theirs: 1 s, as 0 stands for a moment that is not known.
const START_NS: u64 = 1_000_000_000;
const NS_IN_MS: u64 = 1_000_000;

/// Converts a file that is not compressed (any more); what is not whole, in words.
///
/// # Errors
/// Those of the output. What cannot be read of the input ends it, in words.
pub fn convert(from: impl BufRead, out: impl Write) -> io::Result<Vec<String>> {
    let mut reader = Reader::new(from);
    let mut head = Head::default();
    let mut problems = Vec::new();
    let mut to: Option<Conversion<_>> = None;
    let mut out = Some(out);
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(e) => {
                problems.push(format!("cannot read on after line {}: {e}", reader.line_number()));
                break;
            }
        };
        if head.take(&record) {
            continue;
        }
        let to = match &mut to {
            Some(to) => to,
            None => {
                let Some(out) = out.take() else { break };
                to.insert(Conversion::new(&head, out)?)
            }
        };
        if !to.record(record)? {
            reader.note_bad();
        }
    }
    problems.extend(reader.problem());
    let is_whole = problems.is_empty();
    if let Some(out) = out {
        to = Some(Conversion::new(&head, out)?);
    }
    if let Some(to) = to {
        problems.extend(to.frames.problem());
        to.finish(is_whole)?;
    }
    Ok(problems)
}

/// What stands before everything else: the program.
#[derive(Default)]
struct Head {
    command: String,
    program: String,
}

impl Head {
    fn take(&mut self, record: &Record) -> bool {
        match record {
            Record::Command(command) => self.command.clone_from(command),
            Record::Program(program) => self.program.clone_from(program),
            Record::Version(_) => {}
            _ => return false,
        }
        true
    }
}

/// A block that is live.
#[derive(Clone, Copy)]
struct Live {
    birth_ticks: u64,
    size_bytes: u64,
    stack: StackId,
}

struct Conversion<W> {
    made: NativeWriter<W>,
    thread: ThreadChunk,
    frames: Frames,
    program: String,
    /// Whether the file is raw: instructions of stacks are addresses.
    is_raw: bool,
    ns: u64,
    kinds: Vec<(u64, u64)>,
    /// Live blocks of each kind, or at each address, the youngest last.
    live: HashMap<u64, Vec<Live>>,
}

impl<W: Write> Conversion<W> {
    fn new(head: &Head, out: W) -> io::Result<Self> {
        let command: Vec<Vec<u8>> = head.command.split(' ').map(|part| part.as_bytes().to_vec()).collect();
        let exe =
            if head.program.is_empty() { command[0].clone() } else { head.program.clone().into_bytes() };
        let session = SessionInfo {
            command: command.clone(),
            version: format!("from heaptrack, {}", env!("CARGO_PKG_VERSION")),
            started_mono_ns: START_NS,
            ..SessionInfo::default()
        };
        let created_ticks = ticks_at(START_NS);
        let process =
            ProcessInfo { created_mono_ns: START_NS, created_ticks, exe, command, ..ProcessInfo::default() };
        let mut frames = Frames::default();
        let name = b"all threads";
        let born_ticks = created_ticks;
        frames.definitions.define(&Definition::Thread { id: ThreadId(1), tid: 0, born_ticks, name });
        Ok(Conversion {
            made: NativeWriter::begin(&session, &process, out)?,
            thread: ThreadChunk::new(1, created_ticks - 1),
            frames,
            program: head.program.clone(),
            is_raw: !head.program.is_empty(),
            ns: START_NS,
            kinds: Vec::new(),
            live: HashMap::new(),
        })
    }

    /// Takes a line; whether it makes sense here.
    fn record(&mut self, record: Record) -> io::Result<bool> {
        if self.thread.is_full() {
            self.made.seal(&mut self.thread, &mut self.frames.definitions)?;
        }
        match record {
            Record::Text(text) => self.frames.text(text),
            Record::Instruction(address, module, lines) => {
                self.frames.instruction(Instruction { address, module, lines });
            }
            Record::Stack(instruction, caller) if self.is_raw => {
                return Ok(self.frames.address(instruction, caller));
            }
            Record::Stack(instruction, caller) => return Ok(self.frames.place(instruction, caller)),
            Record::Kind(size_bytes, stack) => self.kinds.push((size_bytes, stack)),
            Record::Unmapped => self.frames.definitions.define(&Definition::Unmapped),
            Record::Module(name, at, segments) => self.module(&name, at, &segments),
            Record::Time(ms) => {
                self.ns = self.ns.max(START_NS.saturating_add(ms.saturating_mul(NS_IN_MS)));
            }
            Record::Allocated(kind) => {
                let found = usize::try_from(kind).ok().and_then(|kind| self.kinds.get(kind)).copied();
                let Some((size_bytes, stack)) = found else { return Ok(false) };
                self.allocated(kind, size_bytes, stack);
            }
            Record::AllocatedRaw(size_bytes, stack, address) => self.allocated(address, size_bytes, stack),
            Record::Freed(key) => self.freed(key),
            Record::Resident(_) | Record::Other => {}
            Record::Version(_) | Record::Command(_) | Record::Program(_) => return Ok(false),
        }
        Ok(true)
    }

    fn module(&mut self, name: &str, at: u64, segments: &[(u64, u64)]) {
        let name = if name == "x" { &self.program } else { name };
        for (offset, length) in segments {
            let start = at.saturating_add(*offset);
            let end = start.saturating_add(*length);
            let (name, build_id) = (name.as_bytes(), &[][..]);
            self.frames.definitions.define(&Definition::Module(Module {
                start,
                end,
                bias: at,
                name,
                build_id,
            }));
        }
    }

    fn allocated(&mut self, key: u64, size_bytes: u64, stack: u64) {
        let stack = self.frames.stack(stack);
        let birth_ticks = self.thread.ticks(self.ns);
        let event = Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 };
        self.thread.put(birth_ticks, &event);
        self.live.entry(key).or_default().push(Live { birth_ticks, size_bytes, stack });
    }

    /// What was never allocated is freed by programs that heaptrack was attached to.
    fn freed(&mut self, key: u64) {
        let block = self.live.get_mut(&key).and_then(Vec::pop);
        let ticks = self.thread.ticks(self.ns);
        let event = block.map_or(Event::UnknownFree { call: Call::Free }, |live| {
            let age_ticks = ticks - live.birth_ticks;
            let Live { size_bytes, stack, .. } = live;
            Event::Free {
                call: Call::Free,
                block: Block { size_bytes, stack, age_ticks, birth_thread: None },
            }
        });
        self.thread.put(ticks, &event);
    }

    /// Ends the trace. Of a file that could not be read to its end, or not all of it, nobody knows what else was in it: the
    /// end of its process stays open, so that figures are least ones.
    fn finish(mut self, is_whole: bool) -> io::Result<()> {
        self.made.seal(&mut self.thread, &mut self.frames.definitions)?;
        let ended_mono_ns = self.ns.max(ns_at(self.thread.last_ticks));
        let end = ProcessEnd { ended_mono_ns, how: HowEnded::Exited, threads: 1, ..ProcessEnd::default() };
        if is_whole { self.made.finish(&end) } else { self.made.finish_open(ended_mono_ns) }
    }
}
