//! A recording made of operations, in the bytes that a recorder would write. Time is in us, a tick is a us.
#![allow(unreachable_pub, reason = "`pub` says what the tests use")]

pub mod counting;
pub mod history;
pub mod missing;
pub mod population;
pub mod text;
pub mod twin;

use std::collections::{BTreeMap, HashMap};

use self::missing::Live;
use heapscribe_analyze::answer::{Answer, Ended, Frame, NodeId};
use heapscribe_analyze::input::{
    ChunkFacts, Clock, EventsInOrder, History, ProcessFacts, SessionFacts, TableMoment,
};
use heapscribe_formats::{ChunkInfo, Evicted, LiveBlock, ProcessIndex, RuleViolation, Writer};
use heapscribe_wire::definitions::{Definition, Definitions, Module, Node, Position};
use heapscribe_wire::ids::{CodeAddress, NameId, StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event, Events, Note};

pub const BEGIN_NS: u64 = 1_000_000_000;
pub const BEGIN_TICKS: u64 = 5000;
const APP: &str = "/bin/app";

/// Something that a thread of a process does at a time.
#[derive(Clone, Debug)]
pub struct Op {
    pub process: usize,
    pub thread: u32,
    pub us: u64,
    pub act: Act,
}

#[derive(Clone, Debug)]
pub enum Act {
    Alloc {
        block: String,
        call: Call,
        size: u64,
        stack: String,
    },
    Free {
        block: String,
        call: Call,
    },
    Realloc {
        block: String,
        size: u64,
        stack: String,
    },
    Failed {
        call: Call,
        size: u64,
        stack: String,
    },
    UnknownFree,
    /// The same to one of the program's own pools.
    UnknownPoolFree,
    /// A block leaves the table of live blocks, and no event says so.
    Untracked {
        block: String,
    },
    UnknownRealloc {
        block: String,
        size: u64,
        stack: String,
    },
    Lost {
        count: u64,
        reason: u8,
    },
    /// The program says where it is.
    Note {
        note: Note,
        name: String,
    },
    /// The call right before was so long in the heap, in units of the clock: us.
    Took {
        units: u64,
    },
    /// The thread has a name.
    Named {
        name: String,
    },
    /// The thread's next event is in a new chunk, which begins with the sections that it is in.
    Border,
    /// A plug-in comes to the one place for plug-ins.
    Map {
        path: String,
    },
    Unmap,
}

#[derive(Default)]
struct Process {
    facts: ProcessFacts,
    base: u64,
    definitions: Vec<u8>,
    position: Position,
    stacks: HashMap<(StackId, u64), StackId>,
    live: HashMap<String, Live>,
    open: BTreeMap<u32, (usize, u64)>,
    last_alloc: HashMap<u32, u64>,
    /// Numbers of marks and sections.
    names: HashMap<String, NameId>,
    /// Sections that threads are in, with the us of their begin.
    sections: HashMap<u32, Vec<(NameId, u64)>>,
}

/// The recording.
#[derive(Default)]
pub struct Recorded {
    processes: Vec<Process>,
    chunks: Vec<(ChunkFacts, Vec<u8>)>,
    names: HashMap<(Vec<u8>, u64), String>,
    evicted: Evicted,
    /// Whether it has a table of what is live at the end of each process.
    pub has_tables: bool,
}

const PLUGIN_BASE: u64 = 0x7f00_0000_0000;

impl Recorded {
    /// A further process; each is loaded at another address.
    pub fn process(&mut self, mut facts: ProcessFacts) {
        let base = 0x5500_0000_0000 + 0x1_2345_6000 * self.processes.len() as u64;
        let ns_per_tick_q32 = 1000 << 32;
        facts.clock =
            Clock { origin_ticks: BEGIN_TICKS, origin_ns: BEGIN_NS, ns_per_tick_q32, ..Clock::default() };
        let mut process = Process { facts, base, ..Process::default() };
        process.map(base, APP);
        self.processes.push(process);
    }

    pub fn do_all(&mut self, ops: &[Op]) {
        ops.iter().for_each(|op| self.op(op));
    }

