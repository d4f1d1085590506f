//! Programs that were started and could not be recorded. They may have neither rights nor files to say so themselves,
//! so it is noted in the head of the process that starts them, which a forked child shares until it has its own.
//!
//! ```text
//!     0  how many, by reason: 16 x u32
//!    64  13 of them, 256 bytes each:
//!          0  state u32 (0 free, 1 being written, 2 whole)    4  reason u32    8  mono ns u64
//!         16  pid u32   20  length u32   24  name, of one that is longer its end
//! ```
//! Where nobody has a head, a symbolic link `unrecorded.PID.MONO.REASON` in the base directory says it; its target is
//! the name, `?` when that is not known.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What the name of a link begins with that says it.
pub const LINK_PREFIX: &str = "unrecorded.";
/// Bytes kept of a name.
pub const UNRECORDED_NAME_BYTES_MAX: usize = 232;
/// Programs of one process that have a name; more are counted.
const PROGRAMS_MAX: usize = 13;
const REASONS_MAX: usize = 16;

/// Why a program was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u32)]
pub enum UnrecordedReason {
    /// It was started without the variables by which it would be recorded.
    Environment = 1,
    /// It runs as another user, who may not look into the directory of the sessions.
    User = 2,
    /// It sees other files: a sandbox or another root directory hides the sessions or the recorder's library.
    Hidden = 3,
    /// The directory of the sessions was removed.
    Removed = 4,
    /// It has no file descriptor to open anything with.
    Descriptors = 5,
    /// It is not a 64-bit program for x86.
    Architecture = 6,
    /// It is linked statically.
    Static = 7,
    /// It has more rights than its caller (setuid, setgid, capabilities), so the loader ignores LD_PRELOAD.
    Privileged = 8,
    /// There is no room for its session: memory, disk or a limit.
    Room = 9,
    /// It contains a heap of its own.
    OwnHeap = 10,
    /// It is built with a sanitizer.
    Sanitizer = 11,
    /// Its session could not be made for another reason.
    Other = 12,
    /// It was started with an `LD_PRELOAD` that does not name the recorder's library.
    Preload = 13,
}

impl UnrecordedReason {
    /// All, by number from 1 on.
    const ALL: [UnrecordedReason; 13] = [
        UnrecordedReason::Environment,
        UnrecordedReason::User,
        UnrecordedReason::Hidden,
        UnrecordedReason::Removed,
        UnrecordedReason::Descriptors,
        UnrecordedReason::Architecture,
        UnrecordedReason::Static,
        UnrecordedReason::Privileged,
        UnrecordedReason::Room,
        UnrecordedReason::OwnHeap,
        UnrecordedReason::Sanitizer,
        UnrecordedReason::Other,
        UnrecordedReason::Preload,
    ];

    /// The reason of this number; one of a later version is another.
    pub fn from_number(n: u32) -> UnrecordedReason {
        let known = (n as usize).checked_sub(1).and_then(|at| UnrecordedReason::ALL.get(at));
        known.copied().unwrap_or(UnrecordedReason::Other)
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            UnrecordedReason::Environment => "environment",
            UnrecordedReason::User => "user",
            UnrecordedReason::Hidden => "hidden",
            UnrecordedReason::Removed => "removed",
            UnrecordedReason::Descriptors => "descriptors",
            UnrecordedReason::Architecture => "architecture",
            UnrecordedReason::Static => "static",
            UnrecordedReason::Privileged => "privileged",
            UnrecordedReason::Room => "room",
            UnrecordedReason::OwnHeap => "own_heap",
            UnrecordedReason::Sanitizer => "sanitizer",
            UnrecordedReason::Other => "other",
            UnrecordedReason::Preload => "preload",
        }
    }
}

/// A program that was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnrecordedProgram<'a> {
    /// Its process, as that counts itself.
    pub pid: u32,
    /// When it was started, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Why.
    pub reason: UnrecordedReason,
    /// Its file, as it was given; nothing when that is not known.
    pub name: &'a [u8],
}

