//! The writer of `defs`: definitions appended under the recorder's lock, each whole before the length
//! that commits it, and before the first event that needs it.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::Ordering;

use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, NODE_BYTES_MAX, Node, Position};
use heapscribe_wire::head::SharedHead;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::{DEFS_STEP_BYTES, STACKS_MAX};

use crate::platform::lock::Held;
use crate::platform::mapped_file::{SharedFile, WINDOW_BYTES};
use crate::platform::refusals::Refusals;

/// Room for the one definition in 16 MiB that lies in two windows; used under the lock only.
struct Scratch(UnsafeCell<[u8; DEFINITION_BYTES_MAX]>);
// SAFETY: used only while the session's lock is held.
unsafe impl Sync for Scratch {}
static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; DEFINITION_BYTES_MAX]));

/// The definitions of this process.
#[derive(Debug)]
pub(crate) struct DefinitionWriter {
    file: SharedFile,
    head: &'static SharedHead,
    provided: Cell<usize>,
    /// One of both is of the length that is committed; the other is of none, or of one that never was, as a handler has
    /// jumped away before the commit.
    ends: [Cell<End>; 2],
    refusals: Refusals,
}

/// The end of what is written: a length, and what the next definition needs to know of those before.
#[derive(Clone, Copy, Debug)]
struct End {
    len: usize,
    position: Position,
}

/// No room or no memory for a definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRoom;

impl DefinitionWriter {
    /// A writer at the start of a new file.
    pub(crate) fn new(file: SharedFile, head: &'static SharedHead) -> DefinitionWriter {
        DefinitionWriter {
            file,
            head,
            provided: Cell::new(0),
            ends: [0, usize::MAX].map(|len| Cell::new(End { len, position: Position::default() })),
            refusals: Refusals::default(),
        }
    }

    /// The mapped file.
    pub(crate) fn file(&self) -> &SharedFile {
        &self.file
    }

    /// Whether this call has no stack defined: there was no room a short time ago. Asked without the lock.
    pub(crate) fn is_refused(&self) -> bool {
        self.refusals.is_refused()
    }

    /// Which of [`Self::ends`] is committed.
    fn end(&self) -> usize {
        let committed = self.head.defs_committed.load(Ordering::Relaxed) as usize;
        usize::from(self.ends[1].get().len == committed)
    }

    /// What is not the end becomes it, by one store: a handler may jump away before it or after.
    fn commit(&self, end: End) {
        self.ends[1 - self.end()].set(end);
        self.head.defs_committed.store(end.len as u64, Ordering::Release);
    }

    /// Appends a definition. For a node or a cut, gives its number.
    pub(crate) fn append(&self, definition: &Definition<'_>, held: &Held<'_>) -> Result<StackId, NoRoom> {
        let End { len: at, mut position } = self.ends[self.end()].get();
        let id = StackId(position.next_node);
        let is_node = definition.is_node();
        if is_node && id.0 >= STACKS_MAX {
            return Err(NoRoom);
        }
        let room = self.room(at, held)?;
        let in_window = WINDOW_BYTES - at % WINDOW_BYTES;
        let len = if in_window >= room {
            // SAFETY: `room` bytes from `at` on are provided, in one window, and only the holder of the lock
            // writes there.
            let place = unsafe { core::slice::from_raw_parts_mut(self.file.at(at), room) };
            definition.encode(&mut position, place).ok_or(NoRoom)?
        } else {
            // SAFETY: the lock is held.
            let scratch = unsafe { &mut *SCRATCH.0.get() };
            let len = definition.encode(&mut position, &mut scratch[..room]).ok_or(NoRoom)?;
            for (i, byte) in scratch[..len].iter().enumerate() {
                // SAFETY: `room` bytes from `at` on are provided, in two windows, and only the holder of the lock
                // writes there.
                unsafe { self.file.at(at + i).write(*byte) };
            }
            len
        };
        self.commit(End { len: at + len, position });
        Ok(id)
    }