    fn op(&mut self, op: &Op) {
        let ticks = BEGIN_TICKS + op.us;
        let event = match &op.act {
            Act::Alloc { block, call, size, stack } => {
                let stack = self.alloc(op, block, *size, stack);
                self.processes[op.process].live.get_mut(block).expect("it is live").is_pool = call.is_pool();
                Event::Alloc { call: *call, size_bytes: *size, stack, align_log2: 0 }
            }
            Act::Free { block, call } => Event::Free { call: *call, block: self.free(op, block) },
            Act::Realloc { block, size, stack } => {
                let old = self.free(op, block);
                let stack = self.alloc(op, block, *size, stack);
                Event::Realloc { call: Call::Realloc, old, size_bytes: *size, stack }
            }
            Act::Failed { call, size, stack } => {
                Event::Failed { call: *call, size_bytes: *size, stack: self.stack(op.process, stack) }
            }
            Act::UnknownFree => Event::UnknownFree { call: Call::Free },
            Act::UnknownPoolFree => Event::UnknownFree { call: Call::PoolFree },
            Act::Untracked { block } => {
                self.free(op, block);
                return;
            }
            Act::UnknownRealloc { block, size, stack } => {
                let stack = self.alloc(op, block, *size, stack);
                Event::UnknownRealloc { call: Call::Realloc, size_bytes: *size, stack }
            }
            Act::Lost { count, reason } => Event::Lost { count: *count, reason: *reason },
            Act::Note { note, name } => self.processes[op.process].note(op, *note, name),
            Act::Took { units } => Event::Took { units: *units },
            Act::Named { name } => {
                let (id, name) = (ThreadId(op.thread), name.as_bytes());
                let thread = Definition::Thread { id, tid: op.thread, born_ticks: ticks, name };
                return self.processes[op.process].define(&thread);
            }
            Act::Border => return self.border(op),
            Act::Map { path } => return self.processes[op.process].map(PLUGIN_BASE, path),
            Act::Unmap => return self.processes[op.process].unmap(),
        };
        self.append(op, ticks, &event);
        let gives =
            matches!(event, Event::Alloc { .. } | Event::Realloc { .. } | Event::UnknownRealloc { .. });
        if gives {
            self.processes[op.process].last_alloc.insert(op.thread, ticks);
        }
    }

    /// Each section that goes on takes a tick.
    fn border(&mut self, op: &Op) {
        let process = &mut self.processes[op.process];
        process.open.remove(&op.thread);
        let open = process.sections.get(&op.thread).cloned().unwrap_or_default();
        for (us, (name, begin_us)) in (op.us..).zip(open) {
            let note = Note::GoesOn { age_ticks: us - begin_us };
            self.append(op, BEGIN_TICKS + us, &Event::Note { note, name });
        }
    }

    fn append(&mut self, op: &Op, ticks: u64, event: &Event) {
        let process = &mut self.processes[op.process];
        let (number, last) = *process.open.entry(op.thread).or_insert_with(|| {
            self.chunks.push((
                ChunkFacts {
                    process: op.process,
                    thread: op.thread,
                    begin_ticks: ticks - 1,
                    last_ticks: ticks,
                    last_alloc_ticks: process.last_alloc.get(&op.thread).copied().unwrap_or(0),
                    events: 0,
                    is_made_up: false,
                },
                Vec::new(),
            ));
            (self.chunks.len() - 1, ticks - 1)
        });
        let has_time = !matches!(event, Event::Took { .. });
        assert!(!has_time || ticks > last, "the time of a thread goes on: {op:?}");
        let (facts, payload) = &mut self.chunks[number];
        let mut at = [0; EVENT_BYTES_MAX];
        let len = event.encode(ticks - last, &mut at);
        payload.extend_from_slice(&at[..len]);
        facts.last_ticks = ticks;
        facts.events += 1;
        process.open.insert(op.thread, (number, ticks));
    }

    fn alloc(&mut self, op: &Op, block: &str, size: u64, stack: &str) -> StackId {
        let stack = self.stack(op.process, stack);
        let live = Live { thread: op.thread, us: op.us, size, stack, is_pool: false };
        let before = self.processes[op.process].live.insert(block.to_owned(), live);
        assert!(before.is_none(), "{block} is live already");
        stack
    }

    fn free(&mut self, op: &Op, block: &str) -> Block {
        let live = self.processes[op.process].live.remove(block).expect("no such block");
        Block {
            size_bytes: live.size,
            stack: live.stack,
            age_ticks: op.us.saturating_sub(live.us),
            birth_thread: (live.thread != op.thread).then_some(ThreadId(live.thread)),
        }
    }

    /// `main>parse` in the program, `/lib/x.so:init` in a plug-in, `?` for the unknown stack, `!` for a
    /// stack that was cut.
    fn stack(&mut self, process: usize, path: &str) -> StackId {
        let mut at = StackId::UNKNOWN;
        for name in path.split('>').filter(|name| *name != "?") {
            let (module, base) = match name.split_once(':') {
                Some((module, _)) => (module, PLUGIN_BASE),
                None => (APP, self.processes[process].base),
            };
            let offset = name.bytes().fold(7, |h: u64, b| (h * 31 + u64::from(b)) % 4001) + 16;
            self.names.insert((module.into(), offset), name.to_owned());
            at = self.processes[process].node(at, base + offset, name == "!");
        }
        at
    }

