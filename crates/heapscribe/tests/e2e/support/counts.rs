//! Numbers of calls: as a program counted them itself, and as a trace has them.

use std::collections::HashSet;
use std::fs;
use std::ops::Sub;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use heapscribe_formats::{Scratch, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;
use serde_json::Value;

/// Calls by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Calls {
    pub malloc: u64,
    pub calloc: u64,
    pub realloc: u64,
    pub aligned: u64,
    pub free: u64,
}

impl Calls {
    pub fn all(self) -> u64 {
        self.malloc + self.calloc + self.realloc + self.aligned + self.free
    }

    pub(super) fn of_json(json: &Value) -> Calls {
        let n = |kind: &str| json[kind].as_u64().unwrap();
        let calls = Calls {
            malloc: n("malloc"),
            calloc: n("calloc"),
            realloc: n("realloc"),
            aligned: n("aligned"),
            free: n("free"),
        };
        assert_eq!(n("total"), calls.all());
        calls
    }

    /// What a program says that it made, in a line of its output.
    pub fn counted(stdout: &str) -> Calls {
        let line = stdout.lines().find_map(|line| line.strip_prefix("counts ")).unwrap();
        let words: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        Calls::of_words(words.try_into().unwrap())
    }

    fn of_words(words: [u64; 5]) -> Calls {
        let [malloc, calloc, realloc, aligned, free] = words;
        Calls { malloc, calloc, realloc, aligned, free }
    }

    fn add(&mut self, call: &str) {
        *match call {
            "malloc" => &mut self.malloc,
            "calloc" => &mut self.calloc,
            "realloc" | "reallocarray" => &mut self.realloc,
            "posix_memalign" | "aligned_alloc" | "memalign" | "valloc" | "pvalloc" => &mut self.aligned,
            _ => &mut self.free,
        } += 1;
    }
}

impl Sub for Calls {
    type Output = Calls;

    #[track_caller]
    fn sub(self, other: Calls) -> Calls {
        let minus = |a: u64, b: u64| a.checked_sub(b).unwrap_or_else(|| panic!("{self:?} - {other:?}"));
        Calls {
            malloc: minus(self.malloc, other.malloc),
            calloc: minus(self.calloc, other.calloc),
            realloc: minus(self.realloc, other.realloc),
            aligned: minus(self.aligned, other.aligned),
            free: minus(self.free, other.free),
        }
    }
}

/// The file in which a program counts, see `programs/counted.h`.
#[derive(Debug)]
pub struct Counted {
    /// Its own pid; 0 before it has begun.
    pub pid: u32,
    /// It has made all its calls.
    pub is_done: bool,
    pub calls: Calls,
}

impl Counted {
    /// Reads the file, which may not be there yet.
    pub fn read(path: &Path) -> Counted {
        let bytes = fs::read(path).unwrap_or_default();
        let slots: Vec<[u64; 5]> = bytes.chunks_exact(64).map(words).collect();
        let head = slots.first().copied().unwrap_or_default();
        let sum = slots.iter().skip(1).fold([0; 5], |sum, slot| std::array::from_fn(|i| sum[i] + slot[i]));
        Counted { pid: head[1] as u32, is_done: head[2] == 1, calls: Calls::of_words(sum) }
    }
}

fn words(slot: &[u8]) -> [u64; 5] {
    std::array::from_fn(|i| u64::from_le_bytes(slot[8 * i..8 * i + 8].try_into().unwrap()))
}

/// Calls that the code of `program` made itself: the innermost frame of the call, or for a free that of the block's
/// birth, lies in it. Frees of blocks not known count too.
pub fn own_calls(trace: &Path, program: &Path) -> Calls {
    let trace = Trace::open(fs::read(trace).unwrap()).unwrap();
    let (mut own, mut scratch) = (Own::default(), Scratch::default());
    for process in trace.processes() {
        let mut ranges = Vec::new();
        let define = |id: StackId, definition: &Definition<'_>| match definition {
            Definition::Module(module) if module.name == program.as_os_str().as_bytes() => {
                ranges.push(module.start..module.end);
            }
            Definition::Node(node) if ranges.iter().any(|range| range.contains(&node.pc.0)) => {
                own.stacks.insert((process.index.0, id));
            }
            _ => {}
        };
        trace.definitions(process.index, &mut scratch, define).unwrap();
    }
    for chunk in trace.chunks() {
        let loaded = trace.load_chunk(chunk, &mut scratch).unwrap();
        loaded.for_each(|_, event: &Event| own.event(chunk.process.0, event)).unwrap();
    }
    own.calls
}

#[derive(Default)]
struct Own {
    /// Stacks whose innermost frame is the program's, by process.
    stacks: HashSet<(u32, StackId)>,
    calls: Calls,
}

impl Own {
    fn event(&mut self, process: u32, event: &Event) {
        let (call, stack) = match *event {
            Event::UnknownFree { call } | Event::UnknownRealloc { call, .. } => (call, None),
            Event::Alloc { call, stack, .. }
            | Event::Realloc { call, stack, .. }
            | Event::Failed { call, stack, .. } => (call, Some(stack)),
            Event::Free { call, block } => (call, Some(block.stack)),
            Event::Note { .. }
            | Event::Lost { .. }
            | Event::Rate { .. }
            | Event::Took { .. }
            | Event::Mapping(_) => return,
        };
        if stack.is_none_or(|stack| self.stacks.contains(&(process, stack))) {
            self.calls.add(call.name());
        }
    }
}
