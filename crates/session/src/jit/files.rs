//! The files in which a runtime with a compiler of its own says what code it has made: `/tmp/perf-PID.map`, and
//! `jit-PID.dump` there or where the process runs. They are read when it has ended, in its own root directory, and only
//! when they are its own: of the same user, and written while it lived. Such files stay, and pids are used again.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use heapscribe_formats::jit::{JitCode, jit_dump, perf_map};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2, stat};

/// Bytes of such a file, at most; one that is longer is not read.
const FILE_BYTES_MAX: u64 = 128 << 20;
/// How far the time of a file and that of a session may be apart: the one counts jiffies, the other may be set.
const SLACK_NS: u64 = 2_000_000_000;

/// Where a process leaves these files.
#[derive(Debug, Default)]
pub(crate) struct JitFiles {
    /// Its root directory, when that is another one than ours.
    root: Option<File>,
    directory: Option<PathBuf>,
}

/// Whose files are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Its pid in its own namespace.
    pub(crate) pid: u32,
    /// Its user.
    pub(crate) uid: u32,
    /// When it was there, ns since 1970.
    pub(crate) lived_ns: (u64, u64),
}

impl JitFiles {
    /// Of a process that lives, with this pid here.
    pub(crate) fn of(pid: u32) -> JitFiles {
        let theirs = format!("/proc/{pid}/root");
        let identity = |path: &str| stat(path).ok().map(|root| (root.st_dev, root.st_ino));
        let is_other = identity(&theirs).is_some_and(|root| Some(root) != identity("/"));
        let open =
            || rustix::fs::open(&theirs, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let root = is_other.then(open).and_then(Result::ok).map(File::from);
        JitFiles { root, directory: std::fs::read_link(format!("/proc/{pid}/cwd")).ok() }
    }

    /// What its runtime has compiled, the older first.
    pub(crate) fn read(&self, wanted: &Wanted) -> Vec<JitCode> {
        let dump = format!("jit-{}.dump", wanted.pid);
        let here = self.directory.as_ref().map(|directory| directory.join(&dump));
        let dumps = here.into_iter().chain([Path::new("/tmp").join(&dump)]);
        let mut code: Vec<JitCode> = dumps
            .filter_map(|path| self.bytes(&path, wanted))
            .filter(|bytes| jit_dump::is_begin(bytes))
            .flat_map(|bytes| jit_dump::read(&bytes).0)
            .collect();
        let map = Path::new("/tmp").join(format!("perf-{}.map", wanted.pid));
        code.extend(self.bytes(&map, wanted).into_iter().flat_map(|bytes| perf_map::read(&bytes).0));
        code
    }

    fn bytes(&self, path: &Path, wanted: &Wanted) -> Option<Vec<u8>> {
        let file = self.open(path)?;
        let meta = file.metadata().ok()?;
        let written_ns = u64::try_from(meta.mtime()).ok()?.checked_mul(1_000_000_000)?;
        let (begin_ns, end_ns) = wanted.lived_ns;
        let is_of_then =
            (begin_ns.saturating_sub(SLACK_NS)..=end_ns.saturating_add(SLACK_NS)).contains(&written_ns);
        if !meta.is_file() || meta.uid() != wanted.uid || meta.len() > FILE_BYTES_MAX || !is_of_then {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Opens a path as the process sees it. Links in it stay below its root, and the last part is none.
    fn open(&self, path: &Path) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match &self.root {
            None => rustix::fs::openat(CWD, path, flags, Mode::empty()),
            Some(root) => {
                openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
            }
        };
        opened.ok().map(File::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: u32 = 0x7fff_fff1;

    fn wanted(uid: u32) -> Wanted {
        let now_ns =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        Wanted { pid: PID, uid, lived_ns: (now_ns, now_ns) }
    }

    /// The root of a process that has these files in its /tmp.
    fn root(place: &Path) -> JitFiles {
        std::fs::create_dir(place.join("tmp")).unwrap();
        JitFiles { root: Some(File::open(place).unwrap()), directory: Some("/tmp".into()) }
    }

    #[test]
    fn a_map_is_read_in_the_root_of_its_process_when_it_is_its_own() {
        let place = tempfile::tempdir().unwrap();
        let files = root(place.path());
        let map = place.path().join(format!("tmp/perf-{PID}.map"));
        std::fs::write(&map, "1000 20 JS:*load /a.js:3:1\n").unwrap();
        let uid = std::fs::metadata(&map).unwrap().uid();
        let names = |wanted: &Wanted| {
            files.read(wanted).into_iter().map(|code| code.name.to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(names(&wanted(uid)), [b"JS:*load /a.js:3:1"]);
        assert!(names(&wanted(uid + 1)).is_empty());
        let before = Wanted { lived_ns: (1, 2), ..wanted(uid) };
        let after = Wanted { lived_ns: (u64::MAX - 2, u64::MAX - 1), ..wanted(uid) };
        assert!(names(&before).is_empty() && names(&after).is_empty());
        std::fs::remove_file(&map).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &map).unwrap();
        assert!(names(&wanted(uid)).is_empty());
    }

    #[test]
    fn a_pipe_does_not_hold_up_who_reads() {
        let place = tempfile::tempdir().unwrap();
        let files = root(place.path());
        let map = place.path().join(format!("tmp/perf-{PID}.map"));
        assert!(std::process::Command::new("mkfifo").arg(&map).status().unwrap().success());
        let uid = std::fs::metadata(&map).unwrap().uid();
        assert!(files.read(&wanted(uid)).is_empty());
    }
}
