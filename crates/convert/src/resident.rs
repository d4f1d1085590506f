//! Of what the resident memory of a running process is made, as a sample of a trace: a snapshot with pages, without the
//! lists of its heap, looked at and dropped.

use anyhow::{Context, Result};
use heapscribe_formats::{ResidentSample, SectionLeft};
use heapscribe_session::inspect::{SessionReader, Snapshot};

use crate::Opened;

/// Looks at a process now, and at what these sections of it have left.
///
/// # Errors
/// When it has ended, or is not ours to look into.
pub fn resident(session: &SessionReader, ended: &[SectionLeft]) -> Result<ResidentSample> {
    let mut reader = Snapshot::map_reader(session)?;
    let taken = Snapshot::take_with_map(session, &mut reader)?;
    let (opened, _) = Opened::of_snapshot(&taken)?;
    drop(taken);
    let snapshots = opened.snapshots();
    let snapshot = snapshots.first().context("the process has no table of live blocks")?;
    let memory = opened.memory(snapshot)?.context("the pages of the process were not read")?;
    let sections = opened.left(snapshot, ended)?;
    Ok(ResidentSample { sections, ..memory.sample(snapshot.table.mono_ns) })
}
