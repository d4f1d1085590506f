//! What heaps said last whose processes have ended: of the largest all, of the others sums.

use std::fs;
use std::path::Path;

use super::find;
use super::told::Told;

/// Processes that are told of one by one.
const KEPT: usize = 64;

/// Heaps of processes that have ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// The largest, by the most that was used.
    pub(crate) largest: Vec<Told>,
    /// How many there were besides, and what they counted together.
    pub(crate) others: u64,
    pub(crate) others_failures: u64,
    pub(crate) others_misuses: u64,
}

impl Ended {
    /// Takes what a heap said last.
    pub(crate) fn take(&mut self, told: Told) {
        self.largest.push(told);
        self.largest.sort_by_key(|told| (std::cmp::Reverse(told.update.counts.peak_bytes), told.pid));
        if self.largest.len() > KEPT
            && let Some(least) = self.largest.pop()
        {
            let counts = least.update.counts;
            self.others += 1;
            self.others_failures = self.others_failures.saturating_add(counts.failures);
            self.others_misuses = self.others_misuses.saturating_add(counts.misuses);
        }
    }

    /// Takes the files of all processes in a directory that have ended, or run another program by now.
    pub(crate) fn gather(&mut self, directory: &Path) {
        let told = find::in_directory(directory);
        for (n, image) in told.iter().enumerate() {
            let next = told.get(n + 1);
            let is_replaced =
                next.is_some_and(|next| (next.pid_namespace, next.pid) == (image.pid_namespace, image.pid));
            if !is_replaced && image.is_alive() {
                continue;
            }
            // What it said between the first look and its end.
            self.take(Told::read(&image.path).unwrap_or_else(|| image.clone()));
            let _ = fs::remove_file(&image.path);
        }
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.largest.len() as u64 + self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_and_the_others_summed() {
        let mut ended = Ended::default();
        for n in 0..KEPT as u64 + 3 {
            let mut told = Told { pid: n as u32, ..Told::default() };
            (told.update.counts.peak_bytes, told.update.counts.failures) = (n, 1);
            ended.take(told);
        }
        assert_eq!(ended.count(), KEPT as u64 + 3);
        assert_eq!((ended.others, ended.others_failures), (3, 3));
        assert_eq!(ended.largest.first().map(|told| told.pid), Some(KEPT as u32 + 2));
    }
}
