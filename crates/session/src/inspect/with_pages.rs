//! Takes a snapshot together with the pages of the process.

use anyhow::{Context, Result};
use heapscribe_formats::model::HeapLayout;
use heapscribe_wire::live::GRANULE_SHIFT_GLIBC;
use heapscribe_wire::operation::Record;

use super::pages::SnapshotPages;
use super::reader::SessionReader;
use super::snapshot::Snapshot;
use crate::glibc_heap::{FreeMemory, ListReader};
use crate::memory_map::MapReader;
use heapscribe_diagnostics::Problem;

impl Snapshot {
    /// Opens what pages are read from.
    ///
    /// # Errors
    /// When the process has ended, or is not ours to look into.
    pub fn map_reader(session: &SessionReader) -> Result<MapReader> {
        let Some(pid) = session.living_pid() else {
            let what = "the process has ended, so its pages can no longer be read";
            return Err(Problem::new(what, "remove --pages to write its blocks without them").into());
        };
        MapReader::open(pid, session.directory())
    }

    /// Takes one with the pages of the process.
    ///
    /// # Errors
    /// When there is no table, or the process ends meanwhile.
    pub fn take_with_pages(session: &SessionReader, reader: &mut MapReader) -> Result<Snapshot> {
        // Another user's rules may forbid it (ptrace_scope): then nobody knows what is in which list.
        let lists = session.living_pid().and_then(|pid| ListReader::open(pid).ok());
        Snapshot::with_map(session, reader, lists)
    }

    /// The same without the lists of its heap.
    ///
    /// # Errors
    /// When there is no table, or the process ends meanwhile.
    pub fn take_with_map(session: &SessionReader, reader: &mut MapReader) -> Result<Snapshot> {
        Snapshot::with_map(session, reader, None)
    }

    fn with_map(
        session: &SessionReader,
        reader: &mut MapReader,
        lists: Option<ListReader>,
    ) -> Result<Snapshot> {
        let read = || {
            let map = reader.read()?;
            let records = session.head().map(|head| session.records(&head.get()));
            let is_glibc =
                session.head().is_ok_and(|head| head.get().live_granule_shift == GRANULE_SHIFT_GLIBC);
            let free = lists.filter(|_| is_glibc).map_or_else(FreeMemory::default, |lists| lists.read(&map));
            Ok::<_, std::io::Error>((map, records, free))
        };
        let (mut snapshot, read) = Snapshot::take_then(session, read)?;
        let (map, records, free) = read.context("cannot read the pages of the process")?;
        let records = records?;
        let since = |of: fn(&Record) -> u64| {
            let sum = |records: &[Record]| records.iter().map(of).fold(0, u64::wrapping_add);
            sum(&records).saturating_sub(sum(&snapshot.records))
        };
        let (allocated_bytes, freed_bytes) = (since(|r| r.allocated_bytes), since(|r| r.freed_bytes));
        // The recorder has found glibc's own heap.
        let is_glibc = snapshot.head.get().live_granule_shift == GRANULE_SHIFT_GLIBC;
        let heap = if is_glibc { HeapLayout::Glibc } else { HeapLayout::Unknown };
        snapshot.pages = Some(SnapshotPages { map, allocated_bytes, freed_bytes, heap, free });
        Ok(snapshot)
    }
}
