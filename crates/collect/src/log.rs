//! The log of a session, read by copies: which chunks there are, what is in them, and freeing them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::sync::atomic::{Ordering, fence};

use heapscribe_formats::model::ChunkInfo;
use heapscribe_wire::chunk::{
    COMMITTED_OFFSET, HEADER_BYTES, Header, STATE_OFFSET, State, header_offset, payload_offset,
};
use heapscribe_wire::limits::CHUNKS_MAX;
use std::os::unix::fs::FileExt;

use heapscribe_session::read_up_to;

/// The log of one session.
pub(super) struct Log {
    file: File,
    /// Chunks that are free for whoever reads here, by thread and number, and stay in the file; none where nothing stays.
    kept: Option<RefCell<BTreeSet<(u32, u64)>>>,
}

impl Log {
    /// A log whose chunks stay in it when they are freed, if `keeps`: that of a process that needs them no more.
    pub(super) fn new(file: File, keeps: bool) -> Log {
        Log { file, kept: keeps.then(RefCell::default) }
    }

    /// The headers of the first `in_use` chunks that `wanted` picks, a thread's in its own order.
    pub(super) fn chunks(&self, in_use: usize, wanted: impl Fn(&Header) -> bool) -> Vec<(usize, Header)> {
        let mut bytes = vec![0; in_use.min(CHUNKS_MAX) * HEADER_BYTES];
        let n = read_up_to(&self.file, &mut bytes, header_offset(0) as u64);
        let is_kept = |h: &Header| {
            self.kept.as_ref().is_some_and(|kept| kept.borrow().contains(&(h.thread, h.sequence)))
        };
        let wanted = |header: &Header| wanted(header) && !is_kept(header);
        let headers = bytes[..n]
            .chunks_exact(HEADER_BYTES)
            .map(|b| b.try_into().map_or_else(|_| Header::default(), Header::parse));
        let picked: Vec<_> =
            headers.enumerate().filter(|(_, header)| wanted(header)).map(|(i, _)| i).collect();
        // One copy may hold a new state beside older fields: nothing orders the words of a copy. Looked at
        // again after the state was seen, all that was stored before it is there.
        fence(Ordering::SeqCst);
        let mut picked: Vec<_> =
            picked.into_iter().map(|i| (i, self.header(i))).filter(|(_, h)| wanted(h)).collect();
        picked.sort_by_key(|(_, header)| (header.thread, header.sequence));
        // What the headers say was committed is to be read after them, also by processors that reorder.
        fence(Ordering::SeqCst);
        picked
    }

    fn header(&self, index: usize) -> Header {
        let mut bytes = [0; HEADER_BYTES];
        read_up_to(&self.file, &mut bytes, header_offset(index) as u64);
        Header::parse(&bytes)
    }

    /// Whether a chunk is still the one that was looked at: bytes that were copied before were its own.
    pub(super) fn is_still(&self, index: usize, read: &Header) -> bool {
        fence(Ordering::SeqCst);
        let now = self.header(index);
        (now.thread, now.sequence, now.state) == (read.thread, read.sequence, read.state)
            && now.committed >= read.committed
    }

    /// Copies what a chunk holds; how many bytes there were.
    pub(super) fn payload(&self, index: usize, into: &mut [u8]) -> usize {
        read_up_to(&self.file, into, payload_offset(index) as u64)
    }

    /// Frees a chunk: first its length, then its state. Not when it is another than the one that was read: the
    /// process may have found the collector dead and written it out itself. Whether it is free now.
    pub(super) fn free(&self, index: usize, read: &Header) -> bool {
        let offset = header_offset(index);
        if let Some(kept) = &self.kept {
            kept.borrow_mut().insert((read.thread, read.sequence));
            return false;
        }
        if self.header(index) != *read {
            return false;
        }
        let _ = self.file.write_at(&0u32.to_le_bytes(), (offset + COMMITTED_OFFSET) as u64);
        fence(Ordering::SeqCst);
        self.file.write_at(&(State::Free as u32).to_le_bytes(), (offset + STATE_OFFSET) as u64).is_ok()
    }
}

/// What the header of a chunk says of it.
pub(crate) fn chunk_info(header: &Header) -> ChunkInfo {
    ChunkInfo {
        thread: header.thread,
        sequence: header.sequence,
        begin_ticks: header.begin_ticks,
        begin_mono_ns: header.begin_mono_ns,
        end_ticks: header.end_ticks,
        end_mono_ns: header.end_mono_ns,
        last_alloc_ticks: header.last_alloc_ticks,
    }
}
