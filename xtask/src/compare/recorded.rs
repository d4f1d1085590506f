//! What the recording has: calls by thread, stacks as trees of nodes, modules.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use heapscribe_formats::{ProcessIndex, Scratch, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Call as Function, Event};

use super::oracle::Thread;
use super::pair::Call;

/// A node of a process's stacks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Frame { caller: u32, pc: u64, guesses: bool },
    Cut { reason: u8 },
    Interpreted { caller: u32 },
}

/// A recorded process image.
#[derive(Default)]
pub(super) struct Process {
    pid: u32,
    nodes: HashMap<u32, Node>,
    tids: HashMap<u32, u32>,
    /// Modules by their start: end, bias, name. Of several at one place, the last.
    modules: BTreeMap<u64, (u64, u64, String)>,
}

/// A stack, innermost frame first.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Stack {
    pub(super) frames: Vec<u64>,
    /// Where the stack says that it was cut.
    pub(super) cut: Option<&'static str>,
    /// The first frame that was found by a guess.
    pub(super) guessed_from: Option<usize>,
}

/// The calls of all processes, thread by thread. What a process did before and after it exec'd follow each
/// other; their stacks are numbered anew, over all images.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) threads: BTreeMap<Thread, Vec<Call>>,
    processes: Vec<Process>,
    stacks: Vec<(usize, u32)>,
}

impl Calls {
    pub(super) fn read(path: &Path) -> Result<Calls, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let trace = Trace::open(bytes).map_err(|e| e.to_string())?;
        let mut calls = Calls::default();
        for process in trace.processes() {
            let mut known = Process { pid: process.info.as_ref().map_or(0, |i| i.pid), ..Process::default() };
            trace
                .definitions(process.index, &mut Scratch::default(), |id, definition| {
                    known.take(id, definition)
                })
                .map_err(|e| e.to_string())?;
            calls.processes.push(known);
        }
        calls.threads(&trace)?;
        Ok(calls)
    }

    fn threads(&mut self, trace: &Trace<Vec<u8>>) -> Result<(), String> {
        let place: HashMap<ProcessIndex, usize> =
            trace.processes().iter().enumerate().map(|(i, p)| (p.index, i)).collect();
        let mut threads: BTreeMap<(usize, u32), Vec<Call>> = BTreeMap::new();
        let mut scratch = Scratch::default();
        for entry in trace.chunks() {
            let Some(&process) = place.get(&entry.process) else { continue };
            let calls = threads.entry((process, entry.info.thread)).or_default();
            let chunk = trace.load_chunk(entry, &mut scratch).map_err(|e| e.to_string())?;
            chunk.for_each(|_, event| calls.extend(call_of(event))).map_err(|e| e.to_string())?;
        }
        let mut numbers = HashMap::new();
        for ((process, thread), calls) in threads {
            let known = &self.processes[process];
            let tid = known.tids.get(&thread).copied().unwrap_or(0);
            let row = self.threads.entry((known.pid, tid)).or_default();
            for call in calls {
                let stack = *numbers.entry((process, call.stack)).or_insert_with(|| {
                    self.stacks.push((process, call.stack));
                    self.stacks.len() as u32 - 1
                });
                row.push(Call { stack, ..call });
            }
        }
        Ok(())
    }

    /// A stack, and the process image whose it is.
    pub(super) fn stack(&self, number: u32) -> (Stack, &Process) {
        let (process, leaf) = self.stacks[number as usize];
        let process = &self.processes[process];
        (process.stack(leaf), process)
    }
}

/// The calls that hand out blocks, or would.
fn call_of(event: &Event) -> Option<Call> {
    let (function, size, stack) = match *event {
        Event::Alloc { call, size_bytes, stack, .. }
        | Event::Realloc { call, size_bytes, stack, .. }
        | Event::Failed { call, size_bytes, stack }
        | Event::UnknownRealloc { call, size_bytes, stack } => (call, size_bytes, stack),
        _ => return None,
    };
    let function = if function == Function::Reallocarray { Function::Realloc } else { function };
    Some(Call { function: function as u8, size, stack: stack.0 })
}

impl Process {
    fn take(&mut self, id: StackId, definition: &Definition<'_>) {
        match definition {
            Definition::Node(n) => {
                let node = Node::Frame { caller: n.parent.0, pc: n.pc.0, guesses: n.guesses };
                self.nodes.insert(id.0, node);
            }
            Definition::Cut { reason, .. } => {
                self.nodes.insert(id.0, Node::Cut { reason: *reason });
            }
            Definition::Thread { id, tid, .. } => {
                self.tids.insert(id.0, *tid);
            }
            Definition::Module(m) => {
                let name = String::from_utf8_lossy(m.name.rsplit(|b| *b == b'/').next().unwrap_or(m.name));
                self.modules.insert(m.start, (m.end, m.bias, name.into_owned()));
            }
            Definition::Interpreted(n) => {
                self.nodes.insert(id.0, Node::Interpreted { caller: n.parent.0 });
            }
            Definition::Name { .. }
            | Definition::Unmapped
            | Definition::Rate { .. }
            | Definition::Function(_)
            | Definition::Code(_)
            | Definition::Interpreter(_) => {}
        }
    }

    /// The stack of this number. A caller is defined before what it calls, so the way out has an end.
    fn stack(&self, leaf: u32) -> Stack {
        let mut stack = Stack::default();
        let mut at = leaf;
        while let Some(node) = self.nodes.get(&at) {
            match *node {
                Node::Cut { reason } => {
                    stack.cut =
                        Some(LossReason::from_number(reason).map_or("unknown reason", LossReason::name));
                    break;
                }
                // The other unwinders do not see these.
                Node::Interpreted { caller } => at = caller,
                Node::Frame { caller, pc, guesses } => {
                    stack.frames.push(pc);
                    if guesses && stack.guessed_from.is_none() {
                        stack.guessed_from = Some(stack.frames.len());
                    }
                    if caller >= at {
                        break;
                    }
                    at = caller;
                }
            }
        }
        stack
    }

    /// `module+0xoffset`.
    pub(super) fn name(&self, pc: u64) -> String {
        match self.modules.range(..=pc).next_back() {
            Some((_, (end, bias, name))) if pc < *end => format!("{name}+{:#x}", pc.wrapping_sub(*bias)),
            _ => "no module".to_owned(),
        }
    }
}
