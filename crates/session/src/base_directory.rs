//! The base directory of a recording: where every recorded process makes its session.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_wire::plan::{
    FILE_NAME, Plan, SESSION_VARIABLE, SOLE_PROCESS_FILE_BYTES, SOLE_PROCESS_FILE_NAME,
};

use crate::key::SessionKey;
use heapscribe_diagnostics as diagnostics;
use heapscribe_diagnostics::Problem;

/// Where sessions lie when nothing else is asked for: in memory.
pub const SESSION_DIR: &str = "/dev/shm";

/// Less room than this on a file system is not enough for the sessions of a small program.
const ROOM_BYTES_MIN: u64 = 16 << 20;
/// With less than this another place is taken if there is one: the table of live blocks takes half of what they take.
/// Docker gives /dev/shm 64 MiB.
const ROOM_BYTES_WANTED: u64 = 256 << 20;

/// What helps where no directory of sessions can be made.
pub(crate) const CHOOSE: &str =
    "name a directory that you can write to, with at least 16 MiB of free space: --session-dir DIR";

/// A base directory of ours, private to this user.
pub struct Base {
    path: PathBuf,
}

impl Base {
    /// Makes the directory below the place that was asked for, else in memory, or below another place where that
    /// is missing or small.
    pub fn create(asked: Option<&Path>) -> Result<Base> {
        let Some(asked) = asked else { return Base::anywhere(Path::new(SESSION_DIR)) };
        let base = Base::below(asked).map_err(|e| {
            Problem::new(format!("cannot create the session directory: {}: {e}", asked.display()), CHOOSE)
        })?;
        if let Some(room) = room_bytes(asked).filter(|room| *room < ROOM_BYTES_MIN) {
            diagnostics::warning(&format!(
                "{} has {} free; even a small program needs {}",
                asked.display(),
                mib(room),
                mib(ROOM_BYTES_MIN)
            ));
        }
        Ok(base)
    }

    /// Makes the directory below the first place, if it is there and has plenty of room, else below another.
    fn anywhere(first: &Path) -> Result<Base> {
        let room = room_bytes(first);
        let mut shortage = shortage(first, room);
        for candidate in candidates(first) {
            match Base::below(&candidate) {
                Ok(base) => {
                    if candidate != first {
                        diagnostics::warning(&format!("{shortage}; using {}", candidate.display()));
                    }
                    return Ok(base);
                }
                Err(e) if candidate == first => {
                    shortage = format!("no session can be created in {}: {e}", first.display());
                }
                Err(_) => {}
            }
        }
        Err(Problem::new(format!("cannot create the session directory: {shortage}"), CHOOSE).into())
    }

    /// A directory that another process of this user made.
    ///
    /// # Errors
    /// When it is none of this user's own.
    pub fn existing(path: &Path) -> Result<Base> {
        check_owner(path)?;
        Ok(Base { path: fs::canonicalize(path)? })
    }

