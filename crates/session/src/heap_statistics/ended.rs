//! The last statistics of heaps whose processes have ended: of the largest each, of the others sums.

use std::fs;
use std::path::Path;

use super::file::HeapStatistics;
use super::find;

/// Heaps whose statistics are retained one by one.
const LARGEST_MAX: usize = 64;

/// Heaps of processes that have ended.
#[derive(Debug, Default)]
pub struct EndedHeaps {
    /// The largest, by the most that was used.
    pub largest: Vec<HeapStatistics>,
    /// How many there were besides, and what they counted together.
    pub others: u64,
    /// How many requests they refused.
    pub others_failures: u64,
    /// How many misuses they found.
    pub others_misuses: u64,
}

impl EndedHeaps {
    /// Adds the last statistics of a heap.
    pub fn take(&mut self, statistics: HeapStatistics) {
        self.largest.push(statistics);
        self.largest.sort_by_key(|statistics| {
            (std::cmp::Reverse(statistics.update.counts.peak_bytes), statistics.pid)
        });
        if self.largest.len() > LARGEST_MAX
            && let Some(least) = self.largest.pop()
        {
            let counts = least.update.counts;
            self.others += 1;
            self.others_failures = self.others_failures.saturating_add(counts.failures);
            self.others_misuses = self.others_misuses.saturating_add(counts.misuses);
        }
    }

    /// Takes the files of all processes in a directory that have ended, or run another program by now.
    pub fn gather(&mut self, directory: &Path) {
        let statistics = find::in_directory(directory);
        for (n, image) in statistics.iter().enumerate() {
            let next = statistics.get(n + 1);
            let is_replaced =
                next.is_some_and(|next| (next.pid_namespace, next.pid) == (image.pid_namespace, image.pid));
            if !is_replaced && image.is_alive() {
                continue;
            }
            // It may have written between the first look and its end.
            self.take(HeapStatistics::read(&image.path).unwrap_or_else(|| image.clone()));
            let _ = fs::remove_file(&image.path);
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.largest.len() as u64 + self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_retained_and_the_others_summed() {
        let mut ended = EndedHeaps::default();
        for n in 0..LARGEST_MAX as u64 + 3 {
            let mut statistics = HeapStatistics { pid: n as u32, ..HeapStatistics::default() };
            (statistics.update.counts.peak_bytes, statistics.update.counts.failures) = (n, 1);
            ended.take(statistics);
        }
        assert_eq!(ended.count(), LARGEST_MAX as u64 + 3);
        assert_eq!((ended.others, ended.others_failures), (3, 3));
        assert_eq!(ended.largest.first().map(|statistics| statistics.pid), Some(LARGEST_MAX as u32 + 2));
    }
}