    fn name(&self, answer: &Answer, frame: &Frame) -> String {
        let path = frame.module.map(|m| answer.tree.modules[m as usize].path.clone()).unwrap_or_default();
        match (self.names.get(&(path, frame.address)), frame.process()) {
            (_, Some(process)) => format!("process {process}"),
            _ if frame.cut.is_some() => "!".to_owned(),
            (name, _) => name.cloned().unwrap_or_else(|| format!("{:#x}", frame.address)),
        }
    }

    /// A node's stack as it was written.
    pub fn path(&self, answer: &Answer, node: NodeId) -> String {
        let mut names: Vec<_> = answer.tree.frames(node).map(|(_, frame)| self.name(answer, frame)).collect();
        names.reverse();
        if names.is_empty() { "?".to_owned() } else { names.join(">") }
    }
}

impl Recorded {
    /// A rule stopped a process at this call.
    pub fn stopped_at(&mut self, process: usize, broke: RuleViolation) {
        self.processes[process].facts.broke = Some(broke);
    }

    /// Writes the definitions and chunks of a process to a trace.
    pub fn write(&self, process: usize, index: ProcessIndex, writer: &mut Writer, out: &mut Vec<u8>) {
        let definitions = &self.processes[process].definitions;
        let taken = writer.definitions(index, Position::default(), definitions, out);
        assert_eq!(taken.bytes, definitions.len());
        let clock = self.processes[process].facts.clock;
        for (facts, payload) in self.chunks.iter().filter(|(facts, _)| facts.process == process) {
            let info = ChunkInfo {
                thread: facts.thread,
                sequence: 0,
                begin_ticks: facts.begin_ticks,
                begin_mono_ns: clock.ns(facts.begin_ticks),
                end_ticks: facts.last_ticks,
                end_mono_ns: clock.ns(facts.last_ticks),
                last_alloc_ticks: facts.last_alloc_ticks,
            };
            writer.events(index, &info, payload, out);
        }
    }
}

impl Process {
    fn note(&mut self, op: &Op, note: Note, name: &str) -> Event {
        let next = NameId(self.names.len() as u32 + 1);
        let id = *self.names.entry(name.to_owned()).or_insert(next);
        if id == next {
            self.define(&Definition::Name { id, name: name.as_bytes() });
        }
        let open = self.sections.entry(op.thread).or_default();
        match note {
            Note::Begin => open.push((id, op.us)),
            Note::End => open.truncate(open.iter().rposition(|(name, _)| *name == id).unwrap_or(open.len())),
            Note::Mark | Note::GoesOn { .. } => {}
        }
        Event::Note { note, name: id }
    }

    fn define(&mut self, definition: &Definition<'_>) {
        let mut at = [0; 256];
        let len = definition.encode(&mut self.position, &mut at).expect("room");
        self.definitions.extend_from_slice(&at[..len]);
    }

    fn map(&mut self, base: u64, path: &str) {
        let (start, end, name) = (base, base + 0x2000, path.as_bytes());
        self.define(&Definition::Module(Module { start, end, bias: base, name, build_id: &[] }));
    }

    /// The recorder names what is still there again, and stacks anew.
    fn unmap(&mut self) {
        self.define(&Definition::Unmapped);
        self.stacks.clear();
        self.map(self.base, APP);
    }

    fn node(&mut self, parent: StackId, pc: u64, cut: bool) -> StackId {
        if let Some(&known) = self.stacks.get(&(parent, pc)) {
            return known;
        }
        let id = StackId(self.position.next_node);
        let node = Node { parent, pc: CodeAddress(pc), guesses: false, exact: false };
        self.define(&if cut {
            Definition::Cut { reason: 5, parent: StackId::UNKNOWN }
        } else {
            Definition::Node(node)
        });
        self.stacks.insert((parent, pc), id);
        id
    }
}

impl History for Recorded {
    type Scratch = ();

    fn session(&self) -> SessionFacts {
        self.session_facts()
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        self.processes.iter().map(|process| process.facts.clone()).collect()
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.chunks.iter().map(|(facts, _)| *facts).collect()
    }

    fn events<'a>(&'a self, chunk: usize, _: &'a mut ()) -> Result<impl EventsInOrder + 'a, String> {
        Ok(Events::new(&self.chunks[chunk].1))
    }

    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String> {
        for read in Definitions::new(&self.processes[process].definitions, Position::default()) {
            let (id, definition) = read.map_err(|bad| bad.to_string())?;
            take(id, &definition);
        }
        Ok(())
    }

    fn live_at_end(
        &self,
        process: usize,
        take: &mut dyn FnMut(&LiveBlock),
    ) -> Result<Option<TableMoment>, String> {
        Ok(self.table(process, take))
    }
}

pub fn facts(pid: u32, ended: Ended) -> ProcessFacts {
    ProcessFacts { pid, ended, ..ProcessFacts::default() }
}
