//! Finds the files of heaps, and removes those that nobody will look into any more.

use std::fs;
use std::path::{Path, PathBuf};

use heapscribe_wire::heap::NAME_PREFIX;
use heapscribe_wire::plan::FILE_NAME;

use super::file::HeapStatistics;
use crate::base;
use crate::live::SearchPath;

/// The files of heaps in a directory, unread: path, pid, time.
fn files(directory: &Path) -> impl Iterator<Item = (PathBuf, u32, u64)> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let (pid, created) = name.to_str()?.strip_prefix(NAME_PREFIX)?.split_once('.')?;
        Some((entry.path(), pid.parse().ok()?, created.parse().ok()?))
    })
}

/// What all heaps in a directory say, by process and time.
pub(super) fn in_directory(directory: &Path) -> Vec<HeapStatistics> {
    let mut statistics: Vec<HeapStatistics> =
        files(directory).filter_map(|(path, ..)| HeapStatistics::read(&path)).collect();
    statistics.sort_by_key(|statistics| (statistics.pid, statistics.created_mono_ns));
    statistics
}

/// The file of the process image that began to be recorded at a moment: both begin in the same call of it, so it
/// is the one that is nearest in time.
pub fn nearest(directory: &Path, pid: u32, mono_ns: u64) -> Option<PathBuf> {
    let of_process = files(directory).filter(|(_, of, _)| *of == pid);
    let found = of_process.min_by_key(|(.., created)| created.abs_diff(mono_ns));
    found.map(|(path, ..)| path)
}

/// The heaps of this user's processes, of each process that lives the last: what it ran before is no more.
pub fn all(place: &SearchPath) -> Vec<HeapStatistics> {
    let bases = place.directories().iter().flat_map(|parent| base::bases(parent));
    let ours = bases.filter(|base| base::check_owner(base).is_ok());
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

/// Removes what a `run` that is gone has left of processes that are gone too.
pub fn clean(place: &SearchPath) {
    for base in place.directories().iter().flat_map(|parent| base::bases(parent)) {
        let is_recording = base.join(FILE_NAME).exists() || base::has_sessions(&base);
        if is_recording || maker_lives(&base) || base::check_owner(&base).is_err() {
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

/// Whether the process lives that made a base directory, by its name; true when that does not say.
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
    const GONE: u32 = 0x7fff_fff0;

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
    fn what_a_run_that_is_gone_has_left_goes_and_what_lives_stays() {
        let parent = tempfile::tempdir().unwrap();
        let (gone, ours) = (base(parent.path(), GONE), base(parent.path(), std::process::id()));
        let me = (std::process::id(), u64::MAX / 2);
        write(&gone, GONE, 1);
        let (living, of_ours) = (write(&gone, me.0, me.1), write(&ours, GONE, 2));
        let place = crate::live::places(Some(parent.path()));
        clean(&place);
        assert_eq!(
            in_directory(&gone).iter().map(|statistics| statistics.path.clone()).collect::<Vec<_>>(),
            std::slice::from_ref(&living)
        );
        assert!(of_ours.exists(), "the one who made it still lives");
        assert_eq!(all(&place).iter().map(|statistics| &statistics.name[..]).collect::<Vec<_>>(), ["tlsf"]);
        fs::remove_file(living).unwrap();
        clean(&place);
        assert!(!gone.exists());
    }

    #[test]
    fn of_the_images_of_a_process_the_nearest_in_time_is_found() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (write(place.path(), 7, 1000), write(place.path(), 7, 2000));
        write(place.path(), 8, 1001);
        assert_eq!(nearest(place.path(), 7, 1100), Some(first));
        assert_eq!(nearest(place.path(), 7, 1900), Some(second));
        assert_eq!(nearest(place.path(), 9, 1000), None);
    }
}
