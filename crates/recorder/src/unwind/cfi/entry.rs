//! The two records of `.eh_frame`: a function's frame description entry (FDE), and the common information
//! entry (CIE) that it builds on.

use core::ops::Range;

use super::reader::{Encoding, Reader};
use heapscribe_nolibc::loader::Segment;

/// What functions compiled alike have in common.
#[derive(Clone, Debug)]
pub(super) struct CommonEntry<'a> {
    pub(super) code_factor: u64,
    pub(super) data_factor: i64,
    pub(super) return_register: u64,
    pub(super) pointers: Encoding,
    pub(super) is_signal_frame: bool,
    has_lengths: bool,
    pub(super) program: Reader<'a>,
}

/// One function's entry.
#[derive(Clone, Debug)]
pub(super) struct FrameEntry<'a> {
    pub(super) common: CommonEntry<'a>,
    pub(super) start: usize,
    length: usize,
    pub(super) program: Reader<'a>,
}

/// A record's body, which starts with the CIE pointer, and where the next record is.
pub(super) struct Record<'a> {
    pub(super) body: Reader<'a>,
    pub(super) end: usize,
}

/// The record at `address`. None at the end of the section.
#[inline]
pub(super) fn record<'a>(segment: &Segment<'a>, address: usize) -> Option<Record<'a>> {
    const EXTENDED: u32 = u32::MAX;
    let mut reader = Reader::new(segment, address)?;
    let length = match reader.u32()? {
        0 => return None,
        EXTENDED => usize::try_from(reader.u64()?).ok()?,
        length => length as usize,
    };
    let body = reader.split(length)?;
    Some(Record { body, end: reader.address() })
}

impl<'a> FrameEntry<'a> {
    pub(super) fn read(segment: &Segment<'a>, address: usize) -> Option<FrameEntry<'a>> {
        let mut reader = record(segment, address)?.body;
        let pointer_address = reader.address();
        let common_offset = reader.u32()? as usize;
        if common_offset == 0 {
            return None; // a CIE where an FDE should be
        }
        let common = CommonEntry::read(segment, pointer_address.checked_sub(common_offset)?)?;
        let start = reader.encoded(common.pointers)?;
        let length = reader.encoded(common.pointers.as_length())?;
        if common.has_lengths {
            let augmentation = usize::try_from(reader.unsigned()?).ok()?;
            reader.skip(augmentation)?;
        }
        Some(FrameEntry { common, start, length, program: reader })
    }

    /// The code that it is about.
    pub(super) fn code(&self) -> Range<usize> {
        self.start..self.start.saturating_add(self.length)
    }

    pub(super) fn covers(&self, pc: usize) -> bool {
        pc.checked_sub(self.start).is_some_and(|offset| offset < self.length)
    }
}

impl<'a> CommonEntry<'a> {
    fn read(segment: &Segment<'a>, address: usize) -> Option<CommonEntry<'a>> {
        let mut reader = record(segment, address)?.body;
        let (id, version) = (reader.u32()?, reader.u8()?);
        if id != 0 || !matches!(version, 1 | 3) {
            return None;
        }
        let letters = reader.bytes();
        let letters = letters.get(..letters.iter().position(|&b| b == 0)?)?;
        reader.skip(letters.len() + 1)?;
        let code_factor = reader.unsigned()?;
        let data_factor = reader.signed()?;
        let return_register = if version == 1 { u64::from(reader.u8()?) } else { reader.unsigned()? };
        let mut entry = CommonEntry {
            code_factor,
            data_factor,
            return_register,
            pointers: Encoding::ABSOLUTE,
            is_signal_frame: false,
            has_lengths: letters.first() == Some(&b'z'),
            program: reader,
        };
        entry.augment(letters)?;
        Some(entry)
    }

    /// Reads what the letters of the augmentation string announce.
    fn augment(&mut self, letters: &[u8]) -> Option<()> {
        let Some((_z, letters)) = letters.split_first() else { return Some(()) };
        if !self.has_lengths {
            return None; // the "eh" of gcc 2, or something newer than this
        }
        let length = usize::try_from(self.program.unsigned()?).ok()?;
        let mut data = self.program.split(length)?;
        for letter in letters {
            match letter {
                b'R' => self.pointers = Encoding(data.u8()?),
                b'L' => data.skip(1)?,
                b'P' => {
                    let encoding = Encoding(data.u8()?);
                    data.skip_encoded(encoding)?;
                }
                b'S' => self.is_signal_frame = true,
                b'B' => {}
                _ => return None,
            }
        }
        Some(())
    }
}
