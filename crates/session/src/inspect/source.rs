//! A live file as it is read: without its holes, and slots that two blocks may share twice.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::SLOT_BYTES;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::gathered::Gathered;

const UNIT: u64 = LIVE_UNIT_BYTES as u64;
/// What is read at a time, at most: it stays in a core's cache.
const BUFFER_BYTES: usize = 256 << 10;
/// The unit of holes.
const PAGE_BYTES: usize = 4096;
/// How often a slot is looked at that is another each time.
const LOOKS: usize = 16;

/// Whether anybody writes meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writers {
    /// Nobody.
    Held,
    /// Threads of the process: a slot that is another when it is read a second time may have the words of two blocks, and
    /// is looked at until it is twice the same.
    Running,
}

/// The file.
pub(super) struct Source<'a> {
    pub(super) file: &'a File,
    pub(super) writers: Writers,
}

/// What a core reads into, once and a second time: the same memory all the time.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    first: Vec<u8>,
    second: Vec<u8>,
}

impl Source<'_> {
    /// Adds the units of a range that hold something, but for some that hold only zeros. Where a hole ends is asked for;
    /// where data end it would take a look at all of them, so that is seen from the zeros that follow.
    pub(super) fn gather(
        &self,
        range: Range<u64>,
        (Buffers { first: buffer, second }, into): (&mut Buffers, &mut Gathered),
    ) -> io::Result<()> {
        let (mut at, mut bytes, mut is_hole) = (range.start, LIVE_UNIT_BYTES, true);
        while at < range.end {
            if is_hole {
                let Some(data) = self.data(at)?.filter(|data| *data < range.end) else { break };
                (at, bytes) = (data / UNIT * UNIT, LIVE_UNIT_BYTES);
            }
            let end = range.end.min(at + bytes as u64);
            buffer.resize((end - at) as usize, 0);
            self.file.read_exact_at(buffer, at)?;
            if self.writers == Writers::Running {
                second.resize(buffer.len(), 0);
                self.file.read_exact_at(second, at)?;
                self.settle(at, buffer, second)?;
            }
            for (number, unit) in ((at / UNIT) as u32..).zip(buffer.as_chunks().0) {
                into.add(number, unit);
            }
            is_hole = buffer.last_chunk::<PAGE_BYTES>().is_none_or(|page| *page == [0; PAGE_BYTES]);
            (at, bytes) = (end, BUFFER_BYTES.min(2 * bytes));
        }
        Ok(())
    }

    /// Where there are data, from a place on.
    fn data(&self, at: u64) -> io::Result<Option<u64>> {
        match seek(self.file, SeekFrom::Data(at)) {
            Ok(data) => Ok(Some(data.max(at))),
            Err(Errno::NXIO) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Has each slot that came out differently the second time looked at until it is twice the same.
    fn settle(&self, at: u64, first: &mut [u8], second: &[u8]) -> io::Result<()> {
        let pairs = first.as_chunks_mut::<SLOT_BYTES>().0.iter_mut().zip(second.as_chunks().0);
        for (i, (first, second)) in pairs.enumerate().filter(|(_, (first, second))| first != second) {
            *first = self.settled(at + (i * SLOT_BYTES) as u64, *second)?;
        }
        Ok(())
    }

    /// Reads a slot until it is what it was the time before.
    fn settled(&self, offset: u64, mut seen: [u8; SLOT_BYTES]) -> io::Result<[u8; SLOT_BYTES]> {
        for _ in 0..LOOKS {
            let mut now = [0; SLOT_BYTES];
            self.file.read_exact_at(&mut now, offset)?;
            if now == seen {
                break;
            }
            seen = now;
        }
        Ok(seen)
    }
}
