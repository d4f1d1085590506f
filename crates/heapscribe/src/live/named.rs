//! Named snapshots: what a program has kept of its own live table, in its session.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use heapscribe_wire::head::HEAD_FILE_BYTES;
use heapscribe_wire::named::{
    EXTENT_HEADER_BYTES, FILE_PREFIX, HEADER_BYTES, Named, RECORDS_OFFSET, inexact, parse_extent,
};
use heapscribe_wire::operation::{RECORD_BYTES, Record};

use super::hold::Inexact;
use super::image::Image;
use super::moment::Moment;
use super::session::{HeadCopy, Session};
use super::snapshot::{Exactness, Snapshot};
use crate::drain::{open_file, read_up_to};

/// A named snapshot that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NamedFile {
    /// Its number in the session.
    pub(crate) id: u32,
    /// What the program called it.
    pub(crate) name: String,
    /// When it was taken.
    pub(crate) moment: Moment,
    path: PathBuf,
}

/// The named snapshots of a session, by number; those that are not whole are none.
pub(crate) fn list(directory: &Path) -> Vec<NamedFile> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.filter_map(|entry| look(&entry.path())).collect();
    found.sort_by_key(|file| file.id);
    found
}

fn look(path: &Path) -> Option<NamedFile> {
    let id = path.file_name()?.to_str()?.strip_prefix(FILE_PREFIX)?.parse().ok()?;
    let mut bytes = [0; HEADER_BYTES];
    let n = read_up_to(&open_file(path, false)?, &mut bytes, 0);
    let named = Named::parse(&bytes[..n]).ok()?;
    Some(NamedFile { id, name: lossy(named.name), moment: moment(&named), path: path.to_owned() })
}

fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn moment(named: &Named<'_>) -> Moment {
    Moment { mono_ns: named.mono_ns, real_ns: named.real_ns, ticks: named.ticks }
}

impl NamedFile {
    /// Reads it. What its numbers mean is in its session.
    pub(crate) fn read(&self, session: &Session) -> Result<Snapshot> {
        let shown = || self.path.display().to_string();
        let file = open_file(&self.path, false).with_context(shown)?;
        let len = file.metadata().with_context(shown)?.len();
        read(&file, len, session).with_context(shown)
    }
}

fn read(file: &File, len: u64, session: &Session) -> Result<Snapshot> {
    let bytes = bytes_at(file, 0, HEADER_BYTES, len)?;
    let named = Named::parse(&bytes)?;
    let head = HeadCopy::from(bytes_at(file, HEADER_BYTES as u64, HEAD_FILE_BYTES, len)?)?;
    let records_bytes = named.records as usize * RECORD_BYTES;
    let records = bytes_at(file, RECORDS_OFFSET as u64, records_bytes, len)?;
    let pieces = extents(file, (RECORDS_OFFSET + records_bytes) as u64, named.extents, len)?;
    let exactness = match named.inexact {
        inexact::NOT => Exactness::Instant,
        inexact::BUSY => Exactness::Inexact(Inexact::Busy(0)),
        inexact::LOST_HOLD => Exactness::Inexact(Inexact::LostHold),
        inexact::NO_RECORD => Exactness::Inexact(Inexact::NoRecord(head.get().threads_without_record)),
        inexact::NO_BARRIER => Exactness::Inexact(Inexact::NoBarrier),
        other => Exactness::Inexact(Inexact::Other(other)),
    };
    let records = records.as_chunks().0.iter().map(Record::parse).collect();
    let definitions = session.definitions(0, named.defs_committed);
    let image = Image::of(named.live_units, pieces);
    Ok(Snapshot::of((head, lossy(named.name), moment(&named)), exactness, records, definitions, image))
}

fn bytes_at(file: &File, offset: u64, n: usize, len: u64) -> Result<Vec<u8>> {
    if offset.checked_add(n as u64).is_none_or(|end| end > len) {
        bail!("the snapshot ends at byte {len}, within what begins at byte {offset}");
    }
    let mut bytes = vec![0; n];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// Bytes of the live file, and where they were in it.
type Piece = (Range<u64>, Vec<u8>);

fn extents(file: &File, mut at: u64, n: u32, len: u64) -> Result<Vec<Piece>> {
    let (mut pieces, mut end) = (Vec::new(), 0);
    for _ in 0..n {
        let header = bytes_at(file, at, EXTENT_HEADER_BYTES, len)?;
        let extent =
            header.as_slice().try_into().ok().and_then(parse_extent).filter(|(start, _)| *start >= end);
        let Some((start, length)) = extent else { bail!("extent that makes no sense at byte {at}") };
        at += EXTENT_HEADER_BYTES as u64;
        pieces.push((start..start + length, bytes_at(file, at, length as usize, len)?));
        at += length;
        end = start + length;
    }
    Ok(pieces)
}
