//! The base directory of services that are recorded for good: one for each user, which is there before and after any of
//! them, and before and after any agent. Whoever starts such a service, and whoever drains it, finds it by its name.
//!
//! It is drained by one process at a time, which holds a lock of the directory itself as long as it lives.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_diagnostics::Problem;
use heapscribe_wire::ABI_VERSION;
use heapscribe_wire::plan::{FILE_NAME, Plan};
use rustix::fs::{FlockOperation, flock};

use crate::base_directory::{self, Base, SESSION_DIR, check_owner};
use crate::key::SessionKey;
use crate::liveness::Alive;

/// Names that are tried: anybody can make a directory with our name in /dev/shm.
const ATTEMPTS: u32 = 16;

/// The directory, made with this plan where it is not there; below the place that was asked for, or else where all look.
///
/// # Errors
/// Where it cannot be made.
pub fn base(asked: Option<&Path>, plan: &Plan) -> Result<Base> {
    let places =
        asked.map_or_else(|| vec![SESSION_DIR.into(), std::env::temp_dir()], |at| vec![at.to_owned()]);
    let mut reasons = Vec::new();
    for place in places {
        match directory(&place) {
            Ok(path) => {
                let base = Base::existing(&path)?;
                first_plan(&base, plan)?;
                return Ok(base);
            }
            Err(e) => reasons.push(format!("{}: {e}", place.display())),
        }
    }
    let what = format!("cannot create the session directory ({})", reasons.join("; "));
    Err(Problem::new(what, base_directory::CHOOSE).into())
}

/// The one that is there, or a new one. A recorder of another version would not understand its plan.
fn directory(place: &Path) -> io::Result<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let path = |attempt| place.join(format!("heapscribe.{uid}.always-{ABI_VERSION}.{attempt}"));
    if let Some(path) = (0..ATTEMPTS).map(path).find(|path| check_owner(path).is_ok()) {
        return Ok(path);
    }
    for path in (0..ATTEMPTS).map(path) {
        match DirBuilder::new().mode(0o700).create(&path) {
            // The umask may have taken bits away.
            Ok(()) => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
                return Ok(path);
            }
            // Two services may start at once.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && check_owner(&path).is_ok() => {
                return Ok(path);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "others have made directories with its names"))
}

/// Whether a directory is one of these, by its name: it stays for services that are just being started.
pub fn is_shared(base: &Path) -> bool {
    let uid = rustix::process::geteuid().as_raw();
    let name = base.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(&format!("heapscribe.{uid}.always-")))
}

/// Writes a plan where there is none: that of an agent stays.
fn first_plan(base: &Base, plan: &Plan) -> Result<()> {
    let (path, new) =
        (base.path().join(FILE_NAME), base.path().join(format!("first.{}", std::process::id())));
    let written = || match fs::hard_link(&new, &path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => fs::remove_file(&new),
    };
    if path.is_file() {
        return Ok(());
    }
    fs::write(&new, plan.to_bytes())
        .and_then(|()| written())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Who drains the sessions of a directory, as long as this lives.
pub struct Draining {
    lock: File,
    path: PathBuf,
}

impl Draining {
    /// Becomes that; `None` when somebody else is.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn begin(base: &Path) -> io::Result<Option<Draining>> {
        let lock = File::open(base)?;
        let is_ours = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if is_ours {
            base_directory::remove_rests(base);
        }
        Ok(is_ours.then(|| Draining { lock, path: base.to_owned() }))
    }

    /// Whether the directory is still the one that was locked: somebody may have removed it, and others made it anew.
    pub fn is_current(&self) -> bool {
        let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let here = fs::symlink_metadata(&self.path).map(id).ok();
        here.is_some() && here == self.lock.metadata().map(id).ok()
    }
}

