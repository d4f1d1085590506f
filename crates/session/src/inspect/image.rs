//! A copy of what there is of a live file. Most of the file is holes, which are asked for and left out; the
//! rest is copied by all cores, because the process waits meanwhile.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use heapscribe_units::counted;
use heapscribe_wire::limits::{LIVE_UNIT_BYTES, LIVE_UNITS_MAX};
use heapscribe_wire::live::SLOT_BYTES;
use heapscribe_wire::live::walk::Units;
use rayon::prelude::*;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

const UNIT: u64 = LIVE_UNIT_BYTES as u64;
/// What one core copies in one go.
const PIECE_BYTES: usize = 512 << 10;
/// Room made ready for what comes while we get ready.
const SPARE_BYTES: usize = 1 << 20;
/// How often a slot is looked at that is another each time.
const LOOKS: usize = 16;

/// A copy of the units that hold something.
#[derive(Debug, Default)]
pub(super) struct Image {
    /// Units in use, of the whole file.
    units: u32,
    /// The bytes that are no hole, one extent behind the other; there may be more room.
    bytes: Vec<u8>,
    extents: Vec<Range<u64>>,
    /// Where the bytes of a unit are, in units, by its number; none for a hole.
    at: Vec<u32>,
}

const HOLE: u32 = u32::MAX;

impl Units for Image {
    fn units(&self) -> u32 {
        self.units
    }

    fn unit(&self, number: u32) -> Option<&[u8; LIVE_UNIT_BYTES]> {
        let at = *self.at.get(number as usize).filter(|at| **at != HOLE)? as usize;
        self.bytes.get(at * LIVE_UNIT_BYTES..(at + 1) * LIVE_UNIT_BYTES)?.try_into().ok()
    }
}

impl Image {
    /// Copies what there is now of the first `units`, into the memory of the copy before.
    pub(super) fn copy(&mut self, file: &File, units: u32) -> io::Result<()> {
        self.units = units.min(LIVE_UNITS_MAX as u32);
        let (is, due) = (file.metadata()?.len(), u64::from(self.units) * UNIT);
        if is < due {
            let what = format!("the file ends at byte {is}, and {} of it are in use", counted(due, "byte"));
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        self.extents = extents(file, u64::from(self.units) * UNIT)?;
        let len = length(&self.extents);
        if self.bytes.len() < len {
            self.bytes.resize(len + SPARE_BYTES, 0);
        }
        read(file, &self.extents, &mut self.bytes[..len])
    }

    /// Notes where each unit is; after a copy, when no thread waits.
    pub(super) fn index(&mut self) {
        self.at.clear();
        self.at.resize(self.units as usize, HOLE);
        let places = self.extents.iter().flat_map(|extent| extent.start / UNIT..extent.end / UNIT);
        for (i, unit) in places.enumerate() {
            self.at[unit as usize] = i as u32;
        }
    }

    /// What it holds: bytes of the file, and where they were.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Range<u64>, &[u8])> {
        let mut at = 0;
        self.extents.iter().filter_map(move |extent| {
            let from = at;
            at += (extent.end - extent.start) as usize;
            Some((extent.clone(), self.bytes.get(from..at)?))
        })
    }

    /// An image of bytes that were read elsewhere, and their extents.
    pub(super) fn of(units: u32, mut pieces: Vec<(Range<u64>, Vec<u8>)>) -> Image {
        pieces.sort_by_key(|(range, _)| range.start);
        let mut image = Image { units, ..Image::default() };
        for (range, bytes) in pieces {
            image.piece(&range, &bytes);
        }
        image.index();
        image
    }

