//! What is to be said of a trace that was not finished: that it is still being written, or where the rest of it is.

use std::fs;
use std::path::{Path, PathBuf};

use heapscribe_collect::Origin;
use heapscribe_session::{Alive, base_directory, inspect};
use heapscribe_wire::plan::{FILE_NAME, Plan};

/// Says it; nothing where no session of its recording is left.
pub(super) fn hint(trace: &Path) -> Option<String> {
    let (base, origin) = sessions_of(trace)?;
    if let Some(pid) = drainer(&base, origin.info.started_mono_ns) {
        return Some(format!("process {pid} is still writing it"));
    }
    let base = base.display();
    Some(format!(
        "what was not written to it is in its session directory; join both: heapscribe recover {base} -o ALL.hst"
    ))
}

/// The process that empties these sessions, if it lives: it was there when they began.
pub(super) fn drainer(base: &Path, began_mono_ns: u64) -> Option<u32> {
    let plan = fs::read(base.join(FILE_NAME)).ok().and_then(|plan| Plan::parse(plan.first_chunk()?))?;
    Some(plan.drainer_pid).filter(|pid| Alive::find(*pid, began_mono_ns).is_some())
}

/// The directory with sessions of the recording that this trace is of, where `record` puts them.
fn sessions_of(trace: &Path) -> Option<(PathBuf, Origin)> {
    let whole = fs::canonicalize(trace).ok()?;
    let is_of = |origin: &Origin| {
        let of = origin.trace.as_ref().and_then(|path| fs::canonicalize(path).ok());
        of.is_some_and(|path| path == whole)
    };
    let places = inspect::places(None);
    let bases = places.directories().iter().flat_map(|place| base_directory::bases(place));
    let left = bases.filter(|base| base_directory::has_sessions(base));
    left.filter_map(|base| Some((base.clone(), Origin::of(&base)?))).find(|(_, origin)| is_of(origin))
}
