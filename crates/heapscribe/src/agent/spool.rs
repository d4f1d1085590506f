//! Profiles that wait for the collector: a file each, named by the window's begin and by what it has, so that what has to
//! make room is counted without reading it. The oldest make room first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was not delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) windows: u64,
    /// Blocks that were allocated in them.
    pub(crate) blocks: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
}

impl Dropped {
    pub(super) fn add(&mut self, other: Dropped) {
        self.windows += other.windows;
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// A window that waits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Waiting {
    /// The begin of the window, CLOCK_MONOTONIC ns.
    pub(super) from_ns: u64,
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    pub(super) path: PathBuf,
}

impl Waiting {
    fn of(path: PathBuf) -> Option<Waiting> {
        let name = path.file_name()?.to_str()?.strip_suffix(".otlp.gz")?;
        let mut numbers = name.split('-').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Waiting { from_ns: next()?, blocks: next()?, bytes: next()?, path })
    }

    fn file_bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }

    pub(super) fn dropped(&self) -> Dropped {
        Dropped { windows: 1, blocks: self.blocks, bytes: self.bytes }
    }
}

/// A spool, which who fills it shares with who empties it.
#[derive(Clone)]
pub(crate) struct Spool {
    dir: PathBuf,
    bytes_max: u64,
    /// What is on its way: whether it was delivered is not known yet, so it makes no room.
    on_its_way: Arc<Mutex<Option<Waiting>>>,
}

impl Spool {
    /// In a directory that is there.
    pub(crate) fn new(dir: PathBuf, bytes_max: u64) -> Spool {
        Spool { dir, bytes_max, on_its_way: Arc::default() }
    }

    fn on_its_way(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.on_its_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits, and how many bytes that is.
    pub(crate) fn size(&self) -> (u64, u64) {
        let waiting = Spool::waiting(&self.dir);
        (waiting.len() as u64, waiting.iter().map(Waiting::file_bytes).sum())
    }

    /// Takes the oldest window that began before this moment, to be sent: it stays until it is known to be delivered.
    pub(super) fn oldest(&self, before_ns: u64) -> Option<(Waiting, Vec<u8>)> {
        let mut on_its_way = self.on_its_way();
        let oldest = Spool::waiting(&self.dir).into_iter().find(|waiting| waiting.from_ns < before_ns)?;
        let packed = fs::read(&oldest.path).ok()?;
        *on_its_way = Some(oldest.clone());
        Some((oldest, packed))
    }

    /// What was taken was delivered or refused, or else waits again.
    pub(super) fn over(&self, sent: &Waiting, is_done: bool) {
        let mut on_its_way = self.on_its_way();
        if is_done {
            let _ = fs::remove_file(&sent.path); // one that stays is sent again: its profiles have the same ids
        }
        *on_its_way = None;
    }

    /// What waits, the oldest first.
    fn waiting(dir: &Path) -> Vec<Waiting> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut all: Vec<Waiting> = entries.filter_map(|entry| Waiting::of(entry.path())).collect();
        all.sort();
        all
    }

    /// After another start of the machine, whose clock began anew: what waits is older than all that comes, in its order.
    /// Before, windows of before a reboot waited until the new clock was past them, or were removed as not closed, uncounted.
    pub(super) fn put_first(&self) {
        for (place, waiting) in (0u64..).zip(Spool::waiting(&self.dir)) {
            let _ = fs::rename(&waiting.path, self.path(place, (waiting.blocks, waiting.bytes)));
        }
    }

    fn path(&self, from_ns: u64, (blocks, bytes): (u64, u64)) -> PathBuf {
        self.dir.join(format!("{from_ns:020}-{blocks}-{bytes}.otlp.gz"))
    }

    /// Removes windows that were not closed, as whoever wrote them was killed; they are written again.
    pub(super) fn remove_unclosed(&self, from_ns: u64) {
        let unclosed = Spool::waiting(&self.dir).into_iter().filter(|waiting| waiting.from_ns >= from_ns);
        unclosed.for_each(|waiting| drop(fs::remove_file(waiting.path)));
    }

    /// Adds a compressed profile of a window; what had to make room.
    ///
    /// # Errors
    /// Those of the output.
    pub(super) fn add(
        &self,
        from_ns: u64,
        (blocks, bytes): (u64, u64),
        packed: &[u8],
    ) -> io::Result<Dropped> {
        let unfinished = self.dir.join("unfinished");
        fs::write(&unfinished, packed)?;
        super::place::put(&unfinished, &self.path(from_ns, (blocks, bytes)))?;
        Ok(self.make_room())
    }

    fn make_room(&self) -> Dropped {
        let on_its_way = self.on_its_way();
        let waiting = Spool::waiting(&self.dir);
        let mut all: u64 = waiting.iter().map(Waiting::file_bytes).sum();
        let mut dropped = Dropped::default();
        for oldest in waiting {
            if all <= self.bytes_max {
                break;
            }
            if on_its_way.as_ref() == Some(&oldest) {
                continue;
            }
            all -= oldest.file_bytes().min(all);
            // What is gone by now was delivered.
            if fs::remove_file(&oldest.path).is_ok() {
                dropped.add(oldest.dropped());
            }
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room_and_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(dir.path().to_owned(), 10);
        let add = |from_ns| spool.add(from_ns, (from_ns + 1, from_ns + 2), &[0; 4]).unwrap();
        assert_eq!((add(9), add(100)), (Dropped::default(), Dropped::default()));
        assert_eq!(add(200), Dropped { windows: 1, blocks: 10, bytes: 11 });
        let times = || Spool::waiting(dir.path()).iter().map(|waiting| waiting.from_ns).collect::<Vec<_>>();
        assert_eq!(times(), [100, 200]);
        let (sent, packed) = spool.oldest(u64::MAX).unwrap();
        assert_eq!((sent.from_ns, packed.len(), spool.oldest(100)), (100, 4, None));
        assert_eq!(add(300).windows, 1);
        assert_eq!(times(), [100, 300]);
        spool.over(&sent, true);
        assert_eq!(times(), [300]);
        spool.remove_unclosed(300);
        assert_eq!(spool.size(), (0, 0));
    }

    #[test]
    fn what_waits_from_before_a_reboot_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(dir.path().to_owned(), 100);
        for from_ns in [1_000_000, 2_000_000] {
            spool.add(from_ns, (from_ns + 1, 7), &[0; 4]).unwrap();
        }
        spool.put_first();
        spool.add(500, (501, 7), &[0; 4]).unwrap();
        spool.remove_unclosed(1_000);
        let blocks: Vec<_> = Spool::waiting(dir.path()).iter().map(|waiting| waiting.blocks).collect();
        assert_eq!(blocks, [1_000_001, 2_000_001, 501]);
        assert_eq!(spool.oldest(501).unwrap().0.blocks, 1_000_001);
    }
}