    /// Adds a piece of pages to the units that they are in.
    fn piece(&mut self, range: &Range<u64>, bytes: &[u8]) {
        let whole = range.start / UNIT * UNIT..range.end.next_multiple_of(UNIT);
        if self.extents.last().is_none_or(|last| last.end < whole.start) {
            self.extents.push(whole.start..whole.start);
        }
        let before = self.bytes.len();
        let Some(last) = self.extents.last_mut() else { return };
        let grown = whole.end.saturating_sub(last.end) as usize;
        self.bytes.resize(before + grown, 0);
        last.end = last.end.max(whole.end);
        let at = before + grown - (last.end - range.start) as usize;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Has each slot that came out differently in a second copy looked at until it is twice the same: one
    /// of the two copies may have the words of different blocks.
    pub(super) fn reconcile(&mut self, file: &File) -> io::Result<()> {
        let len = length(&self.extents);
        let mut second_copy = vec![0; len];
        read(file, &self.extents, &mut second_copy)?;
        let mut offset = 0;
        for extent in &self.extents {
            let n = (extent.end - extent.start) as usize;
            let (first, second) = (&mut self.bytes[offset..offset + n], &second_copy[offset..offset + n]);
            let pairs = first.as_chunks_mut::<SLOT_BYTES>().0.iter_mut().zip(second.as_chunks().0);
            for (i, (first, second)) in pairs.enumerate().filter(|(_, (first, second))| first != second) {
                *first = settle(file, extent.start + (i * SLOT_BYTES) as u64, *second)?;
            }
            offset += n;
        }
        Ok(())
    }
}

/// Reads a slot until it is what it was the time before.
fn settle(file: &File, offset: u64, mut seen: [u8; SLOT_BYTES]) -> io::Result<[u8; SLOT_BYTES]> {
    for _ in 0..LOOKS {
        let mut now = [0; SLOT_BYTES];
        file.read_exact_at(&mut now, offset)?;
        if now == seen {
            break;
        }
        seen = now;
    }
    Ok(seen)
}

fn length(extents: &[Range<u64>]) -> usize {
    extents.iter().map(|extent| (extent.end - extent.start) as usize).sum()
}

/// What is no hole of the file below `end`, in whole units. Where the file system knows of no holes that
/// is everything.
fn extents(file: &File, end: u64) -> io::Result<Vec<Range<u64>>> {
    let end = end.min(file.metadata()?.len() / UNIT * UNIT);
    let mut extents: Vec<Range<u64>> = Vec::new();
    let mut at = 0;
    while at < end {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start / UNIT * UNIT,
            Err(Errno::NXIO) => break,
            Err(e) => return Err(e.into()),
        };
        if start >= end {
            break;
        }
        let hole = seek(file, SeekFrom::Hole(start.max(at)))?.max(start + 1);
        at = hole.next_multiple_of(UNIT).min(end);
        match extents.last_mut() {
            Some(last) if last.end >= start => last.end = at,
            _ => extents.push(start..at),
        }
    }
    Ok(extents)
}

/// Reads the extents, one behind the other.
fn read(file: &File, extents: &[Range<u64>], mut into: &mut [u8]) -> io::Result<()> {
    let mut pieces = Vec::with_capacity(into.len() / PIECE_BYTES + extents.len());
    for extent in extents {
        let (bytes, rest) = into.split_at_mut((extent.end - extent.start) as usize);
        into = rest;
        let offsets = (extent.start..).step_by(PIECE_BYTES);
        pieces.extend(offsets.zip(bytes.chunks_mut(PIECE_BYTES)));
    }
    pieces.into_par_iter().try_for_each(|(offset, bytes)| file.read_exact_at(bytes, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sparse file with a byte in some units: what of it is copied.
    #[test]
    fn holes_are_left_out_and_the_rest_is_whole() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 * UNIT).unwrap();
        let filled = [0u64, 1, 7, 20, 21, 22, 63];
        for unit in filled {
            file.write_all_at(&[unit as u8 + 1], unit * UNIT + 5000).unwrap();
        }
        let mut image = Image::default();
        for units in [64, 22, 0, 64] {
            image.copy(&file, units).unwrap();
            image.index();
            for unit in 0..64u32 {
                let is_there = filled.contains(&u64::from(unit)) && unit < units;
                let first = image.unit(unit).map_or(0, |bytes| bytes[5000]);
                assert_eq!(first, if is_there { unit as u8 + 1 } else { 0 }, "unit {unit} of {units}");
            }
        }
        assert!(image.unit(40).is_none(), "a hole costs nothing");
        image.reconcile(&file).unwrap();
    }

    /// What was cut off passed for a hole, and a table without its beginning for an empty one.
    #[test]
    fn a_file_that_was_cut_is_refused_at_its_end() {
        let file = tempfile::tempfile().unwrap();
        for (len, expected) in [(2 * UNIT, None), (2 * UNIT - 1, Some("32767")), (0, Some("0"))] {
            file.set_len(len).unwrap();
            let refused = Image::default().copy(&file, 2).err().map(|e| e.to_string());
            let words =
                expected.map(|is| format!("the file ends at byte {is}, and 32,768 bytes of it are in use"));
            assert_eq!(refused, words);
        }
    }

    #[test]
    fn pieces_of_pages_become_units() {
        let page = |byte: u8, n: usize| vec![byte; n * 4096];
        let image = Image::of(
            10,
            vec![
                (4096 * 13..4096 * 21, page(2, 8)),
                (0..4096, page(1, 1)),
                (8192..12288, page(4, 1)),
                (4096 * 36..4096 * 40, page(3, 4)),
            ],
        );
        let bytes = |unit: u32| image.unit(unit).map(|bytes| [0, 1, 2, 3].map(|page| bytes[page * 4096]));
        assert_eq!(bytes(0), Some([1, 0, 4, 0]));
        assert_eq!([bytes(1), bytes(2), bytes(6)], [None; 3]);
        assert_eq!([bytes(3), bytes(4), bytes(5)], [Some([0, 2, 2, 2]), Some([2; 4]), Some([2, 0, 0, 0])]);
        assert_eq!(bytes(9), Some([3; 4]));
    }
}
