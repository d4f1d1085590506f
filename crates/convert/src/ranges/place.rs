//! Where the index of a trace is: beside it, or in the cache directory where its folder cannot be written.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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

/// A file that takes its name when it is complete, in place of what has it by then, and is removed otherwise.
#[derive(Debug)]
pub(super) struct AtomicFile {
    pub(super) file: File,
    unfinished: PathBuf,
    place: PathBuf,
}

impl AtomicFile {
    /// An empty one.
    pub(super) fn create(place: &Path) -> io::Result<AtomicFile> {
        if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let mut name = OsString::from(place);
        name.push(format!(".{}.tmp", std::process::id()));
        let unfinished = PathBuf::from(name);
        let open =
            File::options().read(true).write(true).create(true).truncate(true).mode(0o600).open(&unfinished);
        Ok(AtomicFile { file: open?, unfinished, place: place.to_owned() })
    }

    /// Gives it its name, and the permissions of the trace.
    pub(super) fn finish(self, like: &File) -> io::Result<File> {
        self.file.set_permissions(like.metadata()?.permissions())?;
        fs::rename(&self.unfinished, &self.place)?;
        self.file.try_clone()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.unfinished); // of a finished one there is none by this name
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn an_unfinished_file_is_never_seen_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let index = place.path().join("run.hst.idx");
        assert_eq!(places(&place.path().join("run.hst"))[0], index);
        for (text, finishes, expected) in
            [("old", true, Some("old")), ("half", false, Some("old")), ("new", true, Some("new"))]
        {
            let mut file = AtomicFile::create(&index).unwrap();
            file.file.write_all(text.as_bytes()).unwrap();
            if finishes {
                let like = File::create(place.path().join("trace")).unwrap();
                file.finish(&like).unwrap();
            } else {
                drop(file);
            }
            assert_eq!(fs::read_to_string(&index).ok().as_deref(), expected);
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }
}
