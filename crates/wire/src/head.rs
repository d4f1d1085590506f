//! The head of a session: who this is, which clock its ticks are on, how much of the other files is
//! used, and what was dropped, by reason.
//!
//! ```text
//!      0  magic u64            8  abi u32           12  state u32 (0 being made, 1 recording)
//!     16  pid u32             20  parent pid u32    24  stage u32: 0 exec'd image, 1 forked child
//!     28  clock u32 (kind)    32  clock shift u32   36  live granule shift u32
//!     40  created mono ns     48  created real ns   56  created ticks
//!     64  defs committed u64  72  chunks in use u32 76  threads so far u32
//!     80  live units in use   84  drainer heartbeat u32 (the drainer's only word)
//!     88  created mono ns of the process that forked this one, 0 for an exec'd image
//!     96  spilled bytes u64  104  private memory that the recorder has in use u64
//!    112  pid namespace u64: its inode number, in which `pid` counts; 0 when not known
//!    120  leaving u64: 1 once the process has begun to exit by itself, 2 to exec; 0 in one that was killed
//!    128  drops: a u64 counter for each reason, 32 of them; the records of threads count cut stacks, too, see
//!         [`crate::operation`]
//!    384  mode u64, see [`crate::mode`]: what is recorded; anybody who may write the file may change it
//!    392  hold u32, see [`crate::operation`]: anybody who may write the file may hold operations back
//!    396  is expedited u32: 1 when the process is registered for readers' barriers (membarrier(2))
//!    400  thread records in use u32     404  threads without a record u32
//!    408  the call that broke a rule of real time, see [`crate::rule_violation`]
//!    448  stacks verified u64  456 of them different u64   (HEAPSCRIBE_VERIFY_STACKS)
//!    464  is locked u32: 1 when a lock for reading is held as long as any process has the head mapped
//!    468  early ns u32: by how much times of events may be early, where the clock is read seldom; 0 where each reads it
//!    472  leaving mono ns u64: when `leaving` was set
//!    480  exact from ticks u64: from when on each event reads the clock, of those of `early ns`; 0 for none yet
//!    512  executable: u32 length, bytes        at most NAME_BYTES_MAX each
//!   4612  command line: u32 length, bytes with NUL between the arguments
//!   8712  programs that were not recorded, see [`crate::unrecorded`]: started by the process, or by children that
//!         had no session, or such children themselves
//! ```

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::limits::NAME_BYTES_MAX;
pub use crate::loss::{DROP_COUNTERS, LossReason};
use crate::mode::Mode;
use crate::rule_violation::{PAST_MARK, RULE_VIOLATION_BYTES, RuleViolation, SharedRuleViolation};
use crate::unrecorded::{SharedUnrecorded, Unrecorded};

/// First eight bytes of a head.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HSCRHEAD");

/// Where ticks come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ClockKind {
    /// CLOCK_MONOTONIC in ns.
    Monotonic = 0,
    /// The processor's time stamp counter, where the kernel itself keeps time by it.
    Tsc = 1,
}

/// Right shift of the monotonic clock: a tick is 16 ns.
pub const MONOTONIC_SHIFT: u32 = 4;
/// Right shift of the time stamp counter: a tick is 8 to 32 ns on processors of 1 to 4 GHz.
pub const TSC_SHIFT: u32 = 5;

/// What `state` says.
pub mod state {
    /// The session is being made.
    pub const MAKING: u32 = 0;
    /// Recording.
    pub const RECORDING: u32 = 1;
}

/// How the process was created.
pub mod stage {
    /// A program that was exec'd.
    pub const EXECED: u32 = 0;
    /// A forked child of a recorded process.
    pub const FORKED: u32 = 1;
}

/// What a process has begun to do that ends its image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Leaving {
    /// It exits by itself.
    Exit = 1,
    /// It execs another program.
    Exec = 2,
}

impl Leaving {
    /// What the word says; `None` for a process that goes on.
    pub const fn from_word(word: u64) -> Option<Leaving> {
        match word {
            0 => None,
            2 => Some(Leaving::Exec),
            _ => Some(Leaving::Exit),
        }
    }
}

/// The head as it lies in the shared file, for the process that writes it.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct SharedHead {
    pub magic: AtomicU64,
    pub abi: AtomicU32,
    pub state: AtomicU32,
    pub pid: AtomicU32,
    pub parent_pid: AtomicU32,
    pub stage: AtomicU32,
    pub clock_kind: AtomicU32,
    pub clock_shift: AtomicU32,
    pub live_granule_shift: AtomicU32,
    pub created_mono_ns: AtomicU64,
    pub created_real_ns: AtomicU64,
    pub created_ticks: AtomicU64,
    pub defs_committed: AtomicU64,
    pub chunks_in_use: AtomicU32,
    pub threads: AtomicU32,
    pub live_units: AtomicU32,
    pub heartbeat: AtomicU32,
    pub parent_created_mono_ns: AtomicU64,
    pub spilled_bytes: AtomicU64,
    pub own_bytes: AtomicU64,
    pub pid_namespace: AtomicU64,
    pub leaving: AtomicU64,
    pub drops: [AtomicU64; DROP_COUNTERS],
    pub mode: AtomicU64,
    pub hold: AtomicU32,
    pub is_expedited: AtomicU32,
    pub records: AtomicU32,
    pub threads_without_record: AtomicU32,
    pub broke: SharedRuleViolation,
    pub stacks_verified: AtomicU64,
    pub stacks_different: AtomicU64,
    pub is_locked: AtomicU32,
    pub early_ns: AtomicU32,
    pub leaving_mono_ns: AtomicU64,
    pub exact_from_ticks: AtomicU64,
    pub reserved3: [AtomicU32; 6],
    pub exe_len: AtomicU32,
    pub exe: [u8; NAME_BYTES_MAX],
    pub command_len: AtomicU32,
    pub command: [u8; NAME_BYTES_MAX],
    pub unrecorded: SharedUnrecorded,
}

