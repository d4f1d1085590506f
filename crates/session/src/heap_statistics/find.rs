//! Finds the files of heaps, and removes those of processes that have ended.

use std::fs;
use std::path::{Path, PathBuf};

use heapscribe_wire::heap::NAME_PREFIX;
use heapscribe_wire::plan::FILE_NAME;

use super::file::HeapStatistics;
use crate::base_directory;
use crate::key::SessionKey;
use crate::search_path::SearchPath;

/// The file of a heap, unread.
struct HeapFile {
    path: PathBuf,
    key: SessionKey,
}

/// The files of heaps in a directory.
fn files(directory: &Path) -> impl Iterator<Item = HeapFile> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let key = SessionKey::parse(entry.file_name().to_str()?.strip_prefix(NAME_PREFIX)?)?;
        Some(HeapFile { path: entry.path(), key })
    })
}

/// The statistics of all heaps in a directory, by process and time.
pub(super) fn in_directory(directory: &Path) -> Vec<HeapStatistics> {
    let mut statistics: Vec<HeapStatistics> =
        files(directory).filter_map(|file| HeapStatistics::read(&file.path)).collect();
    statistics.sort_by_key(|statistics| (statistics.pid, statistics.created_mono_ns));
    statistics
}

/// The file of the process image that began to be recorded at a moment: both begin in the same call of it, so it
/// is the one that is nearest in time.
pub fn nearest(directory: &Path, pid: u32, mono_ns: u64) -> Option<PathBuf> {
    let of_process = files(directory).filter(|file| file.key.pid == pid);
    of_process.min_by_key(|file| file.key.created_mono_ns.abs_diff(mono_ns)).map(|file| file.path)
}

/// The files of heaps in a directory, as they were when somebody asked first: for those who ask for each of thousands of
/// processes, which have no such file.
#[derive(Default)]
pub struct ListedHeaps {
    /// By process and time.
    listed: Option<Vec<HeapFile>>,
    listings: u64,
}

impl ListedHeaps {
    /// Has the next one who asks look into the directory.
    pub fn forget(&mut self) {
        self.listed = None;
    }

    /// As [`nearest`].
    pub fn nearest(&mut self, directory: &Path, pid: u32, mono_ns: u64) -> Option<PathBuf> {
        let listings = &mut self.listings;
        let listed = self.listed.get_or_insert_with(|| {
            *listings += 1;
            let mut listed: Vec<HeapFile> = files(directory).collect();
            listed.sort_by_key(|file| (file.key.pid, file.key.created_mono_ns));
            listed
        });
        let begin = listed.partition_point(|file| file.key.pid < pid);
        let of_process = listed[begin..].iter().take_while(|file| file.key.pid == pid);
        of_process.min_by_key(|file| file.key.created_mono_ns.abs_diff(mono_ns)).map(|file| file.path.clone())
    }

    /// How often the directory was read.
    pub fn listings(&self) -> u64 {
        self.listings
    }
}

/// The heaps of this user's processes, of each living process the last: those of programs that it ran before have
/// ended.
pub fn all(place: &SearchPath) -> Vec<HeapStatistics> {
    let bases = place.directories().iter().flat_map(|parent| base_directory::bases(parent));
    let ours = bases.filter(|base| base_directory::check_owner(base).is_ok());
    let mut statistics: Vec<HeapStatistics> = ours.flat_map(|base| in_directory(&base)).collect();
    statistics
        .sort_by_key(|statistics| (statistics.pid_namespace, statistics.pid, statistics.created_mono_ns));
    let mut last: Vec<HeapStatistics> = Vec::new();
    for statistics in statistics.into_iter().filter(HeapStatistics::is_alive) {
        match last.last_mut() {
            Some(before)
                if (before.pid_namespace, before.pid) == (statistics.pid_namespace, statistics.pid) =>
            {
                *before = statistics;
            }
            _ => last.push(statistics),
        }
    }
    last
}

/// Removes what a `run` that has ended has left of processes that have ended too.
pub fn clean(place: &SearchPath) {
    for base in place.directories().iter().flat_map(|parent| base_directory::bases(parent)) {
        let is_recording = base.join(FILE_NAME).exists() || base_directory::has_sessions(&base);
        if is_recording || maker_lives(&base) || base_directory::check_owner(&base).is_err() {
            continue;
        }
        for statistics in in_directory(&base) {
            if !statistics.is_alive() {
                let _ = fs::remove_file(&statistics.path);
            }
        }
        let _ = fs::remove_dir(&base); // when it is empty
    }
}

/// Whether the process lives that made a base directory, by its name; true when the name has no pid.
fn maker_lives(base: &Path) -> bool {
    let name = base.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let pid = name.split('.').nth(2).and_then(|pid| pid.parse::<u32>().ok());
    pid.is_none_or(|pid| Path::new(&format!("/proc/{pid}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::heap::{About, HEAP_FILE_BYTES, MAGIC};

    /// No process has this pid.
    const ENDED: u32 = 0x7fff_fff0;

    fn write(base: &Path, pid: u32, created_mono_ns: u64) -> PathBuf {
        let mut bytes = [0; HEAP_FILE_BYTES];
        About { pid, created_mono_ns, name: b"tlsf", ..About::default() }.put(&mut bytes);
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        let path = base.join(format!("{NAME_PREFIX}{pid}.{created_mono_ns}"));
        fs::write(&path, bytes).unwrap();
        path
    }

    fn base(parent: &Path, maker: u32) -> PathBuf {
        use std::os::unix::fs::DirBuilderExt;
        let base = parent.join(format!("heapscribe.{}.{maker}.0", rustix::process::geteuid().as_raw()));
        fs::DirBuilder::new().mode(0o700).create(&base).unwrap();
        base
    }

    #[test]
    fn files_of_ended_processes_of_an_ended_run_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (ended, ours) = (base(parent.path(), ENDED), base(parent.path(), std::process::id()));
        let me = (std::process::id(), u64::MAX / 2);
        write(&ended, ENDED, 1);
        let (living, of_ours) = (write(&ended, me.0, me.1), write(&ours, ENDED, 2));
        let place = crate::search_path::places(Some(parent.path()));
        clean(&place);
        assert_eq!(
            in_directory(&ended).iter().map(|statistics| statistics.path.clone()).collect::<Vec<_>>(),
            std::slice::from_ref(&living)
        );
        assert!(of_ours.exists(), "the one who made it still lives");
        assert_eq!(all(&place).iter().map(|statistics| &statistics.name[..]).collect::<Vec<_>>(), ["tlsf"]);
        fs::remove_file(living).unwrap();
        clean(&place);
        assert!(!ended.exists());
    }

    #[test]
    fn of_the_images_of_a_process_the_nearest_in_time_is_found() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (write(place.path(), 7, 1000), write(place.path(), 7, 2000));
        write(place.path(), 8, 1001);
        assert_eq!(nearest(place.path(), 7, 1100), Some(first));
        assert_eq!(nearest(place.path(), 7, 1900), Some(second));
        assert_eq!(nearest(place.path(), 9, 1000), None);
        let mut listed = ListedHeaps::default();
        for (pid, at) in [(7, 1100), (7, 1900), (8, 0), (9, 1000), (6, 1000)] {
            assert_eq!(listed.nearest(place.path(), pid, at), nearest(place.path(), pid, at));
        }
        write(place.path(), 9, 3000);
        assert_eq!((listed.nearest(place.path(), 9, 1000), listed.listings()), (None, 1));
        listed.forget();
        assert!(listed.nearest(place.path(), 9, 1000).is_some());
    }
}
