//! Named snapshots: copies of a live table in its session, made by the program or by `ctl`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use heapscribe_wire::head::HEAD_FILE_BYTES;
use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::named_snapshot::{
    EXTENT_HEADER_BYTES, FILE_PREFIX, HEADER_BYTES, NAME_BYTES_MAX, Named, RECORDS_OFFSET, inexact,
    parse_extent,
};
use heapscribe_wire::operation::{RECORD_BYTES, Record};

use super::copied::Exactness;
use super::hold::Inexact;
use super::image::{Assembly, Image};
use super::moment::Moment;
use super::reader::{HeadCopy, SessionReader};
use super::snapshot::Snapshot;
use crate::files::{open_file, read_up_to};
use heapscribe_diagnostics::Problem;

/// What is read of an extent at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Snapshots that a session may have.
const FILES_MAX: u32 = 10_000;

/// A named snapshot that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedFile {
    /// Its number in the session.
    pub id: u32,
    /// What the program called it.
    pub name: String,
    /// When it was taken.
    pub moment: Moment,
    path: PathBuf,
}

/// The named snapshots of a session, by number; those that are not whole are none.
pub fn list(directory: &Path) -> Vec<NamedFile> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.filter_map(|entry| look(&entry.path())).collect();
    files.sort_by_key(|file| file.id);
    files
}

fn look(path: &Path) -> Option<NamedFile> {
    let number = path.file_name()?.to_str()?.strip_prefix(FILE_PREFIX)?;
    let id = number.parse().ok().filter(|id: &u32| *id != 0 && id.to_string() == number)?;
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
    pub fn read(&self, session: &SessionReader) -> Result<Snapshot> {
        let shown = || self.path.display().to_string();
        let file = open_file(&self.path, false).with_context(shown)?;
        let len = file.metadata().with_context(shown)?.len();
        read(&file, len, session).with_context(shown)
    }
}

fn read(file: &File, len: u64, session: &SessionReader) -> Result<Snapshot> {
    let bytes = bytes_at(file, 0, HEADER_BYTES, len)?;
    let named = Named::parse(&bytes)?;
    let head = HeadCopy::from(bytes_at(file, HEADER_BYTES as u64, HEAD_FILE_BYTES, len)?)?;
    let records_bytes = named.records as usize * RECORD_BYTES;
    let records = bytes_at(file, RECORDS_OFFSET as u64, records_bytes, len)?;
    let image = image(file, (RECORDS_OFFSET + records_bytes) as u64, &named, len)?;
    let exactness = match named.inexact {
        inexact::NOT => Exactness::Instant,
        inexact::BUSY => Exactness::Inexact(Inexact::Busy(0)),
        inexact::LOST_HOLD => Exactness::Inexact(Inexact::LostHold),
        inexact::NO_RECORD => Exactness::Inexact(Inexact::NoRecord(head.get().threads_without_record)),
        inexact::NO_BARRIER => Exactness::Inexact(Inexact::NoBarrier),
        inexact::NO_HOLD => Exactness::Inexact(Inexact::NotWritable),
        other => Exactness::Inexact(Inexact::Other(other)),
    };
    let records = records.as_chunks().0.iter().map(Record::parse).collect();
    let definitions = session.definitions(0, named.defs_committed);
    let (name, moment, held) = (Some(lossy(named.name)), moment(&named), Duration::ZERO);
    let (modes, jit_names, pages) = (session.modes(&head.get()), Vec::new(), None);
    Ok(Snapshot { head, name, moment, exactness, records, definitions, jit_names, modes, held, pages, image })
}

/// Writes a snapshot under a name into its session, as if the program had taken it; its number there.
pub fn save_named(snapshot: &Snapshot, session: &SessionReader, name: &str) -> Result<u32> {
    if name.len() > NAME_BYTES_MAX || name.is_empty() {
        let what = format!("{name:?} is not a valid snapshot name");
        return Err(Problem::new(what, format!("use a name of 1 to {NAME_BYTES_MAX} bytes")).into());
    }
    let (id, file) = create(session.directory())?;
    let extents = snapshot.image.extents();
    let named = Named {
        name: name.as_bytes(),
        ticks: snapshot.moment.ticks,
        mono_ns: snapshot.moment.mono_ns,
        real_ns: snapshot.moment.real_ns,
        defs_committed: snapshot.definitions.len() as u64,
        thread: 0,
        live_units: snapshot.head.get().live_units,
        records: snapshot.records.len() as u32,
        extents: extents.len() as u32,
        inexact: why(&snapshot.exactness),
    };
    let mut out = BufWriter::new(&file);
    out.write_all(&named.to_bytes(false))?;
    out.write_all(snapshot.head.bytes())?;
    snapshot.records.iter().try_for_each(|record| out.write_all(&record.to_bytes()))?;
    for extent in extents {
        out.write_all(&extent.start.to_le_bytes())?;
        out.write_all(&(extent.end - extent.start).to_le_bytes())?;
        extent.step_by(LIVE_UNIT_BYTES).try_for_each(|at| out.write_all(&*snapshot.image.bytes(at)))?;
    }
    out.flush()?;
    file.write_all_at(&named.to_bytes(true), 0)?; // the magic last: now it is whole
    Ok(id)
}

/// A file for the next snapshot of a session.
fn create(directory: &Path) -> Result<(u32, File)> {
    for id in 1..=FILES_MAX {
        let path = directory.join(format!("{FILE_PREFIX}{id}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((id, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e).with_context(|| format!("cannot create {}", path.display())),
        }
    }
    let what = format!("there are already {FILES_MAX} snapshots in {}", directory.display());
    Err(Problem::new(what, "write the snapshot to a file: heapscribe snapshot -o FILE").into())
}

/// The reason why a snapshot is not of one instant, as a number in its file.
fn why(exactness: &Exactness) -> u32 {
    match exactness {
        Exactness::Instant | Exactness::Ended => inexact::NOT,
        Exactness::Inexact(Inexact::Busy(_)) => inexact::BUSY,
        Exactness::Inexact(Inexact::LostHold) => inexact::LOST_HOLD,
        Exactness::Inexact(Inexact::NoRecord(_)) => inexact::NO_RECORD,
        Exactness::Inexact(Inexact::NoBarrier) => inexact::NO_BARRIER,
        Exactness::Inexact(Inexact::NotWritable) => inexact::NO_HOLD,
        Exactness::Inexact(Inexact::Other(other)) => *other,
    }
}

fn bytes_at(file: &File, offset: u64, n: usize, len: u64) -> Result<Vec<u8>> {
    if offset.checked_add(n as u64).is_none_or(|end| end > len) {
        bail!("the snapshot ends at byte {len}, within what begins at byte {offset}");
    }
    let mut bytes = vec![0; n];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// The table of a snapshot, whose extents lie one behind the other.
fn image(file: &File, mut at: u64, named: &Named<'_>, len: u64) -> Result<Image> {
    let (mut image, mut end) = (Assembly::new(named.live_units), 0);
    for _ in 0..named.extents {
        let header = bytes_at(file, at, EXTENT_HEADER_BYTES, len)?;
        let extent =
            header.as_slice().try_into().ok().and_then(parse_extent).filter(|(start, _)| *start >= end);
        let Some((start, length)) = extent else { bail!("invalid extent at byte {at}") };
        at += EXTENT_HEADER_BYTES as u64;
        end = start + length;
        for offset in (start..end).step_by(PIECE_BYTES) {
            let piece = bytes_at(file, at, PIECE_BYTES.min((end - offset) as usize), len)?;
            image.add(offset, &piece);
            at += piece.len() as u64;
        }
    }
    Ok(image.end())
}
