//! Marks and ends of sections as sections of an index: by name, one after the other in time.
//!
//! All names are in two sections: how many there are and how long each is, and their bytes. An index that had no room
//! for notes has neither.

use std::collections::BTreeMap;
use std::io::{self, Write};

use heapscribe_analyze::moments::{NoteKind, NoteMoment};
use heapscribe_formats::Source;

use crate::file::{IndexError, Kind, SectionReader, SectionWriter};

const LENGTHS: u32 = 0;
const BYTES: u32 = 1;
const KINDS: [NoteKind; 3] = [NoteKind::Mark, NoteKind::Begin, NoteKind::End];

/// Writes those of each name, by time.
pub(crate) fn write<W: Write>(
    by_name: &BTreeMap<Vec<u8>, Vec<NoteMoment>>,
    out: &mut SectionWriter<W>,
) -> io::Result<()> {
    let lengths = [by_name.len()].into_iter().chain(by_name.keys().map(Vec::len));
    out.section(Kind::NoteNames, LENGTHS, &lengths.map(|len| [len as u64]).collect::<Vec<_>>())?;
    let bytes = by_name.keys().flatten().map(|byte| [u64::from(*byte)]);
    out.section(Kind::NoteNames, BYTES, &bytes.collect::<Vec<_>>())?;
    for (number, moments) in (0..).zip(by_name.values()) {
        let mut before_ns = 0;
        let row = |moment: &NoteMoment| {
            let more_ns = moment.ns - before_ns;
            before_ns = moment.ns;
            [more_ns, moment.process as u64, u64::from(moment.thread), moment.kind as u64]
        };
        out.section(Kind::Notes, number, &moments.iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// All names; nothing where the index had no room for notes.
pub(crate) fn names<S: Source>(sections: &SectionReader<S>) -> Result<Option<Vec<Vec<u8>>>, IndexError> {
    let lengths = sections.rows::<1>(Kind::NoteNames, LENGTHS)?;
    let mut lengths = lengths.iter().map(|[len]| len);
    let Some(count) = lengths.next() else { return Ok(None) };
    let bytes = sections.rows::<1>(Kind::NoteNames, BYTES)?;
    let bytes: Vec<u8> = bytes.iter().map(|[byte]| byte as u8).collect();
    let (mut names, mut rest) = (Vec::new(), &bytes[..]);
    for len in lengths {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let (name, after) = rest.split_at_checked(len).ok_or(IndexError::Damaged(0))?;
        names.push(name.to_vec());
        rest = after;
    }
    if names.len() as u64 == count && rest.is_empty() { Ok(Some(names)) } else { Err(IndexError::Damaged(0)) }
}

/// All of a name, by time; nothing where the index had no room for notes.
pub(crate) fn of_name<S: Source>(
    sections: &SectionReader<S>,
    name: &[u8],
) -> Result<Option<Vec<NoteMoment>>, IndexError> {
    let Some(names) = names(sections)? else { return Ok(None) };
    let Some(number) = names.iter().position(|of| of == name) else { return Ok(Some(Vec::new())) };
    let mut ns = 0u64;
    let moment = |[more_ns, process, thread, kind]: [u64; 4]| {
        ns = ns.saturating_add(more_ns);
        Some(NoteMoment {
            ns,
            process: usize::try_from(process).ok()?,
            thread: u32::try_from(thread).ok()?,
            kind: *KINDS.get(usize::try_from(kind).ok()?)?,
        })
    };
    let moments: Option<Vec<_>> =
        sections.rows::<4>(Kind::Notes, number as u32)?.iter().map(moment).collect();
    moments.map(Some).ok_or(IndexError::Damaged(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(by_name: &[(&str, &[u64])]) {
        let moment = |ns: &u64| NoteMoment { ns: *ns, process: 3, thread: 4, kind: KINDS[(ns % 3) as usize] };
        let by_name: BTreeMap<Vec<u8>, Vec<NoteMoment>> =
            by_name.iter().map(|(name, ns)| ((*name).into(), ns.iter().map(moment).collect())).collect();
        let mut out = SectionWriter::new(Vec::new()).unwrap();
        write(&by_name, &mut out).unwrap();
        let sections = SectionReader::open(out.finish().unwrap().0).unwrap();
        assert_eq!(names(&sections).unwrap(), Some(by_name.keys().cloned().collect()));
        for (name, moments) in &by_name {
            assert_eq!(of_name(&sections, name).unwrap().as_ref(), Some(moments));
        }
        assert_eq!(of_name(&sections, b"?").unwrap(), Some(Vec::new()));
    }

    #[test]
    fn notes_are_read_as_they_were_written() {
        check(&[]);
        check(&[("load", &[7, 7, 9000]), ("", &[1]), ("parse", &[u64::MAX])]);
    }

    #[test]
    fn an_index_without_room_for_notes_has_none() {
        let sections = SectionWriter::new(Vec::new()).unwrap().finish().unwrap().0;
        let sections = SectionReader::open(sections).unwrap();
        assert_eq!((names(&sections).unwrap(), of_name(&sections, b"a").unwrap()), (None, None));
    }
}
