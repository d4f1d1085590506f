//! From heaphook's logs to ours. A line is an event, its number among the lines the time (the end of a block
//! that another one replaced is an event more); how long a call took follows it as our own recorder has it;
//! a block is found by its address; where stacks are, each function that allocates is a frame of its own.
//!
//! *Lost on the way*: addresses, how often the program asked for a block's size, and `free(NULL)`; see
//! [`heapscribe_formats::heaplog`] for what was lost before.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::ControlFlow;

use anyhow::Result;
use heapscribe_formats::heaplog::{Line, Moment, Operation, Reader, Style};
use heapscribe_formats::{HowEnded, ProcessEnd, ProcessInfo, SessionInfo, Source};
use heapscribe_wire::definitions::{Definition, Module, Node};
use heapscribe_wire::ids::{CodeAddress, StackId, ThreadId};
use heapscribe_wire::record::{Block, Call, Event};

use super::tally::LogTally;
use crate::native::thread_chunk::ThreadChunk;
use crate::native::writer::{Definitions, NativeWriter};
use heapscribe_symbols::places::{self, Place};

/// Our trace's clock before the first line: 0 stands for a moment that is not known.
const START: u64 = 1;
/// Lines within which a free belongs to the block that was at its address before: a thread that freed it
/// is that late to say so. Some ten threads can be ahead of it; a longer wait is another block's end.
const LATE_LINES: u64 = 64;

/// The program of a log, by the log's name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// The name of the file.
    pub name: Vec<u8>,
    /// The pid in it; 0 for none.
    pub pid: u32,
}

impl About {
    /// The parts of the name `heaplog.PID.log` or `heaplog_PID.log`.
    pub fn named(name: &str) -> About {
        let rest = name.strip_prefix("heaplog").and_then(|rest| rest.strip_suffix(".log"));
        let pid = rest.and_then(|rest| rest.strip_prefix(['.', '_'])).and_then(|pid| pid.parse().ok());
        About { name: name.as_bytes().to_vec(), pid: pid.unwrap_or(0) }
    }
}

/// Converts a log; what is not whole, in words. Memory grows with the blocks that are live at a time.
pub fn convert<S: Source, W: Write>(
    reader: &mut Reader<S>,
    about: &About,
    out: W,
) -> Result<(LogTally, Vec<String>)> {
    let mut to = Conversion::new(about, out)?;
    let read = reader.for_each(|moment, line| match to.line(moment, line) {
        Ok(()) => ControlFlow::Continue(()),
        Err(e) => ControlFlow::Break(e),
    });
    let mut problems: Vec<_> = reader.skipped().map(ToString::to_string).collect();
    match read {
        Ok(Some(e)) => return Err(e.into()),
        Ok(None) => {}
        Err(e) => problems.push(e.to_string()),
    }
    to.tally.zeros_at_end = reader.zeros_at_end();
    Ok((to.finish(problems.is_empty())?, problems))
}

/// A live block.
#[derive(Clone, Copy)]
struct Live {
    birth_ticks: u64,
    size_bytes: u64,
    stack: StackId,
    /// The line that allocated it although another block was at its address.
    replaced_at: Option<u64>,
}

/// What a line that frees or resizes a block finds at its address.
enum RemovedBlock {
    /// The block.
    Live(Live),
    /// The line is late: another block has that address now, and this one's end was written when it got it.
    Replaced,
    /// Nothing that is known.
    Unknown,
}

/// What a line allocated.
#[derive(Clone, Copy)]
struct Allocation {
    call: Call,
    size_bytes: u64,
    stack: StackId,
    align_log2: u8,
}

struct Conversion<W> {
    made: NativeWriter<W>,
    thread: ThreadChunk,
    /// The line that is read.
    number: u64,
    blocks: HashMap<u64, Live>,
    frames: Frames,
    tally: LogTally,
}

