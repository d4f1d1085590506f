//! The call that broke a rule of real time, reported in the head before the process is stopped by it.
//!
//! ```text
//!      0  how u32: 0 no call did, 1 inside a section, 2 after a mark, 3 on a thread; ff.. being written
//!      4  call u32, as in events       8  thread u32         12  name u32: of the section, of the mark
//!     16  stack u32: who called       20  past mark u32: 1 once the mark of the rules was reached
//!     24  size u64: asked for, or of the block to be freed            32  ticks u64
//! ```
//! *How* is stored last. *Past mark* may be stored by anybody who may write the file: `ctl PID mark` is a
//! mark, too.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::call::Call;
use crate::ids::{NameId, StackId, ThreadId};

/// Bytes of it in the head.
pub const RULE_VIOLATION_BYTES: usize = 40;
/// Offset of *past mark* in it.
pub const PAST_MARK: usize = 20;

const BEING_WRITTEN: u32 = u32::MAX;

/// Which kind of rule a call broke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Why {
    /// It was made inside a section.
    Section = 1,
    /// It was made after a mark.
    Mark = 2,
    /// Its thread must make none.
    Thread = 3,
}

impl Why {
    /// The reason of this number.
    pub const fn from_number(n: u32) -> Option<Why> {
        match n {
            1 => Some(Why::Section),
            2 => Some(Why::Mark),
            3 => Some(Why::Thread),
            _ => None,
        }
    }
}

/// A call that broke a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleViolation {
    /// Which rule.
    pub why: Why,
    /// The function.
    pub call: Call,
    /// Whose call.
    pub thread: ThreadId,
    /// Of the section or the mark; 0 for none.
    pub name: NameId,
    /// Who called.
    pub stack: StackId,
    /// Asked for, or of the block that was to be freed.
    pub size_bytes: u64,
    /// When.
    pub ticks: u64,
}

/// The same as it lies in the head.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct SharedRuleViolation {
    pub how: AtomicU32,
    pub call: AtomicU32,
    pub thread: AtomicU32,
    pub name: AtomicU32,
    pub stack: AtomicU32,
    pub past_mark: AtomicU32,
    pub size_bytes: AtomicU64,
    pub ticks: AtomicU64,
}

const _: () = assert!(size_of::<SharedRuleViolation>() == RULE_VIOLATION_BYTES);
const _: () = assert!(core::mem::offset_of!(SharedRuleViolation, past_mark) == PAST_MARK);

impl SharedRuleViolation {
    /// Reports a call; false when another was reported before.
    pub fn report(&self, broke: &RuleViolation) -> bool {
        if self.how.compare_exchange(0, BEING_WRITTEN, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        self.call.store(broke.call as u32, Ordering::Relaxed);
        self.thread.store(broke.thread.0, Ordering::Relaxed);
        self.name.store(broke.name.0, Ordering::Relaxed);
        self.stack.store(broke.stack.0, Ordering::Relaxed);
        self.size_bytes.store(broke.size_bytes, Ordering::Relaxed);
        self.ticks.store(broke.ticks, Ordering::Relaxed);
        self.how.store(broke.why as u32, Ordering::Release);
        true
    }
}

impl RuleViolation {
    /// Reads a copy of it; `None` when no call broke a rule.
    pub fn parse(bytes: &[u8; RULE_VIOLATION_BYTES]) -> Option<RuleViolation> {
        let u32_at = |o: usize| u32::from_le_bytes([bytes[o], bytes[o + 1], bytes[o + 2], bytes[o + 3]]);
        let u64_at = |o: usize| u64::from(u32_at(o)) | u64::from(u32_at(o + 4)) << 32;
        Some(RuleViolation {
            why: Why::from_number(u32_at(0))?,
            call: u8::try_from(u32_at(4)).ok().and_then(Call::from_bits)?,
            thread: ThreadId(u32_at(8)),
            name: NameId(u32_at(12)),
            stack: StackId(u32_at(16)),
            size_bytes: u64_at(24),
            ticks: u64_at(32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(shared: &SharedRuleViolation) -> [u8; RULE_VIOLATION_BYTES] {
        let mut out = [0; RULE_VIOLATION_BYTES];
        let words =
            [&shared.how, &shared.call, &shared.thread, &shared.name, &shared.stack, &shared.past_mark];
        for (place, word) in out.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        out[24..32].copy_from_slice(&shared.size_bytes.load(Ordering::Relaxed).to_le_bytes());
        out[32..].copy_from_slice(&shared.ticks.load(Ordering::Relaxed).to_le_bytes());
        out
    }

    #[test]
    fn the_first_call_is_told_and_comes_back() {
        let shared = SharedRuleViolation {
            how: AtomicU32::new(0),
            call: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            name: AtomicU32::new(0),
            stack: AtomicU32::new(0),
            past_mark: AtomicU32::new(1),
            size_bytes: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
        };
        assert_eq!(RuleViolation::parse(&bytes_of(&shared)), None);
        let broke = RuleViolation {
            why: Why::Section,
            call: Call::Calloc,
            thread: ThreadId(3),
            name: NameId(4),
            stack: StackId(5),
            size_bytes: 1 << 40,
            ticks: 1 << 50,
        };
        assert!(shared.report(&broke));
        assert!(!shared.report(&RuleViolation { size_bytes: 7, ..broke }));
        assert_eq!(RuleViolation::parse(&bytes_of(&shared)), Some(broke));
        let mut hostile = bytes_of(&shared);
        hostile[4] = 99;
        assert_eq!(RuleViolation::parse(&hostile), None);
    }
}
