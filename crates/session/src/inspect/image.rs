//! What there is in a live file at a moment. It is read by all cores through small buffers, because the process waits
//! meanwhile, and only what a walk needs is kept: memory for a copy of all of it cost a page fault each 4 KiB, which was
//! most of the time that a snapshot of a large heap took.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use heapscribe_units::counted;
use heapscribe_wire::limits::{LIVE_UNIT_BYTES, LIVE_UNITS_MAX};
use heapscribe_wire::live::SLOT_BYTES;
use heapscribe_wire::live::walk::{Unit, Units};
use rayon::prelude::*;

use super::gathered::Gathered;
use super::source::{Buffers, Source, Writers};

const UNIT: u64 = LIVE_UNIT_BYTES as u64;
/// What one core takes on in one go.
const PIECE_BYTES: u64 = 2 << 20;
const PIECE_UNITS: usize = PIECE_BYTES as usize / LIVE_UNIT_BYTES;
/// What `blocks` of a file's metadata counts.
const BLOCK_BYTES: u64 = 512;

/// The units that hold something.
#[derive(Debug, Default)]
pub(super) struct Image {
    /// Units in use, of the whole file.
    units: u32,
    /// What each core has gathered.
    gathered: Vec<Gathered>,
    /// Units that were read again, each time together, and which of `gathered` has what there is of them.
    renewed: Vec<(Vec<u32>, usize)>,
    /// Which of those has a unit, and where, by its number.
    at: Vec<(u32, u32)>,
}

const HOLE: (u32, u32) = (u32::MAX, 0);

impl Units for Image {
    fn units(&self) -> u32 {
        self.units
    }

    fn unit(&self, number: u32) -> Unit<'_> {
        let (nth, at) = self.at.get(number as usize).copied().unwrap_or(HOLE);
        self.gathered.get(nth as usize).map_or(Unit::Hole, |gathered| gathered.unit(at as usize))
    }
}

impl Image {
    /// Gets ready for a file with about so many blocks: memory is there, and our threads have begun.
    pub(super) fn provide(&mut self, file: &File, blocks: u64) -> io::Result<()> {
        let bytes = file.metadata()?.blocks() * BLOCK_BYTES;
        let cores = rayon::current_num_threads();
        // The cores do not take equal parts.
        let part = |n: u64| (n + n / 4) as usize / cores + 1;
        // A slot for each block, and at most one for the entries that lead there.
        let (units, slots) = (part(bytes / UNIT), part((2 * blocks).min(bytes / SLOT_BYTES as u64)));
        self.gathered.resize_with(cores, Gathered::default);
        self.gathered.par_iter_mut().for_each(|gathered| gathered.provide(units, slots));
        Ok(())
    }

