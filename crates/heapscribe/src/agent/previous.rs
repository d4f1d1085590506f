//! What another agent left, be it damaged.

use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_convert::rolling::Image;
use heapscribe_diagnostics::Problem;

use super::state::State;
use crate::message;

/// What another agent left. A file that makes no sense is set aside: the service must start all the same. Sessions that
/// are there already have what that agent counted, and nobody knows up to where: they would be counted twice.
pub(super) fn left(path: &Path, takes_sessions: bool) -> Result<(State, Vec<Image>)> {
    match State::load(path) {
        Ok(left) => Ok(left.unwrap_or_default()),
        Err(e) if e.kind() == io::ErrorKind::InvalidData && takes_sessions => {
            let hint = format!(
                "remove {} to count again what its sessions still have; what windows that are written \
                 already have of it counts twice then",
                path.display()
            );
            Err(Problem::new(e.to_string(), hint).into())
        }
        Err(e) if e.kind() == io::ErrorKind::InvalidData => {
            let aside = path.with_extension("damaged");
            std::fs::rename(path, &aside).context("cannot set aside what another agent left")?;
            message::warning(&format!(
                "{e}; begun anew. The window that was open is lost, and how much was in it; the file is {} now",
                aside.display()
            ));
            Ok(<(State, Vec<Image>)>::default())
        }
        Err(e) => Err(e).context("cannot read what another agent left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_state_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        std::fs::write(&path, b"heapscribe-agent 1\nwindow x\xff\n").unwrap();
        let refused = left(&path, true).unwrap_err();
        let refused = format!("{:?}", refused.downcast_ref::<Problem>());
        assert!(path.exists(), "its sessions would be counted twice");
        assert!(refused.contains("already have of it counts twice"), "{refused}");
        assert_eq!(left(&path, false).unwrap(), Default::default());
        assert!(!path.exists() && dir.path().join("state.damaged").exists());
        assert_eq!(left(&path, true).unwrap(), Default::default(), "there is none");
    }
}
