//! The files in which a runtime with a compiler of its own says what code it has made: `/tmp/perf-PID.map`, and
//! `jit-PID.dump` there or where the process runs. They are read in its own root directory, and only when they are its own:
//! of the same user, and written while it lived. Such files stay, and pids are used again.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use heapscribe_formats::jit::jit_dump::{self, DumpClock, JitDump};
use heapscribe_formats::jit::{JitCode, perf_map};
use heapscribe_wire::head::Head;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2, stat};

use super::{CodeMade, Growth, Span, TickLine, Timed};
use crate::clock::counter_and_ns;
use crate::head::read_head;

/// Bytes of such a file, at most; one that is longer is not read.
const FILE_BYTES_MAX: u64 = 128 << 20;
/// How far the time of a file and that of a session may be apart: the one counts jiffies, the other may be set.
const SLACK_NS: u64 = 2_000_000_000;

/// Where a process leaves these files.
#[derive(Debug, Default)]
pub struct JitFiles {
    /// Its root directory, when that is another one than ours.
    root: Option<File>,
    directory: Option<PathBuf>,
}

/// Whose files are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its pid in its own namespace.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// When it was there, ns since 1970.
    pub lived_real: Span,
    /// The same.
    pub lived: Span,
    /// Its clock.
    pub line: TickLine,
}

impl Wanted {
    /// The process of a session, which is there up to now or has ended at this moment; `early` is the counter and
    /// CLOCK_MONOTONIC of a moment long before.
    pub fn of(head: &File, early: Option<(u64, u64)>, until_mono_ns: u64) -> Option<Wanted> {
        let uid = head.metadata().ok()?.uid();
        read_head(head, |head| {
            let line = TickLine::new(head, early, counter_and_ns());
            Wanted::by(head, uid, line, until_mono_ns)
        })
    }

    fn by(head: &Head<'_>, uid: u32, line: TickLine, until_mono_ns: u64) -> Wanted {
        let (began_ns, began_real_ns) = (head.created_mono_ns, head.created_real_ns);
        let lived_ns = until_mono_ns.saturating_sub(began_ns);
        Wanted {
            pid: head.pid,
            uid,
            lived_real: (began_real_ns, began_real_ns.saturating_add(lived_ns)),
            lived: (began_ns, began_ns.saturating_add(lived_ns)),
            line,
        }
    }
}

impl JitFiles {
    /// Of a process that lives, with this pid here.
    pub fn of(pid: u32) -> JitFiles {
        let theirs = format!("/proc/{pid}/root");
        let identity = |path: &str| stat(path).ok().map(|root| (root.st_dev, root.st_ino));
        let is_other = identity(&theirs).is_some_and(|root| Some(root) != identity("/"));
        let open =
            || rustix::fs::open(&theirs, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let root = is_other.then(open).and_then(Result::ok).map(File::from);
        JitFiles { root, directory: std::fs::read_link(format!("/proc/{pid}/cwd")).ok() }
    }

    /// How long the perf map of the process with this pid in its own namespace is, if it has one.
    pub fn map_bytes(&self, pid: u32) -> Option<u64> {
        self.open(&map_path(pid))?.metadata().ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
    }

    /// What its runtime has compiled, where its perf map has grown like this.
    pub fn read(&self, wanted: &Wanted, growth: &Growth) -> CodeMade {
        let name = format!("jit-{}.dump", wanted.pid);
        let here = self.directory.as_ref().map(|directory| directory.join(&name));
        let mut dump: Vec<Timed> = here
            .into_iter()
            .chain([Path::new("/tmp").join(&name)])
            .filter_map(|path| self.bytes(&path, wanted))
            .filter(|bytes| jit_dump::is_begin(bytes))
            .flat_map(|bytes| of_dump(jit_dump::read(&bytes), wanted))
            .collect();
        dump.sort_by_key(|timed| timed.made);
        let map = self.bytes(&map_path(wanted.pid), wanted).map(|bytes| perf_map::read(&bytes).0);
        let timed =
            |code: JitCode| Timed { made: growth.grew_to(code.made, wanted.lived), moved_ns: u64::MAX, code };
        CodeMade { dump, map: map.into_iter().flatten().map(timed).collect() }
    }

    fn bytes(&self, path: &Path, wanted: &Wanted) -> Option<Vec<u8>> {
        let file = self.open(path)?;
        let meta = file.metadata().ok()?;
        let written_ns = u64::try_from(meta.mtime()).ok()?.checked_mul(1_000_000_000)?;
        let (begin_ns, end_ns) = wanted.lived_real;
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

fn map_path(pid: u32) -> PathBuf {
    Path::new("/tmp").join(format!("perf-{pid}.map"))
}

/// The code in a dump that was made while the process lived. Where that is none, its times are of another clock, and it is
/// not known when its code was made.
fn of_dump(dump: JitDump, wanted: &Wanted) -> Vec<Timed> {
    let (begin_ns, end_ns) = wanted.lived;
    let lived = begin_ns.saturating_sub(SLACK_NS)..=end_ns.saturating_add(SLACK_NS);
    let mono_ns = |time| match dump.clock {
        DumpClock::Monotonic => Some(time),
        DumpClock::Counter => wanted.line.of_counter(time),
    };
    let then = |code: &JitCode| mono_ns(code.made).filter(|made_ns| lived.contains(made_ns));
    if !dump.code.iter().any(|code| then(code).is_some()) {
        let timed = |code| Timed { code, made: wanted.lived, moved_ns: u64::MAX };
        return dump.code.into_iter().map(timed).collect();
    }
    let timed = |code: JitCode| {
        let made_ns = then(&code)?;
        Some(Timed {
            made: (made_ns, made_ns),
            moved_ns: code.moved.and_then(mono_ns).unwrap_or(u64::MAX),
            code,
        })
    };
    dump.code.into_iter().filter_map(timed).collect()
}

#[cfg(test)]
mod tests;