const FREE: u32 = 0;
const WRITING: u32 = 1;
const WHOLE: u32 = 2;

/// One program, as it lies in the head.
#[repr(C)]
#[derive(Debug)]
struct SharedProgram {
    state: AtomicU32,
    reason: AtomicU32,
    mono_ns: AtomicU64,
    pid: AtomicU32,
    len: AtomicU32,
    name: [AtomicU8; UNRECORDED_NAME_BYTES_MAX],
}

/// The programs, as they lie in the head.
#[repr(C)]
#[derive(Debug)]
pub struct SharedUnrecorded {
    counts: [AtomicU32; REASONS_MAX],
    programs: [SharedProgram; PROGRAMS_MAX],
}

const PROGRAM_BYTES: usize = size_of::<SharedProgram>();
const PROGRAMS_OFFSET: usize = offset_of!(SharedUnrecorded, programs);
const _: () = assert!(PROGRAM_BYTES == 256 && PROGRAMS_OFFSET == 64);
const _: () = assert!(offset_of!(SharedProgram, name) == 24);

/// What was noted of a program, to take it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noted {
    reason: UnrecordedReason,
    place: Option<usize>,
}

impl SharedUnrecorded {
    /// Counts a program, and keeps it when there is a place.
    pub fn note(&self, program: &UnrecordedProgram<'_>) -> Noted {
        self.counts[program.reason as usize].fetch_add(1, Ordering::Relaxed);
        let claim = |program: &SharedProgram| {
            program.state.compare_exchange(FREE, WRITING, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let place = self.programs.iter().position(claim);
        if let Some(place) = place {
            self.programs[place].fill(program);
        }
        Noted { reason: program.reason, place }
    }

    /// It was not started after all.
    pub fn take_back(&self, noted: Noted) {
        self.counts[noted.reason as usize].fetch_sub(1, Ordering::Relaxed);
        if let Some(place) = noted.place {
            self.programs[place].state.store(FREE, Ordering::Release);
        }
    }
}

impl SharedProgram {
    fn fill(&self, program: &UnrecordedProgram<'_>) {
        let name = &program.name[program.name.len().saturating_sub(UNRECORDED_NAME_BYTES_MAX)..];
        for (place, byte) in self.name.iter().zip(name) {
            place.store(*byte, Ordering::Relaxed);
        }
        self.len.store(name.len() as u32, Ordering::Relaxed);
        self.pid.store(program.pid, Ordering::Relaxed);
        self.mono_ns.store(program.mono_ns, Ordering::Relaxed);
        self.reason.store(program.reason as u32, Ordering::Relaxed);
        self.state.store(WHOLE, Ordering::Release);
    }
}

/// The programs of a head that was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unrecorded<'a>(pub(crate) &'a [u8]);

impl<'a> Unrecorded<'a> {
    /// How many there are, by reason.
    pub fn counts(self) -> impl Iterator<Item = (UnrecordedReason, u32)> + 'a {
        let count = move |reason: &UnrecordedReason| self.u32_at(4 * *reason as usize);
        UnrecordedReason::ALL.iter().map(move |reason| (*reason, count(reason))).filter(|(_, n)| *n > 0)
    }

    /// Those that have a place.
    pub fn programs(self) -> impl Iterator<Item = UnrecordedProgram<'a>> {
        (0..PROGRAMS_MAX).filter_map(move |n| self.program(PROGRAMS_OFFSET + n * PROGRAM_BYTES))
    }

