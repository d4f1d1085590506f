//! Where all sessions of a recording go, one after the other: the trace, and what is said at the end.

use std::path::Path;

use heapscribe_trace::model::SessionInfo;
use heapscribe_wire::limits::CHUNK_PAYLOAD_BYTES;

use super::pace::Pace;
use super::sink::Sink;
use super::summary::Summary;
use crate::ring::Limits;

/// What the sessions share, so that each is small: there may be thousands.
pub(super) struct Output {
    pub(super) sink: Sink,
    pub(super) summary: Summary,
    pub(super) pace: Pace,
    /// Room for the copy of a chunk.
    pub(super) chunk: Vec<u8>,
}

impl Output {
    /// Into a new file at `trace`, compressed at `level` when there is time.
    pub(super) fn create(
        trace: &Path,
        level: i32,
        log_chunks: Option<u32>,
        info: &SessionInfo,
        ring: Option<Limits>,
    ) -> anyhow::Result<Output> {
        Ok(Output {
            sink: Sink::create(trace, level, info, ring)?,
            summary: Summary::default(),
            pace: Pace::new(level, log_chunks),
            chunk: vec![0; CHUNK_PAYLOAD_BYTES],
        })
    }
}
