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
    written: Cell<usize>,
    provided: Cell<usize>,
    position: Cell<Position>,
    refusals: Refusals,
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
            written: Cell::new(0),
            provided: Cell::new(0),
            position: Cell::new(Position::default()),
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

    /// Appends a definition. For a node or a cut, gives its number.
    pub(crate) fn append(&self, definition: &Definition<'_>, _held: &Held<'_>) -> Result<StackId, NoRoom> {
        let mut position = self.position.get();
        let id = StackId(position.next_node);
        let is_node = definition.is_node();
        if is_node && id.0 >= STACKS_MAX {
            return Err(NoRoom);
        }
        let at = self.written.get();
        let room = self.room(at)?;
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
        self.position.set(position);
        self.written.set(at + len);
        self.head.defs_committed.store((at + len) as u64, Ordering::Release);
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
        let (mut position, at, room) =
            (self.position.get(), self.written.get(), nodes.len() * NODE_BYTES_MAX);
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
        let end = at + room - rest.len();
        self.position.set(position);
        self.written.set(end);
        self.head.defs_committed.store(end as u64, Ordering::Release);
        Some(first)
    }

    /// How many bytes there are from `at` on; at least enough for any definition.
    fn room(&self, at: usize) -> Result<usize, NoRoom> {
        if self.provided.get() - at < DEFINITION_BYTES_MAX {
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
