//! Which trace an index is of.

use std::io;

use heapscribe_formats::Source;

/// Of FNV-1a: it is no defence, but tells files apart that are not made to be mistaken.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// What tells two states of a trace apart: an index of another one is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceId {
    /// Bytes of the trace.
    pub bytes: u64,
    /// A checksum over its header and its last bytes, where its index is.
    pub checksum: u64,
}

/// First and last bytes of a trace that are summed.
const SUMMED_BYTES: u64 = 1 << 16;

impl TraceId {
    /// Of a trace.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of<S: Source>(trace: &S) -> io::Result<TraceId> {
        let bytes = trace.len();
        let mut checksum = FNV_BASIS;
        for begin in [0, bytes.saturating_sub(SUMMED_BYTES)] {
            let (mut at, mut rest) = (begin, [0; 4096]);
            let end = begin.saturating_add(SUMMED_BYTES).min(bytes);
            while at < end {
                let wanted = rest.len().min((end - at) as usize);
                match trace.read_at(at, &mut rest[..wanted])? {
                    0 => break,
                    n => {
                        checksum = fnv(checksum, &rest[..n]);
                        at += n as u64;
                    }
                }
            }
        }
        Ok(TraceId { bytes, checksum })
    }

    pub(crate) const fn row(&self) -> [u64; 2] {
        [self.bytes, self.checksum]
    }
}

fn fnv(checksum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(checksum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_length_or_end_is_another_trace() {
        let trace: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        let id = TraceId::of(&trace).unwrap();
        assert_eq!(TraceId::of(&trace.clone()).unwrap(), id);
        for changed in [0, 299_999, 240_000] {
            let mut other = trace.clone();
            other[changed] ^= 1;
            assert_ne!(TraceId::of(&other).unwrap(), id, "{changed}");
        }
        assert_ne!(TraceId::of(&trace[..299_999].to_vec()).unwrap(), id);
    }
}