impl<W: Write> Conversion<W> {
    fn new(about: &About, out: W) -> io::Result<Self> {
        let session = SessionInfo {
            command: vec![about.name.clone()],
            version: format!("from heaphook, {}", env!("CARGO_PKG_VERSION")),
            started_mono_ns: START,
            ..SessionInfo::default()
        };
        let mut to = Conversion {
            made: NativeWriter::begin(&session, &process(about), out)?,
            thread: ThreadChunk::of_calls(1, START),
            number: 0,
            blocks: HashMap::new(),
            frames: Frames::default(),
            tally: LogTally::default(),
        };
        to.frames.definitions.define(&Definition::Thread {
            id: ThreadId(1),
            tid: about.pid,
            born_ticks: START,
            name: b"all threads",
        });
        Ok(to)
    }

    fn line(&mut self, moment: &Moment, line: &Line) -> io::Result<()> {
        // A line makes three events at most: the end of a block that was replaced, its own, what it took.
        if self.thread.is_full() {
            self.seal()?;
        }
        self.number = moment.number;
        self.tally.line(moment.style, line);
        let before_ticks = self.thread.last_ticks;
        match line.operation {
            Operation::Alloc { call, size_bytes, align, address } => {
                let stack = self.frames.number(name(moment.style, call));
                let align_log2 = align.checked_ilog2().unwrap_or(0) as u8;
                match address {
                    0 => self.put(&Event::Failed { call, size_bytes, stack }),
                    _ => self.alloc(address, Allocation { call, size_bytes, stack, align_log2 }),
                }
            }
            Operation::Free { address } if address != 0 => self.free(address, Call::Free),
            Operation::Realloc { old, size_bytes, new } => self.realloc(old, size_bytes, new),
            Operation::Free { .. } | Operation::UsableSize { .. } => {}
        }
        if let Some(units) = line.took_ns.filter(|_| self.thread.last_ticks > before_ticks) {
            self.thread.put(self.thread.last_ticks, &Event::Took { units });
        }
        Ok(())
    }

    /// When the next event is: at its line's number, or right behind the event before it.
    fn ticks(&self) -> u64 {
        (START + self.number).max(self.thread.last_ticks + 1)
    }

    fn put(&mut self, event: &Event) {
        self.thread.put(self.ticks(), event);
    }

    /// The block as an event has it that frees it now.
    fn freed_block(&self, live: &Live) -> Block {
        let Live { birth_ticks, size_bytes, stack, .. } = *live;
        Block { size_bytes, stack, age_ticks: self.ticks() - birth_ticks, birth_thread: None }
    }

    fn alloc(&mut self, address: u64, allocation: Allocation) {
        let Allocation { call, size_bytes, stack, align_log2 } = allocation;
        let replaced_at = self.replace(address);
        let birth_ticks = self.ticks();
        self.put(&Event::Alloc { call, size_bytes, stack, align_log2 });
        self.blocks.insert(address, Live { birth_ticks, size_bytes, stack, replaced_at });
    }

    /// Frees the block at an address that another one gets: its own free was lost, or will be read late.
    fn replace(&mut self, address: u64) -> Option<u64> {
        let live = self.blocks.remove(&address)?;
        self.tally.replaced += 1;
        self.put(&Event::Free { call: Call::Free, block: self.freed_block(&live) });
        Some(self.number)
    }

    fn remove(&mut self, address: u64) -> RemovedBlock {
        let Some(live) = self.blocks.get_mut(&address) else { return RemovedBlock::Unknown };
        if live.replaced_at.take().is_some_and(|line| self.number - line <= LATE_LINES) {
            self.tally.late += 1;
            return RemovedBlock::Replaced;
        }
        self.blocks.remove(&address).map_or(RemovedBlock::Unknown, RemovedBlock::Live)
    }

    fn free(&mut self, address: u64, call: Call) {
        match self.remove(address) {
            RemovedBlock::Live(live) => self.put(&Event::Free { call, block: self.freed_block(&live) }),
            RemovedBlock::Unknown => {
                self.tally.unknown_frees += 1;
                self.put(&Event::UnknownFree { call });
            }
            RemovedBlock::Replaced => {}
        }
    }

