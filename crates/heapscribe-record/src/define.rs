//! The writer of `defs`: definitions appended under the recorder's lock, each whole before the length
//! that commits it, and before the first event that needs it.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::Ordering;

use heapscribe_wire::defs::{DEFINITION_BYTES_MAX, Definition, Position};
use heapscribe_wire::head::SharedHead;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::{DEFS_STEP_BYTES, STACKS_MAX};

use crate::lock::Held;
use crate::shared::SharedFile;

/// The definitions of this process.
#[derive(Debug)]
pub(crate) struct Definer {
    file: SharedFile,
    written: Cell<usize>,
    provided: Cell<usize>,
    position: Cell<Position>,
}

/// No room or no memory for a definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRoom;

impl Definer {
    /// A writer at the start of a new file.
    pub(crate) fn new(file: SharedFile) -> Definer {
        Definer {
            file,
            written: Cell::new(0),
            provided: Cell::new(0),
            position: Cell::new(Position::default()),
        }
    }

    /// The mapping.
    pub(crate) fn range(&self) -> (*mut u8, usize) {
        self.file.range()
    }

    /// Appends a definition. For a node or a cut, gives its number.
    pub(crate) fn append(
        &self,
        definition: &Definition<'_>,
        head: &SharedHead,
        _held: &Held<'_>,
    ) -> Result<StackId, NoRoom> {
        let mut position = self.position.get();
        let id = StackId(position.next_node);
        if id.0 >= STACKS_MAX {
            return Err(NoRoom);
        }
        let at = self.written.get();
        let room = self.room(at)?;
        // SAFETY: `room` bytes from `at` on are provided, and only the holder of the lock writes there.
        let place = unsafe { core::slice::from_raw_parts_mut(self.file.at(at), room) };
        let len = definition.encode(&mut position, place).ok_or(NoRoom)?;
        self.position.set(position);
        self.written.set(at + len);
        head.defs_committed.store((at + len) as u64, Ordering::Release);
        Ok(id)
    }

    /// How many bytes there are from `at` on; at least enough for any definition.
    fn room(&self, at: usize) -> Result<usize, NoRoom> {
        if self.provided.get() - at < DEFINITION_BYTES_MAX {
            let end = self.provided.get() + DEFS_STEP_BYTES;
            if end > self.file.mapped_bytes() {
                return Err(NoRoom);
            }
            self.file.provide(self.provided.get(), DEFS_STEP_BYTES).map_err(|_| NoRoom)?;
            self.provided.set(end);
        }
        Ok((self.provided.get() - at).min(DEFINITION_BYTES_MAX))
    }
}
