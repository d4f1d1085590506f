//! Events as memtrace has them, with their time and place.

use super::locations::{LocationCode, Locations};

/// The number of an object that was sampled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ObjectId(pub i64);

/// Where an object was allocated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Heap {
    /// In the minor heap.
    Minor = 0,
    /// In the major heap at once.
    Major = 1,
    /// Outside OCaml's heaps.
    External = 2,
}

impl Heap {
    /// All, in the order of their numbers.
    pub const ALL: [Heap; 3] = [Heap::Minor, Heap::Major, Heap::External];
}

/// An object that was sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alloc<'a> {
    /// Its number.
    pub id: ObjectId,
    /// Its length in words, without the header.
    pub length_words: i64,
    /// How many of its words were drawn.
    pub samples: i64,
    /// Where it lies.
    pub heap: Heap,
    /// How many outermost frames are those of the stack before it in the domain, by the file.
    pub common: i64,
    /// How many outermost frames are known to be those of the stack before it in the domain; 0 when that is
    /// not known. A writer does not compare these.
    pub reused_frames: usize,
    /// The stack that allocated it, outermost first; empty when stacks are not read.
    pub stack: &'a [LocationCode],
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// An object was allocated and sampled.
    Alloc(Alloc<'a>),
    /// A sampled object survived the minor heap.
    Promote(ObjectId),
    /// A sampled object is no longer there.
    Collect(ObjectId),
}

/// When and where an event was.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Since the start of the trace, us.
    pub time_us: i64,
    /// The domain.
    pub domain: u16,
    /// Where the event begins in the file.
    pub offset: u64,
    /// What the codes in stacks mean, as far as the file was read.
    pub locations: &'a Locations,
}

/// The trace as a whole.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// How probable it was for a word to be drawn.
    pub sample_rate: f64,
    /// Bits of a word.
    pub word_bits: u8,
    /// Path of the program.
    pub executable: Vec<u8>,
    /// Name of the machine.
    pub host: Vec<u8>,
    /// Parameters of OCaml's runtime.
    pub runtime_params: Vec<u8>,
    /// The traced process.
    pub pid: i64,
    /// The program's description of the trace; may be empty.
    pub context: Vec<u8>,
    /// When the trace starts, us since 1970.
    pub start_us: i64,
    /// The domain that started it.
    pub domain: u16,
}

impl Info {
    /// Bytes of a word.
    pub fn word_bytes(&self) -> u64 {
        u64::from(self.word_bits / 8).max(1)
    }
}
