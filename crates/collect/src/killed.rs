//! Sessions of processes that were killed. They are retained after draining, so that what was live when the
//! process died can be inspected; they move into a base directory of their own, which no collector drains,
//! and are removed when they are too old or too large together.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::process::Signal;

use heapscribe_formats::HowEnded;
use heapscribe_session::base_directory::{self, session_path};
use heapscribe_session::inspect::ENDED;
use heapscribe_session::{Alive, SessionKey, started_before};

/// How long the sessions of killed processes are retained, and how many bytes of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KilledRetention {
    /// Age of the oldest; 0 retains none.
    pub age: Duration,
    /// Bytes of all; `None` for a quarter of the free room, at most 1 GiB.
    pub bytes: Option<u64>,
}

/// The most that they take by default, and a quarter of what is free.
const BYTES_MAX: u64 = 1 << 30;

/// Signals that end a process because of a fault, or that kill it from outside.
const KILLS: [Signal; 11] = [
    Signal::QUIT,
    Signal::ILL,
    Signal::TRAP,
    Signal::ABORT,
    Signal::BUS,
    Signal::FPE,
    Signal::KILL,
    Signal::SEGV,
    Signal::XCPU,
    Signal::XFSZ,
    Signal::SYS,
];

/// How a process has ended: by its status in /proc until its parent waits for it, else by whether it began to exit.
/// The pid may be another process's by now, which began later.
pub(super) fn how_ended(pid: Option<u32>, created_mono_ns: u64, is_leaving: bool) -> HowEnded {
    let code = |pid| exit_code(pid).filter(|_| started_before(pid, created_mono_ns));
    match pid.and_then(code) {
        Some(code) if code & 0x7f != 0 => HowEnded::Killed((code & 0x7f) as u8),
        None if !is_leaving => HowEnded::Unseen,
        _ => HowEnded::Exited,
    }
}

/// Whether a process was killed, or may have been.
pub(super) fn was_killed(how: HowEnded) -> bool {
    match how {
        HowEnded::Killed(signal) => is_kill(signal.into()),
        how => how == HowEnded::Unseen,
    }
}

/// Whether a signal of this number ends a process that was killed; others ask it to end.
fn is_kill(signal: i32) -> bool {
    KILLS.iter().any(|kill| kill.as_raw() == signal)
}

/// The wait status of a process that has ended and that its parent has not waited for.
fn exit_code(pid: u32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? != "Z" {
        return None; // another one by now
    }
    fields.next_back()?.parse().ok()
}

/// The base directory of retained sessions, in the directory of those of recordings.
fn directory(parent: &Path) -> PathBuf {
    parent.join(format!("heapscribe.{}.ended", rustix::process::geteuid().as_raw()))
}

/// Moves the drained session of a process that had ended at this moment to those that are retained, without its log, which
/// is in the trace. Gives its path.
pub(super) fn retain(base: &Path, key: SessionKey, ended_mono_ns: u64) -> Option<PathBuf> {
    let from = session_path(base, key);
    let parent = directory(base.parent()?);
    if DirBuilder::new().mode(0o700).create(&parent).is_err() {
        base_directory::check_owner(&parent).ok()?;
    }
    let _ = fs::remove_file(from.join("spill"));
    if let Ok(log) = File::options().write(true).open(from.join("log"))
        && let Ok(meta) = log.metadata()
    {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(&log, flags, 0, meta.len());
    }
    // How old it is, its own time says.
    fs::write(from.join(ENDED), ended_mono_ns.to_string()).ok()?;
    let to = session_path(&parent, key);
    fs::rename(&from, &to).ok()?;
    Some(to)
}

/// A session that is retained.
struct KilledSession {
    key: SessionKey,
    ended: SystemTime,
    bytes: u64,
}

