//! The file that threads write chunks to while nobody drains them, read as far as the head says that it is whole. What is
//! behind that is of a write that failed or was cut short, perhaps with the end of a longer one before it; its chunk is
//! still in the log.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use heapscribe_session::open_file;
use heapscribe_wire::chunk::{HEADER_BYTES, Header};

const NAME: &str = "spill";

/// What was taken of it.
#[derive(Default)]
pub(super) struct SpillProgress {
    /// Up to where.
    pub(super) bytes: u64,
    /// By thread and number.
    chunks: BTreeSet<(u32, u64)>,
    last: Option<(u32, u64)>,
}

impl SpillProgress {
    /// Takes what was not taken of the whole part. Gives the chunks that are in no other place: the last one may be in the log,
    /// too, where a thread was killed while it wrote it out.
    pub(super) fn take(
        &mut self,
        directory: &Path,
        whole_bytes: u64,
        mut take: impl FnMut(Result<(&Header, &[u8]), &'static str>),
    ) -> Vec<(u32, u64)> {
        let mut before = Vec::new();
        for chunk in Spilled::new(directory, self.bytes, whole_bytes) {
            match chunk {
                Ok((header, payload)) => {
                    take(Ok((&header, &payload)));
                    let chunk = (header.thread, header.sequence);
                    self.chunks.insert(chunk);
                    self.bytes += (HEADER_BYTES + payload.len()) as u64;
                    before.extend(self.last.replace(chunk));
                }
                Err(problem) => {
                    take(Err(problem));
                    self.bytes = u64::MAX; // what follows makes no sense either
                }
            }
        }
        before
    }

    /// Whether a chunk was taken.
    pub(super) fn has(&self, header: &Header) -> bool {
        self.chunks.contains(&(header.thread, header.sequence))
    }
}

/// Its chunks, in the order in which they were written; why there are no more, when it is damaged.
pub(super) struct Spilled {
    file: Option<File>,
    left_bytes: u64,
}

impl Spilled {
    /// Those of a session whose head says that it has so many bytes of them, without those before `from`.
    pub(super) fn new(directory: &Path, from: u64, whole_bytes: u64) -> Spilled {
        let left_bytes = whole_bytes.saturating_sub(from);
        let open = |mut file: File| file.seek(SeekFrom::Start(from)).is_ok().then_some(file);
        let file = (left_bytes > 0).then(|| open_file(&directory.join(NAME), false)).flatten();
        Spilled { file: file.and_then(open), left_bytes }
    }

    /// The next bytes of the whole part.
    fn read(&mut self, into: &mut [u8]) -> Option<()> {
        self.left_bytes = self.left_bytes.checked_sub(into.len() as u64)?;
        self.file.as_mut()?.read_exact(into).ok()
    }

    fn chunk(&mut self) -> Result<(Header, Vec<u8>), &'static str> {
        const TRUNCATED: &str = "the last chunk that the process wrote itself is truncated";
        let mut header = [0; HEADER_BYTES];
        self.read(&mut header).ok_or(TRUNCATED)?;
        let header = Header::parse(&header);
        let len = header.payload_bytes().ok_or("the file that the process wrote itself is damaged")?;
        let mut payload = vec![0; len];
        self.read(&mut payload).ok_or(TRUNCATED)?;
        Ok((header, payload))
    }
}

impl Iterator for Spilled {
    type Item = Result<(Header, Vec<u8>), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left_bytes == 0 {
            return None;
        }
        let chunk = self.chunk();
        if chunk.is_err() {
            self.left_bytes = 0;
        }
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::limits::CHUNK_PAYLOAD_BYTES;

    fn chunk(sequence: u64, committed: usize) -> Vec<u8> {
        let header = Header { sequence, committed: committed as u32, ..Header::default() };
        [&header.to_bytes()[..], &vec![sequence as u8; committed]].concat()
    }

    /// Checks which chunks are read of a file, of which so many bytes are whole, and whether that is said to be all.
    fn check(file: Option<&[u8]>, whole_bytes: usize, expected: &[u64], is_all: bool) {
        let directory = tempfile::tempdir().unwrap();
        if let Some(file) = file {
            std::fs::write(directory.path().join(NAME), file).unwrap();
        }
        let (mut chunks, mut problems) = (Vec::new(), 0);
        for chunk in Spilled::new(directory.path(), 0, whole_bytes as u64) {
            match chunk {
                Ok((header, payload)) => {
                    assert_eq!(payload, vec![header.sequence as u8; header.committed as usize]);
                    chunks.push(header.sequence);
                }
                Err(_) => problems += 1,
            }
        }
        assert_eq!((&chunks[..], problems == 0), (expected, is_all), "{whole_bytes} bytes");
    }

    #[test]
    fn the_end_of_a_write_that_failed_is_not_read() {
        let (first, second) = (chunk(1, 100), chunk(2, 50));
        let both = [&first[..], &second].concat();
        check(Some(&both), both.len(), &[1, 2], true);
        // The second was to be written again, but the process was killed before it said so.
        check(Some(&both), first.len(), &[1], true);
        // A longer one was begun at the place of the second before, and found no room.
        let long = [&chunk(7, 300)[..200], &chunk(8, 10)].concat();
        let over = [&both[..], &long[second.len()..]].concat();
        check(Some(&over), both.len(), &[1, 2], true);
        check(None, 0, &[], true);
    }

    #[test]
    fn what_was_taken_is_not_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let all: Vec<u8> = (1..=3).flat_map(|number| chunk(number, 100)).collect();
        std::fs::write(directory.path().join(NAME), &all).unwrap();
        let mut taken = SpillProgress::default();
        let mut take = |whole_bytes: usize| {
            let mut numbers = Vec::new();
            let before = taken.take(directory.path(), whole_bytes as u64, |chunk| {
                numbers.push(chunk.unwrap().0.sequence);
            });
            (numbers, before)
        };
        let each = all.len() / 3;
        assert_eq!(take(0), (vec![], vec![]));
        assert_eq!(take(2 * each), (vec![1, 2], vec![(0, 1)]));
        assert_eq!(take(2 * each), (vec![], vec![]));
        assert_eq!(take(3 * each), (vec![3], vec![(0, 2)]));
        assert_eq!(take(each), (vec![], vec![]), "less than before");
        assert_eq!(taken.bytes, all.len() as u64);
        assert!(taken.has(&Header { sequence: 2, ..Header::default() }));
        assert!(!taken.has(&Header { sequence: 4, ..Header::default() }));
    }

    #[test]
    fn damage_is_told_once() {
        let file = chunk(1, 100);
        check(Some(&file), file.len() + 1, &[1], false);
        check(Some(&file), file.len() - 1, &[], false);
        check(Some(&file[..90]), file.len(), &[], false);
        check(Some(&file), 10, &[], false);
        check(None, 10, &[], false);
        let header = Header { committed: CHUNK_PAYLOAD_BYTES as u32 + 1, ..Header::default() };
        check(Some(&[&header.to_bytes()[..], &file].concat()), 1000, &[], false);
    }
}
