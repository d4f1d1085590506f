//! Finds sessions: by the number of a process, by the name of its program, or by their directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use heapscribe_wire::plan::FILE_NAME;

use crate::base_directory;
use crate::key::SessionKey;
use crate::liveness::{Alive, name_of};
use crate::search_path::SearchPath;
use heapscribe_diagnostics::Problem;

use super::reader::{HeadCopy, SessionReader};

/// A session that is there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SessionPath {
    /// Created, first: the newest of a process is that of the program that it runs now.
    created_mono_ns: u64,
    /// The process, as it calls itself.
    pub pid: u32,
    /// Its files.
    pub directory: PathBuf,
}

impl SessionPath {
    /// The session that has this directory, by its name.
    fn at(directory: &Path) -> Option<SessionPath> {
        let SessionKey { pid, created_mono_ns } = SessionKey::parse(directory.file_name()?.to_str()?)?;
        Some(SessionPath { created_mono_ns, pid, directory: directory.to_owned() })
    }

    /// That of a base directory.
    pub fn in_base(base: &Path, key: SessionKey) -> SessionPath {
        let SessionKey { pid, created_mono_ns } = key;
        SessionPath { created_mono_ns, pid, directory: base_directory::session_path(base, key) }
    }

    fn key(&self) -> SessionKey {
        SessionKey { pid: self.pid, created_mono_ns: self.created_mono_ns }
    }

    /// Opens it, when it is this user's own.
    pub fn open(&self) -> Result<SessionReader> {
        self.check_owner()?;
        SessionReader::open(&self.directory, self.key())
    }

    /// Whether it is this user's own.
    pub(crate) fn check_owner(&self) -> Result<()> {
        self.directory.parent().map_or(Ok(()), base_directory::check_owner)
    }

    /// The pid that its process has here, while it lives: in a container it calls itself otherwise.
    pub fn living_pid(&self) -> Option<u32> {
        Alive::of_session(self.directory.parent()?, self.key()).map(|alive| alive.pid())
    }

    /// In which pid namespace its pid counts; 0 when that is not known yet.
    fn namespace(&self) -> u64 {
        HeadCopy::of(&self.directory.join("head")).map_or(0, |head| head.get().pid_namespace)
    }

    /// Whether its program has this file name, or was started by it: `redis-server` is a link to
    /// `redis-check-rdb`.
    fn is_called(&self, wanted: &str) -> bool {
        let Ok(head) = HeadCopy::of(&self.directory.join("head")) else { return false };
        let head = head.get();
        let typed = head.command.split(|byte| *byte == 0).next().unwrap_or_default();
        is_file_name(head.exe, wanted) || is_file_name(typed, wanted)
    }
}

fn is_file_name(path: &[u8], wanted: &str) -> bool {
    path.rsplit(|&b| b == b'/').next() == Some(wanted.as_bytes())
}

/// All sessions of this user, by process and time.
pub fn all(place: &SearchPath) -> Vec<SessionPath> {
    let bases = place.directories().iter().flat_map(|parent| base_directory::bases(parent));
    let mut sessions: Vec<_> = bases.flat_map(|base| in_base(&base)).collect();
    sessions.sort_by_key(|session| (session.pid, session.created_mono_ns));
    sessions.dedup();
    sessions
}

fn in_base(base: &Path) -> Vec<SessionPath> {
    base_directory::sessions(base).map(|key| SessionPath::in_base(base, key)).collect()
}

/// The session of a process by its number, by the name of its program, or by a directory: its own, or the
/// base directory that has no other in it.
pub fn one(wanted: &str, place: &SearchPath) -> Result<SessionPath> {
    if wanted.contains('/') {
        return at(Path::new(wanted));
    }
    let all = all(place);
    if let Ok(pid) = wanted.parse::<u32>() {
        return of_pid(&all, pid).cloned().ok_or_else(|| none(&format!("process {pid}"), place));
    }
    let mut matches = newest(all.into_iter().filter(|session| session.is_called(wanted)));
    // A program that was killed is not meant where one runs that was started in its place.
    if matches.len() > 1 {
        let living = matches.iter().filter(|session| session.living_pid().is_some());
        let living: Vec<_> = living.cloned().collect();
        matches = if living.is_empty() { matches } else { living };
    }
    only(matches, wanted, place)
}