/// Removes sessions that are too old, and the oldest of those that are too large together: how many.
pub fn clean(parent: &Path, retention: &KilledRetention) -> usize {
    let base = directory(parent);
    if base_directory::check_owner(&base).is_err() {
        return 0;
    }
    let mut sessions: Vec<KilledSession> =
        base_directory::sessions(&base).filter_map(|key| dead(&base, key)).collect();
    sessions.sort_by_key(|session| std::cmp::Reverse(session.ended));
    let all: u64 = sessions.iter().map(|session| session.bytes).sum();
    let most = retention.bytes.unwrap_or_else(|| budget(&base, all));
    let (now, mut bytes, mut removed) = (SystemTime::now(), 0u64, 0);
    for session in sessions {
        bytes = bytes.saturating_add(session.bytes);
        let age = now.duration_since(session.ended).unwrap_or_default();
        if retention.age.is_zero() || age > retention.age || bytes > most {
            removed += usize::from(base_directory::remove_session(&base, session.key));
        }
    }
    base_directory::remove_rests(&base);
    let _ = fs::remove_dir(&base); // when it is empty
    removed
}

/// A quarter of the room that there would be without them.
fn budget(base: &Path, all: u64) -> u64 {
    let free = statvfs(base).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    (free.saturating_add(all) / 4).min(BYTES_MAX)
}

/// A session whose process has ended, in whatever pid namespace.
fn dead(base: &Path, key: SessionKey) -> Option<KilledSession> {
    if Alive::find(key.pid, key.created_mono_ns).is_some() {
        return None;
    }
    let ended = fs::metadata(session_path(base, key).join(ENDED)).ok()?.modified().ok()?;
    let bytes = base_directory::session_bytes(base, key);
    Some(KilledSession { key, ended, bytes })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    fn session(parent: &Path, key: SessionKey) -> PathBuf {
        let base = parent.join("heapscribe.base");
        fs::create_dir_all(session_path(&base, key)).unwrap();
        fs::write(session_path(&base, key).join("live"), [1; 8192]).unwrap();
        fs::write(session_path(&base, key).join("log"), [1; 65536]).unwrap();
        retain(&base, key, 7).unwrap()
    }

    /// No process has this pid.
    const ENDED: u32 = 0x7fff_fff0;

    #[test]
    fn the_oldest_go_when_all_are_too_large() {
        let place = tempfile::tempdir().unwrap();
        let sessions: Vec<_> = (1..=3)
            .map(|n| {
                let path = session(place.path(), SessionKey { pid: ENDED, created_mono_ns: n });
                let when = SystemTime::now() - Duration::from_secs(1000 * (4 - n));
                File::options().write(true).open(path.join("ended")).unwrap().set_modified(when).unwrap();
                path
            })
            .collect();
        let check = |age, bytes, removed, there: [bool; 3]| {
            assert_eq!(
                clean(place.path(), &KilledRetention { age: Duration::from_secs(age), bytes }),
                removed
            );
            assert_eq!([0, 1, 2].map(|i: usize| sessions[i].exists()), there);
        };
        check(4000, Some(1 << 20), 0, [true; 3]);
        check(4000, Some(25_000), 1, [false, true, true]);
        check(1500, Some(1 << 20), 1, [false, false, true]);
        check(0, None, 1, [false; 3]);
        assert!(!directory(place.path()).exists());
    }

    #[test]
    fn how_a_process_ended_is_known_until_its_parent_has_waited() {
        let later = u64::MAX / 2;
        for (script, expected) in [
            ("kill -TERM $$", HowEnded::Killed(15)),
            ("kill -KILL $$", HowEnded::Killed(9)),
            ("exit 3", HowEnded::Exited),
        ] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let id = WaitId::Pid(Pid::from_child(&child));
            waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
            let of = |created_mono_ns, is_leaving| how_ended(Some(child.id()), created_mono_ns, is_leaving);
            assert_eq!(of(later, false), expected, "{script}");
            assert_eq!(of(0, false), HowEnded::Unseen, "another process of that pid");
            child.wait().unwrap();
            let of = |is_leaving| how_ended(Some(child.id()), later, is_leaving);
            assert_eq!((of(false), of(true)), (HowEnded::Unseen, HowEnded::Exited), "{script}");
        }
        let killed = [HowEnded::Killed(9), HowEnded::Unseen, HowEnded::Killed(15), HowEnded::Exited];
        assert_eq!(killed.map(was_killed), [true, true, false, false]);
    }

    #[test]
    fn a_session_of_a_living_process_stays() {
        let place = tempfile::tempdir().unwrap();
        let path =
            session(place.path(), SessionKey { pid: std::process::id(), created_mono_ns: u64::MAX / 2 });
        assert_eq!(clean(place.path(), &KilledRetention { age: Duration::ZERO, bytes: None }), 0);
        assert!(path.exists());
    }
}