    fn below(parent: &Path) -> io::Result<Base> {
        let (uid, pid) = (rustix::process::geteuid().as_raw(), std::process::id());
        let mut attempt = 0;
        loop {
            let path = parent.join(format!("heapscribe.{uid}.{pid}.{attempt}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                // The umask may have taken bits away.
                Ok(()) => {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
                    return Ok(Base { path: fs::canonicalize(path)? });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the plan that each process reads: its mode and limits, and the real-time rules. One that starts meanwhile
    /// reads this one or that before it.
    pub fn write_plan(&self, plan: &Plan, rules: &[u8]) -> Result<()> {
        let (path, new) = (self.path.join(FILE_NAME), self.path.join(format!("plan.{}", std::process::id())));
        let plan = Plan { rules_bytes: rules.len() as u32, ..*plan };
        fs::write(&new, [&plan.to_bytes()[..], rules].concat())
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes the file by which processes know whether they are alone. To be written before a plan that has them read the
    /// clock seldom.
    pub fn write_sole_process(&self) -> Result<()> {
        let path = self.path.join(SOLE_PROCESS_FILE_NAME);
        fs::write(&path, [0; SOLE_PROCESS_FILE_BYTES])
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Removes the directory, unless sessions are left in it.
    pub fn remove(&self) {
        remove_base(&self.path);
    }
}

/// Removes a base directory, unless sessions are left in it.
pub fn remove_base(path: &Path) {
    if !has_sessions(path) {
        let _ = fs::remove_dir_all(path);
    }
}

/// Whether there is any session in a base directory.
pub fn has_sessions(base: &Path) -> bool {
    sessions(base).next().is_some()
}

/// Refuses a directory that is not this user's own and private.
pub fn check_owner(path: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_ours =
        meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0;
    if is_ours {
        return Ok(());
    }
    let what = format!("{} is not a session directory of this user", path.display());
    Err(Problem::new(what, "`heapscribe record` prints the directory when it leaves one behind").into())
}

/// Why another place than this one is taken.
fn shortage(place: &Path, room_bytes: Option<u64>) -> String {
    let place = place.display();
    match room_bytes {
        None => format!("{place} is missing"),
        Some(room) => format!("{place} has {} free, {} are needed", mib(room), mib(ROOM_BYTES_WANTED)),
    }
}

fn mib(bytes: u64) -> String {
    match bytes >> 20 {
        0 => "less than 1 MiB".to_owned(),
        mib => format!("{mib} MiB"),
    }
}

/// Places with enough room, the best first: in memory if there is plenty of it, else where there is most.
fn candidates(parent: &Path) -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let all = [Some(parent.to_owned()), runtime, Some(std::env::temp_dir())];
    let with_room = all.into_iter().flatten().filter_map(|path| Some((room_bytes(&path)?, path)));
    by_room(with_room.collect())
}

fn by_room(mut places: Vec<(u64, PathBuf)>) -> Vec<PathBuf> {
    places.retain(|&(room, _)| room >= ROOM_BYTES_MIN);
    // The order stays as it is among those that have plenty.
    places.sort_by_key(|&(room, _)| Reverse(room.min(ROOM_BYTES_WANTED)));
    places.into_iter().map(|(_, path)| path).collect()
}

fn room_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

/// The sessions in a base directory, in no order.
pub fn sessions(base: &Path) -> impl Iterator<Item = SessionKey> + use<> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries.filter_map(|entry| SessionKey::parse(entry.file_name().to_str()?))
}

/// Whether a process lives whose environment has it record into `base`: one that has just been
/// forked has no session until its first allocation.
pub fn has_users(base: &Path) -> bool {
    let wanted = [SESSION_VARIABLE.as_bytes(), b"=", base.as_os_str().as_bytes()].concat();
    let mut seen = BTreeSet::from([std::process::id()]);
    // Repeated until no process is new: a daemon may fork after the list was made, and the parent, which is
    // in the list, may end before it is looked at.
    loop {
        let new: Vec<u32> = pids().filter(|pid| !seen.contains(pid)).collect();
        if new.is_empty() {
            return false;
        }
        if new.iter().any(|&pid| has_variable(pid, &wanted)) {
            return true;
        }
        seen.extend(new);
    }
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn has_variable(pid: u32, wanted: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&b| b == 0).any(|variable| variable == wanted)
}

/// The directory of a session.
pub fn session_path(base: &Path, key: SessionKey) -> PathBuf {
    base.join(key.to_string())
}

/// Bytes that the files of a session take.
pub fn session_bytes(base: &Path, key: SessionKey) -> u64 {
    let files = fs::read_dir(session_path(base, key)).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|meta| meta.blocks() * 512).sum()
}

/// How the directory of a session is named while it is removed.
const REMOVED: &str = "removed";

/// Removes a session that is drained, at once: `record` was killed between two of its files, and `recover` wrote a trace
/// of a session without a process. Whether nothing is left of it.
pub fn remove_session(base: &Path, key: SessionKey) -> bool {
    let path = session_path(base, key);
    let removed = path.with_added_extension(REMOVED);
    fs::remove_dir_all(if fs::rename(&path, &removed).is_ok() { &removed } else { &path }).is_ok()
}

/// Removes what is left of sessions whose removal was killed.
pub fn remove_rests(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    for rest in paths.filter(|path| path.extension().is_some_and(|extension| extension == REMOVED)) {
        let _ = fs::remove_dir_all(rest);
    }
}

/// The base directories of this user in a directory; or the directory itself, when it is one.
pub fn bases(parent: &Path) -> Vec<PathBuf> {
    if parent.join(FILE_NAME).is_file() {
        return vec![parent.to_owned()];
    }
    let prefix = format!("heapscribe.{}.", rustix::process::geteuid().as_raw());
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(|n| n.starts_with(&prefix)));
    // Anybody can make a directory with our name in /dev/shm: it must not stand in the way of the real ones.
    ours.map(|entry| entry.path()).filter(|path| check_owner(path).is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these directories, by their mode, are taken for this user's sessions.
    fn check(modes: &[u32], expected: &[u32]) {
        let parent = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        for mode in modes {
            let path = parent.path().join(format!("heapscribe.{uid}.{mode}.0"));
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        let mut found: Vec<u32> =
            bases(parent.path()).iter().map(|path| path.metadata().unwrap().mode() & 0o777).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_private_directories_are_taken() {
        check(&[0o700], &[0o700]);
        check(&[0o700, 0o755, 0o777], &[0o700]);
        check(&[0o750], &[]);
    }

    #[test]
    fn a_file_or_a_link_is_none() {
        let parent = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        fs::write(parent.path().join(format!("heapscribe.{uid}.1.0")), "").unwrap();
        std::os::unix::fs::symlink("/root", parent.path().join(format!("heapscribe.{uid}.2.0"))).unwrap();
        assert_eq!(bases(parent.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn the_first_place_with_plenty_of_room_is_taken_or_that_with_most() {
        let check = |rooms: [u64; 3], expected: &[&str]| {
            let names = ["shm", "run", "tmp"];
            let places = rooms.iter().zip(names).map(|(mib, name)| (mib << 20, PathBuf::from(name)));
            let order: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(by_room(places.collect()), order, "{rooms:?} MiB");
        };
        check([16_000, 3_000, 70_000], &["shm", "run", "tmp"]);
        check([64, 3_000, 70_000], &["run", "tmp", "shm"]);
        check([64, 32, 70_000], &["tmp", "shm", "run"]);
        check([64, 15, 40], &["shm", "tmp"]);
        check([0, 15, 1], &[]);
    }
}
