//! The plan: what `record` wants, a small file in the session's base directory that each process reads
//! when it starts. A binary of fixed size, so that reading it takes no parser and no memory.
//!
//! ```text
//!   0 magic u64   8 abi u32   12 drainer pid u32   16 clock kind u32   20 when full u32
//!  24 log chunks u32          28 verify every u32  32 spill limit bytes u64   40 pid namespace u64
//!  48 mode u64, see [`crate::mode`]                56 seed of the sampling u64, 0 for none
//!  64 flags u32: bit 0 calls are timed, bit 1 the first call that breaks a rule stops its process,
//!     bit 2 frames of interpreters are not recorded, bit 3 the program's own mappings are recorded,
//!     bit 4 the clock is read seldom
//!  68 bytes of rules that follow u32, see [`crate::real_time_rules`]
//! ```

use crate::head::ClockKind;
use crate::mode::Mode;
use crate::version::ABI_VERSION;

/// First eight bytes of a plan.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HSCRPLAN");
/// Bytes of a plan before its rules.
pub const PLAN_BYTES: usize = 72;
/// The name of the plan's file in the base directory.
pub const FILE_NAME: &str = "plan";
/// The name of the file beside it by which processes know whether they are alone, when the clock is to be read seldom: a
/// u64, 0 before any has begun, then the first one's pid and, from bit 32 on, the low half of the inode number of its pid
/// namespace, all bits set once there was another.
pub const SOLE_PROCESS_FILE_NAME: &str = "sole-process";
/// Bytes of that file: a page, written by who writes the plan, so that touching it cannot fail.
pub const SOLE_PROCESS_FILE_BYTES: usize = 4096;
/// The environment variable that names the base directory.
pub const SESSION_VARIABLE: &str = "HEAPSCRIBE_SESSION";
/// The one that is `1` where the program's own mappings are recorded: known to a hook without a session.
pub const TRACK_MMAP_VARIABLE: &str = "HEAPSCRIBE_TRACK_MMAP";

/// What a thread does whose log is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum WhenFull {
    /// Waits for the drainer, as long as it lives.
    #[default]
    Wait = 0,
    /// Drops the event and counts it.
    Drop = 1,
}

/// What `record` wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Process that drains the log; 0 for none.
    pub drainer_pid: u32,
    /// Inode number of the pid namespace in which that process has that number; 0 when not known.
    pub pid_namespace: u64,
    /// Clock to use.
    pub clock: ClockKind,
    /// What to do when the log is full.
    pub when_full: WhenFull,
    /// Chunks of log that a process may use, plus two for each thread.
    pub log_chunks: u32,
    /// How many bytes a process may write out itself when nobody drains it.
    pub spill_limit_bytes: u64,
    /// Every how many captures of a stack one is made twice and compared; 0: never.
    pub verify_every: u32,
    /// What is recorded at first.
    pub mode: Mode,
    /// Makes samples the same again in each run of the same program; 0: they are others each time.
    pub seed: u64,
    /// Whether it is recorded how long each call was in the heap.
    pub is_timed: bool,
    /// Whether the first call that breaks a rule of real time stops its process.
    pub stops: bool,
    /// Whether frames of code that an interpreter runs are recorded.
    pub reads_interpreters: bool,
    /// Whether the program's own mappings are recorded.
    pub tracks_mappings: bool,
    /// Whether a process that is alone and has one thread reads the clock only when the kernel has counted a step of time.
    pub reads_clock_seldom: bool,
    /// Bytes of rules behind these.
    pub rules_bytes: u32,
}

const TIMED: u32 = 1;
const STOPS: u32 = 2;
const NATIVE_ONLY: u32 = 4;
const MAPPINGS: u32 = 8;
const SELDOM: u32 = 16;