/// Bytes of the head file.
pub const HEAD_FILE_BYTES: usize = 12 << 10;
/// Offset of the heartbeat, the one word that the drainer writes.
pub const HEARTBEAT_OFFSET: usize = offset_of!(SharedHead, heartbeat);
/// Offset of the word by which readers hold operations back.
pub const HOLD_OFFSET: usize = offset_of!(SharedHead, hold);
/// Offset of the word that says that the mark of the rules of real time has come.
pub const PAST_MARK_OFFSET: usize = offset_of!(SharedHead, broke) + PAST_MARK;
/// Offset of the mode. It has a cache line to itself, because every hook reads it.
pub const MODE_OFFSET: usize = offset_of!(SharedHead, mode);

const _: () = assert!(size_of::<SharedHead>() <= HEAD_FILE_BYTES);
const _: () = assert!(offset_of!(SharedHead, created_mono_ns) == 40);
const _: () = assert!(offset_of!(SharedHead, defs_committed) == 64);
const _: () = assert!(HEARTBEAT_OFFSET == 84);
const _: () = assert!(offset_of!(SharedHead, drops) == 128);
const _: () = assert!(MODE_OFFSET == 384 && MODE_OFFSET.is_multiple_of(64));
const _: () = assert!(HOLD_OFFSET == 392 && offset_of!(SharedHead, threads_without_record) == 404);
const _: () = assert!(offset_of!(SharedHead, broke) == 408 && PAST_MARK_OFFSET == 428);
const _: () = assert!(offset_of!(SharedHead, stacks_verified) == 448);
const _: () = assert!(offset_of!(SharedHead, is_locked) == 464);
const _: () = assert!(offset_of!(SharedHead, early_ns) == 468);
const _: () = assert!(offset_of!(SharedHead, leaving_mono_ns) == 472);
const _: () = assert!(offset_of!(SharedHead, exact_from_ticks) == 480);
const _: () = assert!(offset_of!(SharedHead, exe_len) == 512);
const _: () = assert!(offset_of!(SharedHead, command_len) == 512 + 4 + NAME_BYTES_MAX);
const _: () = assert!(offset_of!(SharedHead, unrecorded) == 8712);

impl SharedHead {
    /// Counts a drop.
    pub fn count_loss(&self, reason: LossReason) {
        self.drops[reason as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// A head as another process copied it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct Head<'a> {
    pub state: u32,
    pub pid: u32,
    pub parent_pid: u32,
    pub stage: u32,
    pub clock_kind: u32,
    pub clock_shift: u32,
    pub live_granule_shift: u32,
    pub created_mono_ns: u64,
    pub created_real_ns: u64,
    pub created_ticks: u64,
    pub defs_committed: u64,
    pub chunks_in_use: u32,
    pub threads: u32,
    pub live_units: u32,
    pub heartbeat: u32,
    pub parent_created_mono_ns: u64,
    pub spilled_bytes: u64,
    pub own_bytes: u64,
    pub pid_namespace: u64,
    pub leaving: Option<Leaving>,
    pub leaving_mono_ns: u64,
    pub early_ns: u32,
    pub exact_from_ticks: u64,
    pub is_locked: bool,
    pub drops: [u64; DROP_COUNTERS],
    pub mode: Mode,
    pub hold: u32,
    pub is_expedited: bool,
    pub records: u32,
    pub threads_without_record: u32,
    pub broke: Option<RuleViolation>,
    pub stacks_verified: u64,
    pub stacks_different: u64,
    pub exe: &'a [u8],
    pub command: &'a [u8],
    pub unrecorded: Unrecorded<'a>,
}

/// Why bytes are no head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadHead {
    /// Fewer bytes than a head has.
    TooShort,
    /// The first eight bytes are not ours: not a head, or not one yet.
    Magic,
    /// A version that this program does not know.
    Abi(u32),
}

impl core::fmt::Display for BadHead {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BadHead::TooShort => f.write_str("the session's head is too short"),
            BadHead::Magic => f.write_str("no session head (byte 0)"),
            BadHead::Abi(v) => {
                write!(f, "session of version {v}, known is {} (byte 8)", crate::version::ABI_VERSION)
            }
        }
    }
}

