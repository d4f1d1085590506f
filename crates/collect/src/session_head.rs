//! The head of a session, open: single words of it, read when they are needed, and the one that the drainer writes.

use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use heapscribe_session::{is_mapped, read_head, read_up_to};
use heapscribe_wire::head::{HEARTBEAT_OFFSET, Head, Leaving, SharedHead, stage};
use heapscribe_wire::limits::DEFS_BYTES_MAX;

/// The head's file.
pub(super) struct SessionHead {
    file: File,
    heartbeat: u32,
}

impl SessionHead {
    pub(super) fn new(file: File) -> SessionHead {
        SessionHead { file, heartbeat: 0 }
    }

    /// The file itself.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// Lets the process know that it is drained.
    pub(super) fn beat(&mut self) {
        self.heartbeat = self.heartbeat.wrapping_add(1);
        let _ = self.file.write_at(&self.heartbeat.to_le_bytes(), HEARTBEAT_OFFSET as u64);
    }

    /// How many chunks of the log were ever used.
    pub(super) fn chunks_in_use(&self) -> usize {
        let mut word = [0; 4];
        read_up_to(&self.file, &mut word, offset_of!(SharedHead, chunks_in_use) as u64);
        u32::from_le_bytes(word) as usize
    }

    /// How many bytes of definitions are whole.
    pub(super) fn committed_bytes(&self) -> u64 {
        self.word(offset_of!(SharedHead, defs_committed)).min(DEFS_BYTES_MAX as u64)
    }

    /// What the process has begun to do that ends its image.
    pub(super) fn leaving(&self) -> Option<Leaving> {
        Leaving::from_word(self.word(offset_of!(SharedHead, leaving)))
    }

    fn word(&self, offset: usize) -> u64 {
        let mut word = [0; 8];
        read_up_to(&self.file, &mut word, offset as u64);
        u64::from_le_bytes(word)
    }

    /// Whether the process has let go of its session, as an exec does: it goes on as an image that has none.
    pub(super) fn is_abandoned(&self) -> bool {
        read_head(&self.file, |head| head.is_locked) == Some(true) && !is_mapped(&self.file)
    }

    /// The file of its program, if it is one that was exec'd.
    pub(super) fn program(&self) -> Option<Vec<u8>> {
        let of_program = |head: &Head<'_>| (head.stage == stage::EXECED).then(|| head.exe.to_vec());
        read_head(&self.file, of_program)?
    }
}