impl Default for Plan {
    fn default() -> Self {
        Plan {
            drainer_pid: 0,
            pid_namespace: 0,
            clock: ClockKind::Monotonic,
            when_full: WhenFull::Wait,
            log_chunks: 64,
            spill_limit_bytes: 1 << 30,
            verify_every: 0,
            mode: Mode::Full,
            seed: 0,
            is_timed: false,
            stops: false,
            reads_interpreters: true,
            tracks_mappings: false,
            reads_clock_seldom: false,
            rules_bytes: 0,
        }
    }
}

impl Plan {
    /// The plan's bytes.
    pub fn to_bytes(&self) -> [u8; PLAN_BYTES] {
        let mut out = [0; PLAN_BYTES];
        out[..8].copy_from_slice(&MAGIC.to_le_bytes());
        for (i, word) in
            [ABI_VERSION, self.drainer_pid, self.clock as u32, self.when_full as u32, self.log_chunks]
                .into_iter()
                .enumerate()
        {
            out[8 + 4 * i..12 + 4 * i].copy_from_slice(&word.to_le_bytes());
        }
        out[28..32].copy_from_slice(&self.verify_every.to_le_bytes());
        out[32..40].copy_from_slice(&self.spill_limit_bytes.to_le_bytes());
        out[40..48].copy_from_slice(&self.pid_namespace.to_le_bytes());
        out[48..56].copy_from_slice(&self.mode.to_word().to_le_bytes());
        out[56..64].copy_from_slice(&self.seed.to_le_bytes());
        let flags = (u32::from(self.is_timed) * TIMED)
            | (u32::from(self.stops) * STOPS)
            | (u32::from(!self.reads_interpreters) * NATIVE_ONLY)
            | (u32::from(self.tracks_mappings) * MAPPINGS)
            | (u32::from(self.reads_clock_seldom) * SELDOM);
        out[64..68].copy_from_slice(&flags.to_le_bytes());
        out[68..72].copy_from_slice(&self.rules_bytes.to_le_bytes());
        out
    }

    /// Reads a plan; `None` when it is not one of this version.
    pub fn parse(bytes: &[u8; PLAN_BYTES]) -> Option<Plan> {
        let u32_at = |o: usize| u32::from_le_bytes([bytes[o], bytes[o + 1], bytes[o + 2], bytes[o + 3]]);
        let u64_at = |o: usize| u64::from(u32_at(o)) | u64::from(u32_at(o + 4)) << 32;
        if u64_at(0) != MAGIC || u32_at(8) != ABI_VERSION {
            return None;
        }
        Some(Plan {
            drainer_pid: u32_at(12),
            pid_namespace: u64_at(40),
            clock: if u32_at(16) == ClockKind::Tsc as u32 { ClockKind::Tsc } else { ClockKind::Monotonic },
            when_full: if u32_at(20) == WhenFull::Drop as u32 { WhenFull::Drop } else { WhenFull::Wait },
            log_chunks: u32_at(24),
            spill_limit_bytes: u64_at(32),
            verify_every: u32_at(28),
            mode: Mode::from_word(u64_at(48)),
            seed: u64_at(56),
            is_timed: u32_at(64) & TIMED != 0,
            stops: u32_at(64) & STOPS != 0,
            reads_interpreters: u32_at(64) & NATIVE_ONLY == 0,
            tracks_mappings: u32_at(64) & MAPPINGS != 0,
            reads_clock_seldom: u32_at(64) & SELDOM != 0,
            rules_bytes: u32_at(68),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_refusal() {
        let plan = Plan {
            drainer_pid: 5,
            pid_namespace: 1 << 33,
            clock: ClockKind::Tsc,
            when_full: WhenFull::Drop,
            log_chunks: 9,
            spill_limit_bytes: 1 << 40,
            verify_every: 3,
            mode: Mode::Sampled { mean_bytes: 512 << 10 },
            seed: 7,
            is_timed: true,
            stops: true,
            reads_interpreters: false,
            tracks_mappings: true,
            reads_clock_seldom: true,
            rules_bytes: 300,
        };
        let mut bytes = plan.to_bytes();
        assert_eq!(Plan::parse(&bytes), Some(plan));
        bytes[8] ^= 1;
        assert_eq!(Plan::parse(&bytes), None);
    }
}
