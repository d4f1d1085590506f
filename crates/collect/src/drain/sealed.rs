//! Writes what is sealed in all sessions in the order of being sealed. A ring evicts what was written first: by session, the
//! one chunk of a shell, which had just ended, was written before what the programs that it had run had done until then,
//! evicted before all that, and nothing before its end could be told any more.

use heapscribe_session::SessionKey;

use super::Drain;
use crate::session_drain::SealedChunk;

/// Bytes of events after which what was written is freed: threads may wait for it.
const BATCH_BYTES: usize = 1 << 20;

impl Drain {
    /// Writes and frees what was sealed in the sessions that are `wanted`, up to a moment. Whether anything was.
    pub(super) fn take_sealed(&mut self, wanted: impl Fn(&SessionKey) -> bool, until_mono_ns: u64) -> bool {
        let (mut any, mut sealed) = (false, Vec::new());
        for (_, session) in self.sessions.iter_mut().filter(|(key, _)| wanted(key)) {
            self.output.heartbeats.progress();
            any |= session.add_sealed(until_mono_ns, &mut self.output, &mut sealed);
        }
        sealed.sort_by_key(|chunk| chunk.sealed_mono_ns);
        let mut rest = &mut sealed[..];
        while !rest.is_empty() {
            let (batch, behind) = rest.split_at_mut(batch_of(rest));
            self.take_batch(batch);
            rest = behind;
        }
        any
    }

    fn take_batch(&mut self, batch: &mut [SealedChunk]) {
        for chunk in &*batch {
            if let Some(session) = self.sessions.get_mut(&chunk.session) {
                session.take_sealed(chunk, &mut self.output);
            }
        }
        // Before the chunks are freed: should we be killed, they are there or here.
        self.output.flush();
        batch.sort_by_key(|chunk| chunk.session);
        for of_one in batch.chunk_by(|a, b| a.session == b.session) {
            if let Some(session) = self.sessions.get_mut(&of_one[0].session) {
                session.free(of_one.iter(), &mut self.output);
            }
        }
    }
}

/// How many of these chunks are written before they are freed.
fn batch_of(chunks: &[SealedChunk]) -> usize {
    let mut bytes = 0;
    let is_full = |chunk: &SealedChunk| {
        bytes += chunk.payload_bytes();
        bytes >= BATCH_BYTES
    };
    chunks.iter().position(is_full).map_or(chunks.len(), |last| last + 1)
}