/// The newest session of the process that has this pid here. Where there is none, it is what a process called itself that
/// has ended, or runs where we do not see it.
fn of_pid(all: &[SessionPath], pid: u32) -> Option<&SessionPath> {
    let name = name_of(pid);
    let is_its = |session: &&SessionPath| {
        name.is_some_and(|(own, namespace)| {
            session.pid == own && [0, namespace].contains(&session.namespace())
        })
    };
    let is_called =
        |session: &&SessionPath| session.pid == pid && session.living_pid().is_none_or(|here| here == pid);
    all.iter().filter(is_its).max().or_else(|| all.iter().filter(is_called).max())
}

/// The sessions of all processes that [`one`] would take, one of each.
pub fn matching(wanted: &str, place: &SearchPath) -> Result<Vec<SessionPath>> {
    if wanted.contains('/') || wanted.parse::<u32>().is_ok() {
        return Ok(vec![one(wanted, place)?]);
    }
    let matches = newest(all(place).into_iter().filter(|session| session.is_called(wanted)));
    if matches.is_empty() { Err(none(wanted, place)) } else { Ok(matches) }
}

/// Whether a directory is a session.
pub fn is_session(directory: &Path) -> bool {
    directory.join("head").is_file()
}

/// Of each process the newest. The first processes of two containers both have pid 1.
fn newest(all: impl Iterator<Item = SessionPath>) -> Vec<SessionPath> {
    let mut newest: BTreeMap<(u32, u64), SessionPath> = BTreeMap::new();
    for session in all {
        let of_process = (session.pid, session.namespace());
        let is_newer =
            newest.get(&of_process).is_none_or(|last| last.created_mono_ns < session.created_mono_ns);
        if is_newer {
            newest.insert(of_process, session);
        }
    }
    newest.into_values().collect()
}

/// Opens a session of a base directory.
pub fn open(base: &Path, key: SessionKey) -> Result<SessionReader> {
    at(&base_directory::session_path(base, key))?.open()
}

/// The session of a directory: its own, or that of the base directory that has no other in it.
pub fn at(directory: &Path) -> Result<SessionPath> {
    let shown = directory.display().to_string();
    if is_session(directory) {
        let whole = std::fs::canonicalize(directory)?;
        return SessionPath::at(&whole).ok_or_else(|| {
            Problem::new(
                format!("{shown} is not a session"),
                "the name of a session directory is PID.CREATED",
            )
            .into()
        });
    }
    let is_base = directory.join(FILE_NAME).is_file();
    only(
        if is_base { newest(in_base(directory).into_iter()) } else { Vec::new() },
        &shown,
        &SearchPath::default(),
    )
}

fn only(matches: Vec<SessionPath>, wanted: &str, place: &SearchPath) -> Result<SessionPath> {
    let mut matches = matches.into_iter();
    match (matches.next(), matches.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(none(wanted, place)),
        (Some(first), Some(second)) => {
            let pid = |session: SessionPath| session.living_pid().unwrap_or(session.pid).to_string();
            let pids: Vec<_> = [first, second].into_iter().chain(matches).map(pid).collect();
            let what = format!("{wanted} matches {} processes: {}", pids.len(), pids.join(", "));
            Err(Problem::new(what, "choose one by its PID").into())
        }
    }
}

fn none(wanted: &str, place: &SearchPath) -> anyhow::Error {
    let places: Vec<_> = place.directories().iter().map(|place| place.display().to_string()).collect();
    let what = match &places[..] {
        [] => format!("{wanted} is not a session directory"),
        some => format!("this user has no session of {wanted} in {}", some.join(", ")),
    };
    let hint = "list recorded processes with `heapscribe ps`; if `record` was started with --session-dir, \
                pass the same directory";
    Problem::new(what, hint).into()
}