/// Makes room where nobody drains: removes the oldest sessions of processes that have ended, until the others have no more
/// than so many bytes together. How many it removed.
pub fn make_room(base: &Path, bytes_max: u64) -> usize {
    let Ok(Some(_nobody_else)) = Draining::begin(base) else { return 0 };
    let has_ended = |key: &SessionKey| Alive::of_session(base, *key).is_none();
    let mut dead: Vec<SessionKey> = base_directory::sessions(base).filter(has_ended).collect();
    dead.sort_unstable_by_key(|key| std::cmp::Reverse(key.created_mono_ns));
    let mut bytes = 0u64;
    let too_old = dead.into_iter().filter(|key| {
        bytes = bytes.saturating_add(base_directory::session_bytes(base, *key));
        bytes > bytes_max
    });
    too_old.filter(|key| base_directory::remove_session(base, *key)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(mean_bytes: u64) -> Plan {
        Plan { mode: heapscribe_wire::mode::Mode::Sampled { mean_bytes }, ..Plan::default() }
    }

    fn mean(base: &Base) -> Plan {
        Plan::parse(fs::read(base.path().join(FILE_NAME)).unwrap().first_chunk().unwrap()).unwrap()
    }

    #[test]
    fn services_share_one_directory_and_its_plan() {
        let place = tempfile::tempdir().unwrap();
        let first = base(Some(place.path()), &plan(1 << 19)).unwrap();
        assert_eq!(first.path().metadata().unwrap().mode() & 0o777, 0o700);
        let second = base(Some(place.path()), &plan(1 << 20)).unwrap();
        assert_eq!((first.path(), mean(&first)), (second.path(), plan(1 << 19)));
        first.write_plan(&plan(1 << 21), &[]).unwrap();
        assert_eq!(mean(&second), plan(1 << 21));
        assert_eq!(fs::read_dir(first.path()).unwrap().count(), 1, "unfinished plans are left");
        assert_eq!(base_directory::bases(place.path()), [first.path()]);
    }

    #[test]
    fn a_name_that_another_took_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let first = directory(place.path()).unwrap();
        // As if another user had made it: it is not private.
        fs::set_permissions(&first, fs::Permissions::from_mode(0o755)).unwrap();
        let second = directory(place.path()).unwrap();
        assert_ne!(first, second);
        fs::remove_dir(&first).unwrap();
        assert_eq!(directory(place.path()).unwrap(), second, "services that run are in that one");
        assert!(directory(&place.path().join("nowhere")).is_err());
    }

    #[test]
    fn one_drains_at_a_time_and_sees_when_the_directory_is_another() {
        let place = tempfile::tempdir().unwrap();
        let path = directory(place.path()).unwrap();
        let first = Draining::begin(&path).unwrap().unwrap();
        assert!(Draining::begin(&path).unwrap().is_none() && first.is_current());
        fs::remove_dir(&path).unwrap();
        assert!(!first.is_current());
        assert_eq!(directory(place.path()).unwrap(), path);
        assert!(!first.is_current() && Draining::begin(&path).unwrap().is_some());
    }

    #[test]
    fn what_a_killed_removal_left_is_no_session_and_goes() {
        let place = tempfile::tempdir().unwrap();
        let path = directory(place.path()).unwrap();
        let rest = path.join("7.1.removed");
        fs::create_dir(&rest).unwrap();
        fs::write(rest.join("log"), "half").unwrap();
        assert!(!base_directory::has_sessions(&path));
        let _first = Draining::begin(&path).unwrap().unwrap();
        assert!(!rest.exists());
    }

    #[test]
    fn without_an_agent_the_oldest_that_ended_make_room() {
        let place = tempfile::tempdir().unwrap();
        let path = directory(place.path()).unwrap();
        let session = |pid, created_mono_ns| {
            let key = SessionKey { pid, created_mono_ns };
            fs::create_dir(base_directory::session_path(&path, key)).unwrap();
            fs::write(base_directory::session_path(&path, key).join("log"), vec![1; 8192]).unwrap();
            key
        };
        let dead = [1, 2, 3].map(|created| session(0x7fff_fff0, created));
        let alive = session(std::process::id(), crate::monotonic_ns());
        let drainer = Draining::begin(&path).unwrap();
        assert_eq!(make_room(&path, 0), 0, "somebody drains them");
        drop(drainer);
        assert_eq!(make_room(&path, 1 << 20), 0);
        assert_eq!(make_room(&path, 17_000), 1);
        let mut left: Vec<_> = base_directory::sessions(&path).collect();
        left.sort_unstable_by_key(|key| key.created_mono_ns);
        assert_eq!(left, [dead[1], dead[2], alive]);
    }
}
