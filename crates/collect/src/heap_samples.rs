//! Statistics of the heap under a recorded process, sampled together with its memory.

use std::path::Path;

use heapscribe_formats::model::{HeapInfo, HeapSample, HowEnded, ProcessIndex};

use crate::output::Output;
use heapscribe_session::SessionKey;
use heapscribe_session::heap_statistics::{HeapStatistics, HeapStatisticsFile, ListedHeaps};

/// At how many samples the file is looked for: a heap that has statistics makes it from the process's first
/// call on. After that at ever longer intervals, as a process may lose its core within that call.
const LOOKS: u32 = 5;

/// The heap of a session's process.
#[derive(Debug, Default)]
pub(super) struct HeapSamples {
    watched: Option<HeapStatisticsFile>,
    looks: u32,
    samples: Vec<HeapSample>,
}

impl HeapSamples {
    /// Looks for a new sample of the process with the session `key` in this base directory. The last time, when no
    /// other image of the process can have made a file, the file is looked for in any case.
    pub(super) fn sample(
        &mut self,
        directory: &Path,
        key: SessionKey,
        is_last: bool,
        heaps: &mut ListedHeaps,
    ) {
        let update = match &mut self.watched {
            Some(watched) => watched.look(),
            None => {
                self.looks += 1;
                let is_time = self.looks <= LOOKS || self.looks.is_power_of_two();
                self.watched = if is_time || is_last { find(directory, key, heaps) } else { None };
                self.watched.as_ref().map(|file| file.statistics.update)
            }
        };
        self.samples.extend(update.and_then(|update| sample_of(&update)));
    }

    /// How many samples wait.
    pub(super) fn waiting(&self) -> usize {
        self.samples.len()
    }

    /// Writes what waits.
    pub(super) fn write(&mut self, process: ProcessIndex, output: &mut Output) {
        let Some(watched) = &self.watched else { return };
        let (name, configuration) =
            (watched.statistics.name.clone(), watched.statistics.configuration.clone());
        output.heap(process, &HeapInfo { name, configuration }, &std::mem::take(&mut self.samples));
    }

    /// Its last statistics; the file of a process that has ended is removed.
    pub(super) fn end(self, how: HowEnded) -> Option<HeapStatistics> {
        let statistics = self.watched?.statistics;
        if how != HowEnded::Abandoned {
            let _ = std::fs::remove_file(&statistics.path);
        }
        Some(statistics)
    }
}

fn find(directory: &Path, key: SessionKey, heaps: &mut ListedHeaps) -> Option<HeapStatisticsFile> {
    let path = heaps.nearest(directory, key.pid, key.created_mono_ns)?;
    HeapStatisticsFile::open(&path).filter(|file| !file.statistics.is_passing)
}

fn sample_of(update: &heapscribe_wire::heap::Update) -> Option<HeapSample> {
    (update.mono_ns > 0).then_some(HeapSample { mono_ns: update.mono_ns, counts: update.counts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::heap::{About, HEAP_FILE_BYTES, MAGIC, NAME_PREFIX};

    /// The process is in the midst of its first call for so many samples, and then tells that it ends.
    fn check(samples: usize, is_last: bool, is_found: bool) {
        let base = tempfile::tempdir().unwrap();
        let (mut heap, key) = (HeapSamples::default(), SessionKey { pid: 7, created_mono_ns: 1000 });
        let sample = |heap: &mut HeapSamples, is_last| {
            heap.sample(base.path(), key, is_last, &mut ListedHeaps::default());
        };
        (0..samples).for_each(|_| sample(&mut heap, false));
        let mut bytes = [0; HEAP_FILE_BYTES];
        About { pid: 7, created_mono_ns: 1001, name: b"tlsf", ..About::default() }.put(&mut bytes);
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        std::fs::write(base.path().join(format!("{NAME_PREFIX}7.1001")), bytes).unwrap();
        sample(&mut heap, is_last);
        assert_eq!(heap.end(HowEnded::Exited).is_some(), is_found, "{samples} {is_last}");
    }

    #[test]
    fn a_file_that_comes_late_is_found_at_ever_longer_intervals_and_at_the_end() {
        check(4, false, true);
        check(5, false, false);
        check(7, false, true);
        check(1000, false, false);
        check(1023, false, true);
        check(1000, true, true);
    }
}
