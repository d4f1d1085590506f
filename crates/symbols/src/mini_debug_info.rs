//! The symbol table that distributions leave in a stripped file: a small ELF file in the section `.gnu_debugdata`,
//! packed as xz, with the functions that the dynamic table lacks.

use liblzma::stream::{Action, Status, Stream};
use object::{Object, ObjectSection, ReadRef};

/// The section.
const SECTION: &str = ".gnu_debugdata";
/// Memory that unpacking may take, beside what is unpacked.
const MEMORY_BYTES_MAX: u64 = 128 << 20;
/// Bytes that are unpacked at most: the largest that was seen (of clang) has 20 MB.
const UNPACKED_BYTES_MAX: usize = 256 << 20;
/// Bytes that the output grows by.
const STEP_BYTES: usize = 1 << 16;

/// The ELF file in a file; `None` when there is none, or it is damaged.
pub(crate) fn of<'f, R: ReadRef<'f>>(file: &object::File<'f, R>) -> Option<Vec<u8>> {
    unpacked(file.section_by_name(SECTION)?.data().ok()?, UNPACKED_BYTES_MAX)
}

/// What is packed, if it has no more bytes than that.
fn unpacked(packed: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let mut stream = Stream::new_stream_decoder(MEMORY_BYTES_MAX, 0).ok()?;
    let mut out = Vec::new();
    loop {
        let (read, had) = (usize::try_from(stream.total_in()).ok()?, out.len());
        out.reserve(STEP_BYTES);
        let status = stream.process_vec(packed.get(read..)?, &mut out, Action::Finish).ok()?;
        match status {
            Status::StreamEnd if out.len() <= bytes_max => return Some(out),
            _ if out.len() > bytes_max => return None,
            _ if out.len() == had && stream.total_in() == read as u64 => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        liblzma::read::XzEncoder::new(bytes, 1).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn what_is_whole_is_unpacked_and_nothing_else() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n / 7) as u8).collect();
        let whole = packed(&bytes);
        let unpacked = |packed: &[u8]| unpacked(packed, UNPACKED_BYTES_MAX);
        assert_eq!(unpacked(&whole), Some(bytes));
        assert_eq!(unpacked(&packed(b"")), Some(Vec::new()));
        for end in [0, 1, 20, whole.len() / 2, whole.len() - 1] {
            assert_eq!(unpacked(&whole[..end]), None, "{end} bytes");
        }
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        assert_eq!(unpacked(&damaged), None);
        assert_eq!(unpacked(b"no xz"), None);
    }

    #[test]
    fn a_small_file_does_not_take_all_memory() {
        let zeros = packed(&vec![0; 1 << 20]);
        assert!(zeros.len() < 1 << 10);
        assert_eq!(unpacked(&zeros, 1 << 19), None);
        assert_eq!(unpacked(&zeros, 1 << 20).map(|bytes| bytes.len()), Some(1 << 20));
    }
}
