//! The private memory of this process, as the kernel counts it, read without allocating anything.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Longer than any of the files.
const TEXT_BYTES: usize = 8192;

/// The kernel's files, open.
#[derive(Debug)]
pub(crate) struct Resident {
    sums: File,
    status: File,
}

impl Resident {
    pub(crate) fn new() -> io::Result<Resident> {
        Ok(Resident {
            sums: File::open("/proc/self/smaps_rollup")?,
            status: File::open("/proc/thread-self/status")?,
        })
    }

    /// Bytes of memory that belong to no file, in memory or swapped out. Counted page by page: `statm` may
    /// be off by some hundred KiB.
    pub(crate) fn bytes(&self) -> u64 {
        let mut text = [0; TEXT_BYTES];
        let text = read(&self.sums, &mut text);
        (number(text, "Anonymous:") + number(text, "Swap:")) << 10
    }

    /// How often the kernel has taken the core away from this thread.
    pub(crate) fn switches(&self) -> u64 {
        let mut text = [0; TEXT_BYTES];
        number(read(&self.status, &mut text), "nonvoluntary_ctxt_switches:")
    }
}

fn read<'t>(file: &File, text: &'t mut [u8]) -> &'t str {
    let len = file.read_at(text, 0).unwrap_or(0);
    std::str::from_utf8(&text[..len]).unwrap_or_default()
}

/// The number behind a name at the begin of a line; 0 when there is no such line.
fn number(text: &str, name: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_whole_name() {
        let text = "Rss: 5 kB\nAnonHugePages:  7 kB\nAnonymous:    9 kB\nSwap: 1 kB\n";
        assert_eq!([number(text, "Anonymous:"), number(text, "Swap:"), number(text, "Pss:")], [9, 1, 0]);
    }

    #[test]
    fn memory_that_is_written_to_counts() {
        let resident = Resident::new().unwrap();
        let before = resident.bytes();
        let block = vec![1u8; 64 << 20];
        let after = resident.bytes();
        assert!(after - before >= 60 << 20, "{before} {after} {}", block[1 << 20]);
    }
}
