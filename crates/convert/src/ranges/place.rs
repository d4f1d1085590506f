//! Where the index of a trace is: beside it, or in the cache directory where its folder cannot be written.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};

/// Where the index of a trace may be, the best place first.
pub(super) fn places(trace: &Path) -> Vec<PathBuf> {
    let mut beside = OsString::from(trace);
    beside.push(".idx");
    [Some(PathBuf::from(beside)), in_cache(trace)].into_iter().flatten().collect()
}

/// In the cache directory the whole path of the trace is the name of its index.
fn in_cache(trace: &Path) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let whole = fs::canonicalize(trace).ok()?;
    let sum =
        whole.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let name = whole.file_name()?.to_string_lossy().into_owned();
    Some(cache.join("heapscribe/index").join(format!("{name}.{sum:016x}.idx")))
}

/// A file that takes its name when it is complete, in place of what has it by then, and is removed otherwise: where the
/// file system can have files without a name it has none until then, and whatever ends us leaves nothing behind.
#[derive(Debug)]
pub(super) struct AtomicFile {
    pub(super) file: File,
    /// Its name while it has not that of `place`; locked as long as we write it.
    unfinished: PathBuf,
    has_name: bool,
    place: PathBuf,
}

impl AtomicFile {
    /// An empty one.
    pub(super) fn create(place: &Path) -> io::Result<AtomicFile> {
        let folder = match place.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder)?;
        remove_deserted(folder, place);
        match AtomicFile::without_name(folder, place) {
            Err(_) => AtomicFile::with_name(place),
            created => created,
        }
    }

    fn without_name(folder: &Path, place: &Path) -> io::Result<AtomicFile> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR)?);
        Ok(AtomicFile { file, unfinished: unfinished(place), has_name: false, place: place.to_owned() })
    }

    fn with_name(place: &Path) -> io::Result<AtomicFile> {
        let unfinished = unfinished(place);
        let open =
            File::options().read(true).write(true).create(true).truncate(true).mode(0o600).open(&unfinished);
        let file = open?;
        let _ = file.try_lock(); // where there are no locks, none is ever found unlocked
        Ok(AtomicFile { file, unfinished, has_name: true, place: place.to_owned() })
    }

    /// Gives it its name, and the permissions of the trace.
    pub(super) fn finish(mut self, like: &File) -> io::Result<File> {
        self.file.set_permissions(like.metadata()?.permissions())?;
        if !self.has_name {
            // A link takes no name that there is; to rename it does.
            let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            linkat(CWD, open, CWD, &self.unfinished, AtFlags::SYMLINK_FOLLOW)?;
            self.has_name = true;
        }
        fs::rename(&self.unfinished, &self.place)?;
        self.has_name = false;
        self.file.try_clone()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.has_name {
            let _ = fs::remove_file(&self.unfinished); // who deletes its folder meanwhile has done it for us
        }
    }
}

/// `run.hst.idx.4711.tmp`
fn unfinished(place: &Path) -> PathBuf {
    let mut name = OsString::from(place);
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}

/// Removes what others began who were killed: nobody holds its lock.
fn remove_deserted(folder: &Path, place: &Path) {
    let name = place.file_name().unwrap_or_default().as_encoded_bytes();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let other = entry.file_name();
        let rest = other.as_encoded_bytes().strip_prefix(name);
        let pid = rest.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(b".tmp"));
        let is_unfinished = pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit));
        if !is_unfinished || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let is_deserted = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_deserted {
            let _ = fs::remove_file(entry.path()); // it costs room only
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Makes an index in one way, gives up another, and makes a third.
    fn check(create: fn(&Path) -> AtomicFile, files_meanwhile: usize) {
        let place = tempfile::tempdir().unwrap();
        let count = || fs::read_dir(place.path()).unwrap().count();
        let index = place.path().join("run.hst.idx");
        assert_eq!(places(&place.path().join("run.hst"))[0], index);
        let like = File::create(place.path().join("trace")).unwrap();
        for (text, finishes, expected) in
            [("old", true, Some("old")), ("half", false, Some("old")), ("new", true, Some("new"))]
        {
            let before = count();
            let mut file = create(&index);
            file.file.write_all(text.as_bytes()).unwrap();
            assert_eq!(count(), before + files_meanwhile);
            if finishes {
                file.finish(&like).unwrap();
            } else {
                drop(file);
            }
            assert_eq!(fs::read_to_string(&index).ok().as_deref(), expected);
        }
        assert_eq!(count(), 2);
    }

    #[test]
    fn an_unfinished_file_is_never_seen_by_its_name() {
        // Who is killed meanwhile leaves nothing.
        check(|place| AtomicFile::without_name(place.parent().unwrap(), place).unwrap(), 0);
        check(|place| AtomicFile::with_name(place).unwrap(), 1);
        check(|place| AtomicFile::create(place).unwrap(), 0);
    }

    #[test]
    fn what_a_killed_process_began_is_removed_by_the_next_one() {
        let place = tempfile::tempdir().unwrap();
        let index = place.path().join("run.hst.idx");
        let held = AtomicFile::with_name(&index).unwrap();
        let kept = ["run.hst.idx.tmp", "run.hst.idx.1x.tmp", "other.idx.7.tmp", "run.hst.idx.7"];
        for name in kept.into_iter().chain(["run.hst.idx.7.tmp"]) {
            fs::write(place.path().join(name), "half").unwrap();
        }
        std::os::unix::fs::symlink("run.hst.idx.7", place.path().join("run.hst.idx.8.tmp")).unwrap();
        drop(AtomicFile::create(&index).unwrap());
        let exists = |name: &str| fs::symlink_metadata(place.path().join(name)).is_ok();
        assert!(kept.into_iter().all(exists) && exists("run.hst.idx.8.tmp"));
        assert!(held.unfinished.exists() && !exists("run.hst.idx.7.tmp"));
    }
}
