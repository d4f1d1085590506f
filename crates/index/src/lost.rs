//! What is missing among the events of chunks, as two sections of an index: process, reason, count; and the chunks that
//! could not be read.

use std::io::{self, Write};

use heapscribe_analyze::LostInChunks;
use heapscribe_formats::Source;

use crate::file::{IndexError, Kind, SectionReader, SectionWriter};

/// Writes it.
pub(crate) fn write<W: Write>(lost: &LostInChunks, out: &mut SectionWriter<W>) -> io::Result<()> {
    let row = |(process, reason, count): (usize, u8, u64)| [process as u64, u64::from(reason), count];
    out.section(Kind::Lost, 0, &lost.iter().map(row).collect::<Vec<_>>())?;
    let damaged: Vec<_> = lost.damaged().iter().map(|chunk| [*chunk as u64]).collect();
    out.section(Kind::Damaged, 0, &damaged)
}

/// Reads it; of so many processes.
pub(crate) fn read<S: Source>(
    sections: &SectionReader<S>,
    processes: usize,
) -> Result<LostInChunks, IndexError> {
    let mut lost = LostInChunks::new(processes);
    for [process, reason, count] in sections.rows::<3>(Kind::Lost, 0)?.iter() {
        let process = usize::try_from(process).ok().filter(|process| *process < processes);
        let (Some(process), Ok(reason)) = (process, u8::try_from(reason)) else {
            return Err(IndexError::Damaged(0));
        };
        lost.add(process, reason, count);
    }
    for [chunk] in sections.rows::<1>(Kind::Damaged, 0)?.iter() {
        lost.add_damaged(usize::try_from(chunk).map_err(|_| IndexError::Damaged(0))?);
    }
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_read_as_they_were_written() {
        let mut lost = LostInChunks::new(2);
        for (process, reason, count) in [(0, 3, 5), (1, 0, u64::MAX), (1, 0, 1)] {
            lost.add(process, reason, count);
        }
        [7, 3, 7].into_iter().for_each(|chunk| lost.add_damaged(chunk));
        let mut out = SectionWriter::new(Vec::new()).unwrap();
        write(&lost, &mut out).unwrap();
        let sections = SectionReader::open(out.finish().unwrap().0).unwrap();
        assert_eq!(read(&sections, 2).unwrap(), lost);
        assert_eq!(lost.damaged(), [3, 7]);
        assert!(read(&sections, 1).is_err());
    }
}
