//! The frames of an interpreter in the stacks of a trace.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use heapscribe_formats::{Scratch, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{FunctionId, StackId};
use heapscribe_wire::record::Event;

/// Function, file and line; the innermost first.
pub type Frames = Vec<(String, String, u32)>;
/// Its size and its interpreted frames: a million blocks have some thousand stacks.
pub type Block = (u64, Rc<Frames>);
/// By thread, its blocks in their order.
pub type Blocks = BTreeMap<u32, Vec<Block>>;

/// A node: the pc, or the function and line.
enum Node {
    Native(u64),
    Interpreted(FunctionId, u32),
}

/// What the trace's first process has defined.
#[derive(Default)]
struct Defined {
    nodes: HashMap<StackId, (StackId, Node)>,
    functions: HashMap<FunctionId, (String, String)>,
    tids: HashMap<u32, u32>,
    library: Range<u64>,
}

impl Defined {
    fn take(&mut self, id: StackId, definition: &Definition<'_>, library: &str) {
        match definition {
            Definition::Node(node) => drop(self.nodes.insert(id, (node.parent, Node::Native(node.pc.0)))),
            Definition::Interpreted(node) => {
                self.nodes.insert(id, (node.parent, Node::Interpreted(node.function, node.line)));
            }
            Definition::Function(function) => {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                self.functions.insert(function.id, (text(function.name), text(function.file)));
            }
            Definition::Module(module) if module.name.ends_with(library.as_bytes()) => {
                self.library = module.start..module.end;
            }
            Definition::Thread { id, tid, .. } => drop(self.tids.insert(id.0, *tid)),
            _ => {}
        }
    }

    fn is_of_library(&self, stack: StackId) -> bool {
        matches!(self.nodes.get(&stack), Some((_, Node::Native(pc))) if self.library.contains(pc))
    }

    fn frames(&self, mut at: StackId) -> Frames {
        let mut frames = Frames::new();
        while let Some((caller, node)) = self.nodes.get(&at) {
            if let Node::Interpreted(function, line) = node {
                let (name, file) = self.functions[function].clone();
                frames.push((name, file, *line));
            }
            at = *caller;
        }
        frames
    }
}

/// The blocks that a library has asked for whose path ends with `library`.
pub fn blocks_of(library: &str, trace: &Path) -> Blocks {
    let trace = Trace::open(fs::read(trace).unwrap()).unwrap();
    let (mut defined, mut scratch) = (Defined::default(), Scratch::default());
    let define = |id: StackId, definition: &Definition<'_>| defined.take(id, definition, library);
    trace.definitions(trace.processes()[0].index, &mut scratch, define).unwrap();
    let mut chunks: Vec<_> = trace.chunks().iter().collect();
    chunks.sort_by_key(|chunk| (chunk.info.thread, chunk.info.sequence));
    let (mut blocks, mut stacks) = (Blocks::new(), HashMap::new());
    for entry in chunks {
        let tid = defined.tids[&entry.info.thread];
        let chunk = trace.load_chunk(entry, &mut scratch).unwrap();
        let take = |_, event: &Event| {
            if let Event::Alloc { size_bytes, stack, .. } = *event
                && (library.is_empty() || defined.is_of_library(stack))
            {
                let frames = stacks.entry(stack).or_insert_with(|| Rc::new(defined.frames(stack)));
                blocks.entry(tid).or_default().push((size_bytes, frames.clone()));
            }
        };
        chunk.for_each(take).unwrap();
    }
    blocks
}

/// Blocks of any caller with interpreted frames, of all threads.
pub fn interpreted_blocks(trace: &Path) -> Vec<(u64, Frames)> {
    let blocks = blocks_of("", trace).into_values().flatten();
    let owned = blocks.map(|(size_bytes, frames)| (size_bytes, Rc::unwrap_or_clone(frames)));
    owned.filter(|(_, frames)| !frames.is_empty()).collect()
}

/// A frame as a program has written it down: name, file and line with a byte of 0x1f between.
pub fn written_frame(part: &str) -> (String, String, u32) {
    let fields: Vec<&str> = part.split('\x1f').collect();
    (fields[0].to_owned(), fields[1].to_owned(), fields[2].parse().unwrap())
}
