//! Takes a snapshot together with the pages of the process.

use anyhow::{Context, Result};
use heapscribe_formats::model::{HeapInfo, HeapLayout, HeapSample};
use heapscribe_wire::live::GRANULE_SHIFT_GLIBC;
use heapscribe_wire::operation::Record;

use super::pages::SnapshotPages;
use super::reader::SessionReader;
use super::snapshot::Snapshot;
use crate::glibc_heap::{FreeMemory, ListReader};
use crate::heap_statistics::{self, HeapStatistics};
use crate::memory_map::MapReader;
use crate::other_heaps;
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
        Snapshot::with_map(session, reader, true)
    }

    /// The same without the lists of its heap.
    ///
    /// # Errors
    /// When there is no table, or the process ends meanwhile.
    pub fn take_with_map(session: &SessionReader, reader: &mut MapReader) -> Result<Snapshot> {
        Snapshot::with_map(session, reader, false)
    }

    fn with_map(session: &SessionReader, reader: &mut MapReader, with_lists: bool) -> Result<Snapshot> {
        // The recorder has found glibc's own heap.
        let is_glibc = session.head()?.get().live_granule_shift == GRANULE_SHIFT_GLIBC;
        let statistics = if is_glibc { None } else { statistics(session)? };
        // Another user's rules may forbid it (ptrace_scope): then nobody knows what is in which list.
        let is_read = with_lists || !is_glibc;
        let lists = session.living_pid().filter(|_| is_read).and_then(|pid| ListReader::open(pid).ok());
        let read = || {
            let mut map = reader.read()?;
            let records = session.head().map(|head| session.records(&head.get()));
            let (heap, free) = if is_glibc {
                (HeapLayout::Glibc, lists.map_or_else(FreeMemory::default, |lists| lists.read(&map)))
            } else {
                let mut memory = lists.map(ListReader::into_memory);
                other_heaps::look(memory.as_mut(), &mut map, statistics.as_ref(), with_lists)
            };
            let statistics = statistics.and_then(|of| HeapStatistics::read(&of.path));
            Ok::<_, std::io::Error>((map, records, heap, free, statistics))
        };
        let (mut snapshot, read) = Snapshot::take_then(session, read)?;
        let (map, records, heap, free, statistics) = read.context("cannot read the pages of the process")?;
        let records = records?;
        let since = |of: fn(&Record) -> u64| {
            let sum = |records: &[Record]| records.iter().map(of).fold(0, u64::wrapping_add);
            sum(&records).saturating_sub(sum(&snapshot.records))
        };
        let (allocated_bytes, freed_bytes) = (since(|r| r.allocated_bytes), since(|r| r.freed_bytes));
        let statistics = statistics.and_then(counted);
        snapshot.pages = Some(SnapshotPages { map, allocated_bytes, freed_bytes, heap, free, statistics });
        Ok(snapshot)
    }
}

/// The statistics that the heap of a session's process writes, if it does.
fn statistics(session: &SessionReader) -> Result<Option<HeapStatistics>> {
    let head = session.head()?;
    let head = head.get();
    let base = session.directory().parent();
    let path = base.and_then(|base| heap_statistics::nearest(base, head.pid, head.created_mono_ns));
    Ok(path.and_then(|path| HeapStatistics::read(&path)))
}

/// As a trace has them; nothing of a heap that has counted nothing yet.
fn counted(of: HeapStatistics) -> Option<(HeapInfo, HeapSample)> {
    let HeapStatistics { name, configuration, update, is_passing, .. } = of;
    let sample = HeapSample { mono_ns: update.mono_ns, counts: update.counts };
    (!is_passing && update.mono_ns > 0).then_some((HeapInfo { name, configuration }, sample))
}
