//! An operation in 16 bytes. Blocks are named by slots, which are reused when their block is freed.
//!
//! ```text
//!    0  kind   0 alloc  1 zeroed alloc  2 free  3 realloc  4 moment  5 thread  6 mark
//!    1  align  log2 of the alignment asked for; 0 for none
//!    2  0      2 bytes
//!    4  slot   u32
//!    8  size   u64: bytes asked for, by free the bytes of the block; of a moment the time, ns, of a thread its number
//! ```

/// Bytes of an operation.
pub const OP_BYTES: usize = 16;

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A block is allocated into an empty slot.
    Alloc {
        /// The slot.
        slot: u32,
        /// Bytes asked for.
        size_bytes: u64,
        /// Log2 of the alignment asked for; 0 for none.
        align_log2: u8,
        /// Zeros were asked for.
        zeroed: bool,
    },
    /// The block of a slot is freed, and the slot is empty.
    Free {
        /// The slot.
        slot: u32,
        /// Bytes that were asked for.
        size_bytes: u64,
    },
    /// The block of a slot is reallocated.
    Realloc {
        /// The slot.
        slot: u32,
        /// Bytes asked for now.
        size_bytes: u64,
    },
    /// A step of time has ended.
    Moment {
        /// Since the trace's start.
        ns: u64,
    },
    /// What follows are calls of this thread.
    Thread {
        /// Numbered from 0, in the order of their first calls.
        number: u32,
    },
    /// The program has reached a mark, or the end of a section.
    Mark,
}

impl Op {
    /// The operation as it stands in a file.
    #[inline]
    pub fn encode(self) -> [u8; OP_BYTES] {
        let (kind, align, slot, size) = match self {
            Op::Alloc { slot, size_bytes, align_log2, zeroed } => {
                (u8::from(zeroed), align_log2, slot, size_bytes)
            }
            Op::Free { slot, size_bytes } => (2, 0, slot, size_bytes),
            Op::Realloc { slot, size_bytes } => (3, 0, slot, size_bytes),
            Op::Moment { ns } => (4, 0, 0, ns),
            Op::Thread { number } => (5, 0, 0, number.into()),
            Op::Mark => (6, 0, 0, 0),
        };
        let mut bytes = [0; OP_BYTES];
        (bytes[0], bytes[1]) = (kind, align);
        bytes[4..8].copy_from_slice(&slot.to_le_bytes());
        bytes[8..].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    /// The operation that bytes stand for; `None` when there is no such one.
    #[inline]
    pub fn decode(bytes: &[u8; OP_BYTES]) -> Option<Op> {
        let [kind, align_log2, _, _, s0, s1, s2, s3, size @ ..] = *bytes;
        let (slot, size_bytes) = (u32::from_le_bytes([s0, s1, s2, s3]), u64::from_le_bytes(size));
        match kind {
            0 | 1 if align_log2 < 64 => Some(Op::Alloc { slot, size_bytes, align_log2, zeroed: kind == 1 }),
            2 => Some(Op::Free { slot, size_bytes }),
            3 => Some(Op::Realloc { slot, size_bytes }),
            4 => Some(Op::Moment { ns: size_bytes }),
            5 => Some(Op::Thread { number: u32::try_from(size_bytes).ok()? }),
            6 => Some(Op::Mark),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(slot: u32, size_bytes: u64, align_log2 in 0u8..64, zeroed: bool) {
            for op in [
                Op::Alloc { slot, size_bytes, align_log2, zeroed },
                Op::Free { slot, size_bytes },
                Op::Realloc { slot, size_bytes },
                Op::Moment { ns: size_bytes },
                Op::Thread { number: slot },
                Op::Mark,
            ] {
                prop_assert_eq!(Op::decode(&op.encode()), Some(op));
            }
        }

        #[test]
        fn any_bytes_are_an_operation_or_none(bytes: [u8; OP_BYTES]) {
            if let Some(op) = Op::decode(&bytes) {
                prop_assert_eq!(Op::decode(&op.encode()), Some(op));
            }
        }
    }
}