    /// Reads what there is now of the first `units`, into the memory of the time before.
    pub(super) fn read(&mut self, file: &File, units: u32, writers: Writers) -> io::Result<()> {
        self.units = units.min(LIVE_UNITS_MAX as u32);
        let (is, due) = (file.metadata()?.len(), u64::from(self.units) * UNIT);
        if is < due {
            let what = format!("the file ends at byte {is}, and {} of it are in use", counted(due, "byte"));
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        self.gathered.resize_with(rayon::current_num_threads(), Gathered::default);
        self.gathered.iter_mut().for_each(Gathered::clear);
        self.renewed.clear();
        let (source, next) = (Source { file, writers }, AtomicU64::new(0));
        self.gathered.par_iter_mut().try_for_each(|gathered| {
            let mut buffers = Buffers::default();
            loop {
                let start = next.fetch_add(PIECE_BYTES, Relaxed);
                if start >= due {
                    return Ok(());
                }
                source.gather(start..due.min(start + PIECE_BYTES), (&mut buffers, gathered))?;
            }
        })
    }

    /// Reads these units again, of a table that has `units` now: what was read of them before is left out.
    pub(super) fn renew(&mut self, file: &File, units: u32, changed: &[u32]) -> io::Result<()> {
        self.units = units.min(LIVE_UNITS_MAX as u32);
        if changed.is_empty() {
            return Ok(());
        }
        self.renewed.push((changed.to_vec(), self.gathered.len()));
        let gather = |numbers: &[u32]| {
            let (mut gathered, mut bytes) = (Gathered::default(), Box::new([0; LIVE_UNIT_BYTES]));
            for &number in numbers {
                file.read_exact_at(&mut bytes[..], u64::from(number) * UNIT)?;
                gathered.add(number, &bytes);
            }
            Ok(gathered)
        };
        let pieces: io::Result<Vec<Gathered>> = changed.par_chunks(PIECE_UNITS).map(gather).collect();
        self.gathered.extend(pieces?);
        Ok(())
    }

    /// Notes where each unit is; when no thread waits.
    pub(super) fn index(&mut self) {
        self.at.clear();
        self.at.resize(self.units as usize, HOLE);
        let mut renewed = self.renewed.iter().peekable();
        for (nth, gathered) in self.gathered.iter().enumerate() {
            for number in renewed.next_if(|(_, of)| *of == nth).map_or(&[][..], |(numbers, _)| numbers) {
                if let Some(place) = self.at.get_mut(*number as usize) {
                    *place = HOLE;
                }
            }
            for (at, number) in gathered.numbers().enumerate() {
                if let Some(place) = self.at.get_mut(number as usize) {
                    *place = (nth as u32, at as u32);
                }
            }
        }
    }

    /// Where in the file it holds something.
    pub(super) fn extents(&self) -> Vec<Range<u64>> {
        let mut extents: Vec<Range<u64>> = Vec::new();
        let is_there = |number: &u32| self.at[*number as usize] != HOLE;
        for start in (0..self.at.len() as u32).filter(is_there).map(|number| u64::from(number) * UNIT) {
            match extents.last_mut() {
                Some(last) if last.end == start => last.end += UNIT,
                _ => extents.push(start..start + UNIT),
            }
        }
        extents
    }

    /// The bytes of the unit at a place in the file.
    pub(super) fn bytes(&self, offset: u64) -> Box<[u8; LIVE_UNIT_BYTES]> {
        let mut bytes = Box::new([0; LIVE_UNIT_BYTES]);
        self.unit((offset / UNIT) as u32).for_each_slot(|at, [word0, word1]| {
            bytes[at * SLOT_BYTES..][..8].copy_from_slice(&word0.to_le_bytes());
            bytes[at * SLOT_BYTES + 8..][..8].copy_from_slice(&word1.to_le_bytes());
        });
        bytes
    }
}

/// An image in the making, of bytes that come by their place in the file.
#[derive(Debug)]
pub(super) struct Assembly {
    image: Image,
    /// The unit that is not yet whole.
    open: Option<(u32, Box<[u8; LIVE_UNIT_BYTES]>)>,
}

impl Assembly {
    /// Of a file with so many units in use.
    pub(super) fn new(units: u32) -> Assembly {
        let (units, gathered) = (units.min(LIVE_UNITS_MAX as u32), vec![Gathered::default()]);
        Assembly { image: Image { units, gathered, ..Image::default() }, open: None }
    }

    /// Adds bytes that lie behind those that were added before.
    pub(super) fn add(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (number, within) = ((offset / UNIT) as u32, (offset % UNIT) as usize);
            let (piece, rest) = bytes.split_at(bytes.len().min(LIVE_UNIT_BYTES - within));
            if self.open.as_ref().is_some_and(|open| open.0 != number) {
                self.close();
            }
            let (_, unit) = self.open.get_or_insert_with(|| (number, Box::new([0; LIVE_UNIT_BYTES])));
            unit[within..within + piece.len()].copy_from_slice(piece);
            (offset, bytes) = (offset + piece.len() as u64, rest);
        }
    }

    fn close(&mut self) {
        let Some((number, bytes)) = self.open.take() else { return };
        if let Some(gathered) = self.image.gathered.first_mut() {
            gathered.add(number, &bytes);
        }
    }

    /// The image.
    pub(super) fn end(mut self) -> Image {
        self.close();
        self.image.index();
        self.image
    }
}

#[cfg(test)]
mod tests;
