//! The file that threads write sealed chunks to when nobody drains them: headers each followed by their
//! committed bytes.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::Ordering;

use heapscribe_nolibc::sys::{self, Errno, File, Open};
use heapscribe_wire::chunk::{HEADER_BYTES, Header, SharedHeader, State};
use heapscribe_wire::head::SharedHead;
use heapscribe_wire::limits::CHUNK_PAYLOAD_BYTES;

use super::chunk_file::ChunkFile;
use crate::platform::session_path;

const NAME: &CStr = c"spill";

/// Writes sealed chunks to the file, up to a limit, and frees them. Callers hold the recorder's lock.
pub(super) fn write(chunks: &ChunkFile, limit_bytes: u64, head: &SharedHead) {
    let Ok(file) = session_path::directory().and_then(|dir| dir.open_at(NAME, Open::Create)) else {
        return;
    };
    for index in 0..head.chunks_in_use.load(Ordering::Acquire) as usize {
        let header = chunks.header(index);
        let (sealed, open) = (State::Sealed as u32, State::Open as u32);
        // Marked "open", so that a drainer that wakes up does not read it meanwhile.
        if header.state.compare_exchange(sealed, open, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            if write_chunk(chunks, index, limit_bytes, &file, head).is_err() {
                header.state.store(sealed, Ordering::Release);
                return;
            }
            header.release();
        }
    }
}

fn write_chunk(
    chunks: &ChunkFile,
    index: usize,
    limit_bytes: u64,
    file: &File,
    head: &SharedHead,
) -> sys::Result<()> {
    let shared = chunks.header(index);
    let committed = (shared.committed.load(Ordering::Acquire) as usize).min(CHUNK_PAYLOAD_BYTES);
    let written = head.spilled_bytes.load(Ordering::Relaxed);
    let size = (HEADER_BYTES + committed) as u64;
    if written + size > limit_bytes.min(sys::file_size_limit()) {
        return Err(Errno::ENOMEM);
    }
    // SAFETY: `committed` bytes of the payload were written by the chunk's thread, which sealed it.
    let payload = unsafe { core::slice::from_raw_parts(chunks.payload(index), committed) };
    // At the place that the last whole chunk ended, so that one that was cut by a full disk is
    // overwritten by the next.
    file.write_all_at(&copy_of(shared).to_bytes(), written)?;
    file.write_all_at(payload, written + HEADER_BYTES as u64)?;
    head.spilled_bytes.store(written + size, Ordering::Relaxed);
    Ok(())
}

fn copy_of(shared: &SharedHeader) -> Header {
    Header {
        state: State::Sealed as u32,
        thread: shared.thread.load(Ordering::Relaxed),
        committed: shared.committed.load(Ordering::Relaxed),
        sequence: shared.sequence.load(Ordering::Relaxed),
        begin_ticks: shared.begin_ticks.load(Ordering::Relaxed),
        begin_mono_ns: shared.begin_mono_ns.load(Ordering::Relaxed),
        end_ticks: shared.end_ticks.load(Ordering::Relaxed),
        end_mono_ns: shared.end_mono_ns.load(Ordering::Relaxed),
        last_alloc_ticks: shared.last_alloc_ticks.load(Ordering::Relaxed),
    }
}