    fn program(self, at: usize) -> Option<UnrecordedProgram<'a>> {
        let len = (self.u32_at(at + 20) as usize).min(UNRECORDED_NAME_BYTES_MAX);
        let mono_ns = u64::from(self.u32_at(at + 8)) | u64::from(self.u32_at(at + 12)) << 32;
        let program = UnrecordedProgram {
            pid: self.u32_at(at + 16),
            mono_ns,
            reason: UnrecordedReason::from_number(self.u32_at(at + 4)),
            name: self.0.get(at + 24..at + 24 + len)?,
        };
        (self.u32_at(at) == WHOLE).then_some(program)
    }

    fn u32_at(self, at: usize) -> u32 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes as another process copies them.
    fn copied(shared: &SharedUnrecorded) -> Vec<u8> {
        let mut bytes = Vec::new();
        shared.counts.iter().for_each(|n| bytes.extend(n.load(Ordering::Relaxed).to_le_bytes()));
        for program in &shared.programs {
            bytes.extend(program.state.load(Ordering::Relaxed).to_le_bytes());
            bytes.extend(program.reason.load(Ordering::Relaxed).to_le_bytes());
            bytes.extend(program.mono_ns.load(Ordering::Relaxed).to_le_bytes());
            bytes.extend(program.pid.load(Ordering::Relaxed).to_le_bytes());
            bytes.extend(program.len.load(Ordering::Relaxed).to_le_bytes());
            bytes.extend(program.name.iter().map(|byte| byte.load(Ordering::Relaxed)));
        }
        bytes
    }

    fn empty() -> SharedUnrecorded {
        SharedUnrecorded {
            counts: Default::default(),
            programs: core::array::from_fn(|_| SharedProgram {
                state: AtomicU32::new(FREE),
                reason: AtomicU32::new(0),
                mono_ns: AtomicU64::new(0),
                pid: AtomicU32::new(0),
                len: AtomicU32::new(0),
                name: core::array::from_fn(|_| AtomicU8::new(0)),
            }),
        }
    }

    fn program(pid: u32, reason: UnrecordedReason, name: &[u8]) -> UnrecordedProgram<'_> {
        UnrecordedProgram { pid, mono_ns: u64::from(pid) << 33, reason, name }
    }

    #[test]
    fn what_is_noted_is_read_and_what_is_taken_back_is_not() {
        let shared = empty();
        let long = [b'x'; 300];
        let all = [
            program(7, UnrecordedReason::Static, b"/bin/busybox"),
            program(8, UnrecordedReason::User, &long),
            program(9, UnrecordedReason::Static, b""),
        ];
        let noted = all.map(|program| shared.note(&program));
        shared.take_back(noted[0]);
        let bytes = copied(&shared);
        let read = Unrecorded(&bytes);
        let expected = [UnrecordedProgram { name: &long[..UNRECORDED_NAME_BYTES_MAX], ..all[1] }, all[2]];
        assert!(read.programs().eq(expected));
        assert!(read.counts().eq([(UnrecordedReason::User, 1), (UnrecordedReason::Static, 1)]));
    }

    #[test]
    fn those_without_a_place_are_counted() {
        let shared = empty();
        for pid in 0..20 {
            let _ = shared.note(&program(pid, UnrecordedReason::Environment, b"a"));
        }
        let bytes = copied(&shared);
        assert_eq!(Unrecorded(&bytes).programs().count(), PROGRAMS_MAX);
        assert!(Unrecorded(&bytes).counts().eq([(UnrecordedReason::Environment, 20)]));
    }

    #[test]
    fn hostile_bytes_stay_inside() {
        let bytes = [0xff; 64 + 13 * 256];
        assert_eq!(Unrecorded(&bytes).programs().count(), 0);
        let mut bytes = [0x02; 64 + 13 * 256];
        bytes[64..68].copy_from_slice(&2u32.to_le_bytes());
        let names: Vec<_> = Unrecorded(&bytes).programs().map(|program| program.name.len()).collect();
        assert_eq!(names, [UNRECORDED_NAME_BYTES_MAX]);
        assert_eq!(Unrecorded(&bytes[..100]).programs().count(), 0);
    }

    #[test]
    fn reasons_have_their_numbers() {
        for (i, reason) in UnrecordedReason::ALL.iter().enumerate() {
            assert_eq!((*reason as usize, UnrecordedReason::from_number(i as u32 + 1)), (i + 1, *reason));
        }
        assert_eq!(UnrecordedReason::from_number(0), UnrecordedReason::Other);
        assert_eq!(UnrecordedReason::from_number(200), UnrecordedReason::Other);
    }
}
