//! The mapped log file, as chunks: a header and a payload for each number.
#![allow(unsafe_code)]

use heapscribe_wire::chunk::{SharedHeader, header_offset, payload_offset};

use crate::platform::mapped_file::SharedFile;

/// The log's file.
#[derive(Debug)]
pub(super) struct ChunkFile(pub(super) SharedFile);

impl ChunkFile {
    /// The header of a chunk that is in use, or is about to be: its page was provided.
    pub(super) fn header(&self, index: usize) -> &'static SharedHeader {
        // SAFETY: the header's page was provided before `chunks_in_use` went past it, and the mapping stays
        // for the life of the process; a header is atomic integers, for which all bytes are valid.
        unsafe { &*self.0.at(header_offset(index)).cast::<SharedHeader>() }
    }

    /// Where a chunk's payload is; what of it may be touched, its thread knows.
    pub(super) fn payload(&self, index: usize) -> *mut u8 {
        self.0.at(payload_offset(index))
    }
}
