//! What is gathered while a process runs so that code which its runtime compiles has names when it has ended: when its stacks
//! were captured, and how long the perf map of its runtime was at what time.

use std::fs::File;

use heapscribe_formats::model::ChunkInfo;
use heapscribe_session::jit::{Growth, JitFiles, Moments, Wanted, define, outside};
use heapscribe_session::{counter_and_ns, monotonic_ns, read_up_to};
use heapscribe_wire::definitions::{Definition, Position};
use heapscribe_wire::ids::StackId;

/// What is known so far.
pub(crate) struct JitNames {
    /// The process, in its own namespace.
    pid: u32,
    files: JitFiles,
    growth: Growth,
    /// Whether its runtime writes what code it makes.
    has_files: bool,
    /// Whether chunks of stacks in no file came before that.
    has_passed: bool,
    moments: Moments,
    /// The counter and CLOCK_MONOTONIC, early.
    early: Option<(u64, u64)>,
    /// Bytes of definitions that were taken.
    bytes: usize,
}

impl JitNames {
    /// Of a process with this pid in its own namespace, and that pid here, if it has one.
    pub(crate) fn of(pid: u32, pid_here: Option<u32>) -> JitNames {
        let files = pid_here.map_or_else(JitFiles::default, JitFiles::of);
        let (growth, moments) = (Growth::default(), Moments::default());
        JitNames {
            pid,
            files,
            growth,
            has_files: false,
            has_passed: false,
            moments,
            early: counter_and_ns(),
            bytes: 0,
        }
    }

    /// Chunks before those that come are in another trace.
    pub(crate) fn begin_late(&mut self) {
        self.moments.begin_late();
    }

    /// Takes a definition that is new.
    pub(crate) fn definition(&mut self, definition: &Definition<'_>) {
        let were_outside = self.moments.are_outside();
        self.moments.definition(definition);
        if !were_outside && self.moments.are_outside() {
            self.look();
        }
    }

    /// So many bytes of definitions were taken, up to this position.
    pub(crate) fn defined(&mut self, bytes: usize, position: Position) {
        self.moments.defined(position);
        self.bytes += bytes;
    }

    /// Takes a chunk.
    pub(crate) fn chunk(&mut self, info: &ChunkInfo, payload: &[u8]) {
        if !self.moments.are_outside() {
            return;
        }
        self.has_passed |= !self.has_files;
        if self.has_files {
            self.moments.chunk(info, payload);
        }
    }

    /// Looks how long the perf map is, and whether there is a dump.
    pub(crate) fn look(&mut self) {
        if !self.has_files && self.files.states(self.pid).iter().any(Option::is_some) {
            self.has_files = true;
            // Events of these were not looked at.
            if self.has_passed {
                self.moments.begin_late();
            }
        }
        let before_ns = monotonic_ns();
        if let Some(bytes) = self.files.map_bytes(self.pid) {
            self.growth.look(bytes, (before_ns, monotonic_ns()));
        }
    }

    /// The definitions that name what those of the process run through, which are in this file: when it has ended, at this
    /// moment.
    pub(crate) fn names(&self, head: &File, ended_mono_ns: u64, own: &File) -> Vec<u8> {
        let Some(wanted) = Wanted::of(head, self.early, ended_mono_ns) else { return Vec::new() };
        let code = self.files.read(&wanted, &self.growth);
        if code.is_empty() {
            return Vec::new();
        }
        let mut bytes = vec![0; self.bytes];
        let n = read_up_to(own, &mut bytes, 0);
        let spans = self.moments.spans(&bytes[..n]);
        let moment = |node: StackId| {
            let (from, to) = spans.get(node.0 as usize).copied().unwrap_or((0, u64::MAX));
            (wanted.line.mono_ns(from), wanted.line.mono_ns(to))
        };
        define(&code, &outside(&bytes[..n]), moment)
    }
}