    /// `realloc(NULL, n)` allocates, `realloc(p, 0)` frees; a NULL for anything else changes nothing.
    fn realloc(&mut self, old: u64, size_bytes: u64, new: u64) {
        let call = Call::Realloc;
        let stack = self.frames.number(call.name());
        match (old, size_bytes, new) {
            (0, _, 1..) => self.alloc(new, Allocation { call, size_bytes, stack, align_log2: 0 }),
            (1.., 0, 0) => self.free(old, call),
            (_, _, 0) => self.put(&Event::Failed { call, size_bytes, stack }),
            (1.., _, 1..) => self.moved(old, new, size_bytes, stack),
        }
    }

    fn moved(&mut self, old: u64, new: u64, size_bytes: u64, stack: StackId) {
        let (call, before) = (Call::Realloc, self.remove(old));
        let replaced_at = self.replace(new);
        let birth_ticks = self.ticks();
        match before {
            RemovedBlock::Live(live) => {
                self.put(&Event::Realloc { call, old: self.freed_block(&live), size_bytes, stack });
            }
            RemovedBlock::Replaced | RemovedBlock::Unknown => {
                self.tally.unknown_reallocs += u64::from(matches!(before, RemovedBlock::Unknown));
                self.put(&Event::UnknownRealloc { call, size_bytes, stack });
            }
        }
        self.blocks.insert(new, Live { birth_ticks, size_bytes, stack, replaced_at });
    }

    /// Writes the chunk, and before it the definitions that it needs.
    fn seal(&mut self) -> io::Result<()> {
        self.made.seal(&mut self.thread, &mut self.frames.definitions)
    }

    /// Ends the trace. No log has how the program ended: what is left may have been in use. Of one with lines that are none
    /// nobody knows what they were: the end of its process stays open, so that figures are least ones.
    fn finish(mut self, is_whole: bool) -> io::Result<LogTally> {
        self.seal()?;
        let ended_mono_ns = self.thread.last_ticks.max(START + self.number);
        let end = ProcessEnd { ended_mono_ns, how: HowEnded::Unknown, threads: 1, ..ProcessEnd::default() };
        if is_whole {
            self.made.finish(&end)?
        } else {
            self.made.finish_open(ended_mono_ns)?
        }
        Ok(self.tally)
    }
}

fn process(about: &About) -> ProcessInfo {
    ProcessInfo {
        pid: about.pid,
        created_mono_ns: START,
        created_ticks: START,
        clock_shift: 0,
        early_ns: 0,
        counts_calls: true,
        exe: about.name.clone(),
        command: vec![about.name.clone()],
        ..ProcessInfo::default()
    }
}

/// What a log calls a function.
fn name(style: Style, call: Call) -> &'static str {
    match (style, call) {
        (Style::Spaces, _) => call.name(),
        (Style::Commas, Call::Calloc) => "alloc_zeroed",
        (Style::Commas, _) => "alloc",
    }
}

/// A stack of one frame for each function, and the definitions that are still to be written.
#[derive(Default)]
struct Frames {
    names: Vec<(&'static str, StackId)>,
    definitions: Definitions,
}

impl Frames {
    fn number(&mut self, name: &'static str) -> StackId {
        if let Some((_, known)) = self.names.iter().find(|(known, _)| *known == name) {
            return *known;
        }
        let start = self.names.len() as u64 + 1;
        let place =
            Place { function: name.to_owned(), file: String::new(), line: 0, start_char: 0, end_char: 0 };
        let path = places::path_of(&[place]);
        let (end, name_of_place) = (start + 1, path.as_bytes());
        self.definitions.define(&Definition::Module(Module {
            start,
            end,
            bias: start,
            name: name_of_place,
            build_id: &[],
        }));
        let number = StackId(self.definitions.next_node());
        let node = Node { parent: StackId::UNKNOWN, pc: CodeAddress(start), guesses: false, exact: true };
        self.definitions.define(&Definition::Node(node));
        self.names.push((name, number));
        number
    }
}
