//! What chunks say is missing among their events, as a section of an index: process, reason, count.

use std::io::{self, Write};

use heapscribe_analyze::LostInChunks;
use heapscribe_formats::Source;

use crate::file::{IndexError, Kind, SectionReader, SectionWriter};

/// Writes it.
pub(crate) fn write<W: Write>(lost: &LostInChunks, out: &mut SectionWriter<W>) -> io::Result<()> {
    let row = |(process, reason, count): (usize, u8, u64)| [process as u64, u64::from(reason), count];
    out.section(Kind::Lost, 0, &lost.iter().map(row).collect::<Vec<_>>())
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
        let mut out = SectionWriter::new(Vec::new()).unwrap();
        write(&lost, &mut out).unwrap();
        let sections = SectionReader::open(out.finish().unwrap().0).unwrap();
        assert_eq!(read(&sections, 2).unwrap(), lost);
        assert!(read(&sections, 1).is_err());
    }
}