    /// Appends a stack's nodes, each the caller of the next one, of which the first may have a caller of its own, with
    /// one commit for all: the number of the first. None is appended, and `None` given, when they have no room in the step
    /// that is provided; one by one they may.
    pub(crate) fn append_run(
        &self,
        parent: StackId,
        mut nodes: impl ExactSizeIterator<Item = Node>,
        _held: &Held<'_>,
    ) -> Option<StackId> {
        let End { len: at, mut position } = self.ends[self.end()].get();
        let room = nodes.len() * NODE_BYTES_MAX;
        let first = StackId(position.next_node);
        let ends = (self.provided.get() - at).min(WINDOW_BYTES - at % WINDOW_BYTES);
        if room > ends || (STACKS_MAX - first.0) as usize <= nodes.len() {
            return None;
        }
        // SAFETY: `room` bytes from `at` on are provided, in one window, and only the holder of the lock writes there.
        let mut rest = unsafe { core::slice::from_raw_parts_mut(self.file.at(at), room) };
        let first_node = Node { parent, ..nodes.next()? };
        let len = first_node.encode(&mut position, rest.first_chunk_mut()?)?;
        rest = rest.get_mut(len..)?;
        for node in nodes {
            let len = node.encode_callee(&mut position, rest.first_chunk_mut()?);
            rest = rest.get_mut(len..)?;
        }
        self.commit(End { len: at + room - rest.len(), position });
        Some(first)
    }

    /// How many bytes there are from `at` on; at least enough for any definition. More are provided with signals held back
    /// only.
    fn room(&self, at: usize, held: &Held<'_>) -> Result<usize, NoRoom> {
        if self.provided.get() - at < DEFINITION_BYTES_MAX {
            held.holds_signals_back().then_some(()).ok_or(NoRoom)?;
            self.add_step().inspect_err(|_| self.refusals.fail())?;
            self.refusals.clear();
        }
        Ok((self.provided.get() - at).min(DEFINITION_BYTES_MAX))
    }

    fn add_step(&self) -> Result<(), NoRoom> {
        let end = self.provided.get() + DEFS_STEP_BYTES;
        if end > self.file.file_bytes() {
            return Err(NoRoom);
        }
        self.file.provide(self.provided.get(), DEFS_STEP_BYTES).map_err(|_| NoRoom)?;
        self.provided.set(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::lock::Lock;
    use crate::tests::{file, head};
    use heapscribe_wire::definitions::Definitions;
    use heapscribe_wire::ids::CodeAddress;

    fn node(parent: u32, pc: u64) -> Node {
        Node { parent: StackId(parent), pc: CodeAddress(pc), guesses: false, exact: false }
    }

    /// A handler has jumped away where all was written but for the commit.
    #[test]
    fn what_was_left_before_its_commit_was_never_there() {
        let (head, lock) = (head(), Lock::default());
        let writer = DefinitionWriter::new(file(2 * DEFS_STEP_BYTES), head);
        let nodes = [node(0, 0x1000), node(1, 0x2000), node(2, 0x1500), node(3, 0x9000)];
        for (index, node) in nodes.into_iter().enumerate() {
            let held = lock.hold().unwrap();
            let [begun, whole] = [writer.end(), 1 - writer.end()];
            let End { len, position } = writer.ends[begun].get();
            let left = Position { next_node: position.next_node + 7, last_pc: 0x7777 };
            writer.ends[whole].set(End { len: len + 40, position: left });
            let number = writer.append(&Definition::Node(node), &held).unwrap();
            assert_eq!(number, StackId(index as u32 + 1));
        }
        let len = head.defs_committed.load(Ordering::Acquire) as usize;
        // SAFETY: the first `len` bytes are written, and the mapping stays.
        let bytes = unsafe { core::slice::from_raw_parts(writer.file().at(0), len) };
        let read = Definitions::new(bytes, Position::default()).map(|read| read.unwrap().1);
        assert_eq!(read.collect::<Vec<_>>(), nodes.map(Definition::Node));
    }

    #[test]
    fn memory_is_asked_for_with_signals_held_back_only() {
        let (head, lock) = (head(), Lock::default());
        let writer = DefinitionWriter::new(file(2 * DEFS_STEP_BYTES), head);
        let node = Definition::Node(node(0, 0x1000));
        assert_eq!(writer.append(&node, &lock.hold_alone().unwrap()), Err(NoRoom));
        assert!(!writer.is_refused());
        assert_eq!(writer.append(&node, &lock.hold().unwrap()), Ok(StackId(1)));
        assert_eq!(writer.append(&node, &lock.hold_alone().unwrap()), Ok(StackId(2)));
    }
}
