//! The files in which a runtime with a compiler of its own says what code it has made: `/tmp/perf-PID.map`, and
//! `jit-PID.dump` there or where the process runs. They are read in its own root directory, and only when they are its own:
//! of the same user, and written while it lived. Such files stay, and pids are used again.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::SystemTime;

use heapscribe_formats::jit::jit_dump::{self, DumpClock, JitDump};
use heapscribe_formats::jit::{JitCode, perf_map};
use heapscribe_wire::head::Head;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, stat};

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
    /// Where it runs, for dumps.
    working: Option<Directory>,
    /// Its /tmp.
    temporary: Option<Directory>,
}

/// A directory.
#[derive(Debug)]
enum Directory {
    /// By its path, which the process has, too.
    Path(PathBuf),
    /// Of a process with other mounts or another root, which are gone when it has ended.
    Open(File),
}

impl Directory {
    fn open(path: &str) -> Option<Directory> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).ok().map(|fd| Directory::Open(fd.into()))
    }

    /// A directory in this one, which is the root of a process.
    fn of_root(self, name: &str) -> Option<Directory> {
        let Directory::Open(root) = self else { return None };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let below = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        openat2(root, name, flags, Mode::empty(), below).ok().map(|fd| Directory::Open(fd.into()))
    }

    /// A file in it, which is no link.
    fn file(&self, name: &str) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match self {
            Directory::Path(path) => rustix::fs::open(path.join(name), flags, Mode::empty()),
            Directory::Open(directory) => {
                openat2(directory, name, flags, Mode::empty(), ResolveFlags::BENEATH)
            }
        };
        opened.ok().map(File::from)
    }
}

/// Whether paths mean something else to this process than to us.
fn is_elsewhere(pid: u32) -> bool {
    let mounts = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let root = |path: &str| stat(path).ok().map(|root| (root.st_dev, root.st_ino));
    let (pid_mounts, pid_root) = (mounts(&pid.to_string()), root(&format!("/proc/{pid}/root")));
    pid_mounts.is_some_and(|theirs| Some(theirs) != mounts("self"))
        || pid_root.is_some_and(|theirs| Some(theirs) != root("/"))
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
    /// By how much times of its events may be early, ns: code that was made by an event's time may be so much younger.
    pub early_ns: u32,
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
            early_ns: head.early_ns,
        }
    }
}

impl JitFiles {
    /// Of a process that lives, or has just ended, with this pid here.
    pub fn of(pid: u32) -> JitFiles {
        let working = format!("/proc/{pid}/cwd");
        if is_elsewhere(pid) {
            let root = Directory::open(&format!("/proc/{pid}/root"));
            let temporary = root.and_then(|root| root.of_root("tmp"));
            return JitFiles { working: Directory::open(&working), temporary };
        }
        JitFiles {
            working: std::fs::read_link(working).ok().map(Directory::Path),
            temporary: Some(Directory::Path("/tmp".into())),
        }
    }

    /// The length of each of the files of the process with this pid in its own namespace, and when it was written; none of
    /// those that are not there.
    pub fn states(&self, pid: u32) -> Vec<Option<(u64, SystemTime)>> {
        let state = |file: Option<File>| {
            let meta = file?.metadata().ok()?;
            Some((meta.len(), meta.modified().ok()?))
        };
        self.dumps(pid).into_iter().chain([self.map(pid)]).map(state).collect()
    }

    fn dumps(&self, pid: u32) -> [Option<File>; 2] {
        let name = format!("jit-{pid}.dump");
        [&self.working, &self.temporary].map(|directory| directory.as_ref()?.file(&name))
    }

    fn map(&self, pid: u32) -> Option<File> {
        self.temporary.as_ref()?.file(&format!("perf-{pid}.map"))
    }

    /// How long the perf map of the process with this pid in its own namespace is, if it has one.
    pub fn map_bytes(&self, pid: u32) -> Option<u64> {
        self.map(pid)?.metadata().ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
    }

    /// What its runtime has compiled, where its perf map has grown like this.
    pub fn read(&self, wanted: &Wanted, growth: &Growth) -> CodeMade {
        let mut dump: Vec<Timed> = self
            .dumps(wanted.pid)
            .into_iter()
            .filter_map(|file| bytes(file?, wanted))
            .filter(|bytes| jit_dump::is_begin(bytes))
            .flat_map(|bytes| of_dump(jit_dump::read(&bytes), wanted))
            .collect();
        dump.sort_by_key(|timed| timed.made);
        let map =
            self.map(wanted.pid).and_then(|file| bytes(file, wanted)).map(|bytes| perf_map::read(&bytes).0);
        let timed =
            |code: JitCode| Timed { made: growth.grew_to(code.made, wanted.lived), moved_ns: u64::MAX, code };
        let mut map: Vec<Timed> = map.into_iter().flatten().map(timed).collect();
        for code in dump.iter_mut().chain(&mut map) {
            code.made.0 = code.made.0.saturating_sub(u64::from(wanted.early_ns));
        }
        CodeMade { dump, map }
    }
}

fn bytes(file: File, wanted: &Wanted) -> Option<Vec<u8>> {
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
