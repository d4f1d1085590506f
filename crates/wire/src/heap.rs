//! Statistics of the heap under a program while it runs: a small file of each process image, named
//! `heap.PID.CREATED`, in a directory that `run` or `record` has made.
//!
//! ```text
//!   0 magic u64   8 version u32   12 pid u32   16 created mono u64   24 inode of the pid namespace u64
//!  32 parent pid u32              36 flags u32 (1: the program's own heap serves, which has no statistics)
//!  40 bytes of the name u16       42 bytes of the configuration u16   44 bytes of the path u16
//!  48 where the process has the address of its heap's newest pool u64, 0 when not known
//!  64 what changes, see [`state`]
//! 256 name                       320 configuration                  512 path of the program
//! ```
//! All but what changes is written once, the magic last. The configuration is words of the form `pool=1048576`
//! with blanks between them.

pub mod counts;
pub mod state;

pub use counts::HeapCounts;

use state::{STATE_BYTES, WORDS};

/// First eight bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HSCRHEAP");
/// Version of the file.
pub const VERSION: u32 = 1;
/// Bytes of the file.
pub const HEAP_FILE_BYTES: usize = 1024;
/// Where what changes stands.
pub const STATE_OFFSET: usize = 64;
/// What a file's name begins with.
pub const NAME_PREFIX: &str = "heap.";
/// The environment variable that names the directory.
pub const HEAPS_VARIABLE: &str = "HEAPSCRIBE_HEAPS";
/// The program's own heap serves.
pub const FLAG_PASSING: u32 = 1;

const NAME: core::ops::Range<usize> = 256..320;
const CONFIGURATION: core::ops::Range<usize> = 320..512;
const EXE: core::ops::Range<usize> = 512..HEAP_FILE_BYTES;

const _: () = assert!(STATE_OFFSET + STATE_BYTES <= NAME.start);

/// The part of the file that stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct About<'a> {
    /// The process, as it calls itself.
    pub pid: u32,
    /// Its parent.
    pub parent_pid: u32,
    /// When the file was made, CLOCK_MONOTONIC ns.
    pub created_mono_ns: u64,
    /// Inode number of its pid namespace; 0 when not known.
    pub pid_namespace: u64,
    /// Whether the program's own heap serves.
    pub is_passing: bool,
    /// Where the process has the address of its heap's newest pool, of which the first word is that of the pool before; 0
    /// when not known.
    pub pools_address: u64,
    /// What the heap is called.
    pub name: &'a [u8],
    /// Its configuration.
    pub configuration: &'a [u8],
    /// Path of the program.
    pub exe: &'a [u8],
}

/// The heap's last statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Update {
    /// When, CLOCK_MONOTONIC ns; 0 for never.
    pub mono_ns: u64,
    /// Whether the program has ended since.
    pub is_last: bool,
    /// The counts.
    pub counts: HeapCounts,
}

/// Why bytes are no such file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadHeapFile {
    /// What is wrong.
    pub why: &'static str,
    /// Where.
    pub offset: usize,
}

impl core::fmt::Display for BadHeapFile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} at byte {}", self.why, self.offset)
    }
}

impl core::error::Error for BadHeapFile {}

impl<'a> About<'a> {
    /// The bytes of the file, without its magic as yet. Texts that are too long are cut.
    pub fn put(&self, into: &mut [u8; HEAP_FILE_BYTES]) {
        *into = [0; HEAP_FILE_BYTES];
        let mut put = |at: usize, bytes: &[u8]| {
            for (place, &byte) in into.iter_mut().skip(at).zip(bytes) {
                *place = byte;
            }
        };
        put(8, &VERSION.to_le_bytes());
        put(12, &self.pid.to_le_bytes());
        put(16, &self.created_mono_ns.to_le_bytes());
        put(24, &self.pid_namespace.to_le_bytes());
        put(32, &self.parent_pid.to_le_bytes());
        put(36, &(if self.is_passing { FLAG_PASSING } else { 0 }).to_le_bytes());
        put(48, &self.pools_address.to_le_bytes());
        let texts = [(self.name, NAME), (self.configuration, CONFIGURATION), (self.exe, EXE)];
        for (n, (text, room)) in texts.into_iter().enumerate() {
            let text = text.get(..room.len()).unwrap_or(text);
            put(40 + 2 * n, &(text.len() as u16).to_le_bytes());
            put(room.start, text);
        }
        let nothing = [0; WORDS];
        put(STATE_OFFSET + STATE_BYTES - 8, &state::check_of(&nothing).to_le_bytes());
    }

    /// What the bytes of a file say.
    ///
    /// # Errors
    /// When they are no file of a heap, or not one yet, or of another version.
    pub fn parse(bytes: &'a [u8]) -> Result<About<'a>, BadHeapFile> {
        let bad = |why, offset| BadHeapFile { why, offset };
        let bytes: &[u8; HEAP_FILE_BYTES] =
            bytes.first_chunk().ok_or(bad("the file of a heap is cut", bytes.len()))?;
        let number = |at: usize, len: usize| {
            bytes.iter().skip(at).take(len).rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte))
        };
        if number(0, 8) != MAGIC {
            return Err(bad("no magic of a heap's file", 0));
        }
        if number(8, 4) != u64::from(VERSION) {
            return Err(bad("another version of a heap's file", 8));
        }
        let text = |at: usize, room: core::ops::Range<usize>| {
            let text = bytes.get(room).and_then(|room| room.get(..number(at, 2) as usize));
            text.ok_or(bad("a text that is longer than its room", at))
        };
        Ok(About {
            pid: number(12, 4) as u32,
            parent_pid: number(32, 4) as u32,
            created_mono_ns: number(16, 8),
            pid_namespace: number(24, 8),
            is_passing: number(36, 4) & u64::from(FLAG_PASSING) != 0,
            pools_address: number(48, 8),
            name: text(40, NAME)?,
            configuration: text(42, CONFIGURATION)?,
            exe: text(44, EXE)?,
        })
    }
}

impl Update {
    /// As words of [`state::SharedState`].
    pub fn to_words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let all = [self.mono_ns, u64::from(self.is_last)].into_iter().chain(self.counts.to_words());
        for (place, word) in words.iter_mut().zip(all) {
            *place = word;
        }
        words
    }

    /// What the bytes of a file say, from [`STATE_OFFSET`] on; `None` when they were copied while somebody
    /// wrote: copy again.
    pub fn parse(state: &[u8]) -> Option<Update> {
        let [mono_ns, is_last, counts @ ..] = state::parse(state)?;
        Some(Update { mono_ns, is_last: is_last != 0, counts: HeapCounts::from_words(counts) })
    }
}
