//! Where an agent keeps what it needs to go on: a hidden directory beside the windows, one for each host and service,
//! which one agent has at a time.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_diagnostics::Problem;
use rustix::fs::{FlockOperation, flock};

/// The directory, locked as long as this lives.
pub(crate) struct Place {
    dir: PathBuf,
    _lock: File,
}

impl Place {
    /// Takes it.
    ///
    /// # Errors
    /// When another agent has it, or it cannot be made.
    pub(crate) fn take(out: &Path, host: &str, service: &str) -> Result<Place> {
        let dir = out.join(".heapscribe-agent").join(format!("{}.{}", plain(host), plain(service)));
        let made = fs::create_dir_all(dir.join("spool")).and_then(|()| File::create(dir.join("lock")));
        let lock = made.with_context(|| format!("cannot write into {}", dir.display()))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let what = format!("another agent of the service `{service}` writes into {}", out.display());
            return Err(Problem::new(what, "give this one another --service, or another directory").into());
        }
        Ok(Place { dir, _lock: lock })
    }

    /// The file of the state.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// The file of the definitions of so many starts.
    pub(crate) fn definitions(&self, starts: u64) -> PathBuf {
        self.dir.join(format!("definitions.{starts}"))
    }

    /// The directory of what waits for the collector.
    pub(crate) fn spool(&self) -> PathBuf {
        self.dir.join("spool")
    }

    /// A directory for files that are not whole.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.dir.join("unfinished")
    }
}

/// A part of a path, of any text.
pub(crate) fn plain(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = text.chars().map(allowed).collect();
    if plain.trim_matches('.').is_empty() { "_".to_owned() } else { plain }
}

/// Puts a file in its place, whole, and so that it stays when the machine stops.
pub(crate) fn put(unfinished: &Path, path: &Path) -> io::Result<()> {
    File::open(unfinished)?.sync_all()?;
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    fs::rename(unfinished, path)?;
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_directory() {
        let names = ["shop", "a/b", "..", "", "größe 1"];
        assert_eq!(names.map(plain), ["shop", "a_b", "_", "_", "gr__e_1"]);
    }

    #[test]
    fn one_agent_has_it_at_a_time() {
        let out = tempfile::tempdir().unwrap();
        let first = Place::take(out.path(), "host", "shop").unwrap();
        assert!(Place::take(out.path(), "host", "shop").is_err());
        assert!(Place::take(out.path(), "host", "till").is_ok());
        drop(first);
        assert!(Place::take(out.path(), "host", "shop").is_ok());
    }
}