impl core::error::Error for BadHead {}

impl<'a> Head<'a> {
    /// Takes a copied head apart.
    pub fn parse(bytes: &'a [u8]) -> Result<Head<'a>, BadHead> {
        if bytes.len() < size_of::<SharedHead>() {
            return Err(BadHead::TooShort);
        }
        let u32_at = |o: usize| u32::from_le_bytes([bytes[o], bytes[o + 1], bytes[o + 2], bytes[o + 3]]);
        let u64_at = |o: usize| u64::from(u32_at(o)) | u64::from(u32_at(o + 4)) << 32;
        let name_at = |o: usize| &bytes[o + 4..o + 4 + (u32_at(o) as usize).min(NAME_BYTES_MAX)];
        if u64_at(0) != MAGIC {
            return Err(BadHead::Magic);
        }
        if u32_at(8) != crate::version::ABI_VERSION {
            return Err(BadHead::Abi(u32_at(8)));
        }
        Ok(Head {
            state: u32_at(offset_of!(SharedHead, state)),
            pid: u32_at(offset_of!(SharedHead, pid)),
            parent_pid: u32_at(offset_of!(SharedHead, parent_pid)),
            stage: u32_at(offset_of!(SharedHead, stage)),
            clock_kind: u32_at(offset_of!(SharedHead, clock_kind)),
            clock_shift: u32_at(offset_of!(SharedHead, clock_shift)),
            live_granule_shift: u32_at(offset_of!(SharedHead, live_granule_shift)),
            created_mono_ns: u64_at(offset_of!(SharedHead, created_mono_ns)),
            created_real_ns: u64_at(offset_of!(SharedHead, created_real_ns)),
            created_ticks: u64_at(offset_of!(SharedHead, created_ticks)),
            defs_committed: u64_at(offset_of!(SharedHead, defs_committed)),
            chunks_in_use: u32_at(offset_of!(SharedHead, chunks_in_use)),
            threads: u32_at(offset_of!(SharedHead, threads)),
            live_units: u32_at(offset_of!(SharedHead, live_units)),
            heartbeat: u32_at(HEARTBEAT_OFFSET),
            parent_created_mono_ns: u64_at(offset_of!(SharedHead, parent_created_mono_ns)),
            spilled_bytes: u64_at(offset_of!(SharedHead, spilled_bytes)),
            own_bytes: u64_at(offset_of!(SharedHead, own_bytes)),
            pid_namespace: u64_at(offset_of!(SharedHead, pid_namespace)),
            leaving: Leaving::from_word(u64_at(offset_of!(SharedHead, leaving))),
            leaving_mono_ns: u64_at(offset_of!(SharedHead, leaving_mono_ns)),
            early_ns: u32_at(offset_of!(SharedHead, early_ns)),
            exact_from_ticks: u64_at(offset_of!(SharedHead, exact_from_ticks)),
            is_locked: u32_at(offset_of!(SharedHead, is_locked)) != 0,
            drops: core::array::from_fn(|i| u64_at(offset_of!(SharedHead, drops) + 8 * i)),
            mode: Mode::from_word(u64_at(MODE_OFFSET)),
            hold: u32_at(HOLD_OFFSET),
            is_expedited: u32_at(offset_of!(SharedHead, is_expedited)) != 0,
            records: u32_at(offset_of!(SharedHead, records)),
            threads_without_record: u32_at(offset_of!(SharedHead, threads_without_record)),
            broke: RuleViolation::parse(&core::array::from_fn::<u8, RULE_VIOLATION_BYTES, _>(|i| {
                bytes[offset_of!(SharedHead, broke) + i]
            })),
            stacks_verified: u64_at(offset_of!(SharedHead, stacks_verified)),
            stacks_different: u64_at(offset_of!(SharedHead, stacks_different)),
            exe: name_at(offset_of!(SharedHead, exe_len)),
            command: name_at(offset_of!(SharedHead, command_len)),
            unrecorded: Unrecorded(&bytes[offset_of!(SharedHead, unrecorded)..]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_lengths_stay_inside() {
        let mut bytes = [0xff; HEAD_FILE_BYTES];
        bytes[..8].copy_from_slice(b"HSCRHEAD");
        assert_eq!(Head::parse(&bytes), Err(BadHead::Abi(u32::MAX)));
        bytes[8..12].copy_from_slice(&crate::version::ABI_VERSION.to_le_bytes());
        let head = Head::parse(&bytes).unwrap();
        assert_eq!((head.exe.len(), head.command.len()), (NAME_BYTES_MAX, NAME_BYTES_MAX));
        assert_eq!(Head::parse(&bytes[..100]), Err(BadHead::TooShort));
        assert_eq!(Head::parse(&[0; HEAD_FILE_BYTES]), Err(BadHead::Magic));
    }

    #[test]
    fn drop_reasons_have_their_numbers() {
        for (i, d) in LossReason::ALL.iter().enumerate() {
            assert_eq!(*d as usize, i);
            assert_eq!(LossReason::from_number(i as u8), Some(*d));
        }
        assert_eq!(LossReason::from_number(200), None);
    }
}
