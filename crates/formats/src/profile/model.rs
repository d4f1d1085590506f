//! What a profile holds, as plain data.

/// Who writes such files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// `profile.proto`: Go, pprof, and what `convert --to pprof` writes.
    Pprof,
    /// The text of gperftools and jemalloc.
    HeapText,
    /// The same of Go, `debug=1`.
    GoText,
    /// valgrind's DHAT.
    Dhat,
    /// valgrind's massif.
    Massif,
    /// Go's execution tracer.
    GoTrace,
}

impl Origin {
    /// What a person calls such a file, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Pprof => "a pprof profile",
            Origin::HeapText => "a heap profile of gperftools or jemalloc",
            Origin::GoText => "a heap profile of Go as text",
            Origin::Dhat => "a profile of DHAT",
            Origin::Massif => "a profile of massif",
            Origin::GoTrace => "a trace of Go",
        }
    }
}

impl Origin {
    /// What programs call it.
    pub fn key(self) -> &'static str {
        match self {
            Origin::Pprof => "pprof",
            Origin::HeapText => "heap-text",
            Origin::GoText => "go-text",
            Origin::Dhat => "dhat",
            Origin::Massif => "massif",
            Origin::GoTrace => "go-trace",
        }
    }
}

/// A call's number in [`Profile::calls`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CallNumber(pub u32);

impl CallNumber {
    /// No call: what hangs on it has an unknown stack.
    pub const ROOT: CallNumber = CallNumber(0);
}

/// A frame's number in [`Profile::frames`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FrameNumber(pub u32);

/// A frame under the one that called it. A caller has a smaller number, but for the root, which is its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallNode {
    /// The caller.
    pub parent: CallNumber,
    /// What was called.
    pub frame: FrameNumber,
}

/// A function at a place in its source.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Line {
    /// Its name.
    pub function: String,
    /// The source file; empty when it is not known.
    pub file: String,
    /// The line in it; 0 when it is not known.
    pub line: u64,
}

/// A file that was mapped where an address is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mapped {
    /// Its path.
    pub path: String,
    /// Its GNU build id; empty when it is not known.
    pub build_id: Vec<u8>,
}

/// A frame of a stack.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Frame {
    /// The file names it: the functions that are inlined there, innermost first.
    Named(Vec<Line>),
    /// It is an address within a file, or in no file that is known.
    Address {
        /// The file.
        module: Option<Mapped>,
        /// The address in it, or the address itself.
        address: u64,
        /// Whether the call is before it.
        is_return_address: bool,
    },
}

/// Blocks and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// Blocks; 0 where the profile does not count them.
    pub blocks: u64,
    /// Bytes; 0 where it does not say.
    pub bytes: u64,
}

/// The sums of one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackSums {
    /// Its innermost call.
    pub call: CallNumber,
    /// Allocated in all.
    pub allocated: Sum,
    /// Live when the profile was written.
    pub live: Sum,
    /// Live when the heap was largest.
    pub at_peak: Sum,
    /// How long its blocks lived, added up, in the file's unit.
    pub lived: u64,
}

/// What a profile says of one kind of sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unit {
    /// Numbers of blocks.
    pub blocks: bool,
    /// Bytes.
    pub bytes: bool,
}

impl Unit {
    /// Both.
    pub const BOTH: Unit = Unit { blocks: true, bytes: true };

    /// Whether there is anything.
    pub fn is_any(self) -> bool {
        self.blocks || self.bytes
    }
}

/// Which sums a profile has; the others are not zero, they are not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Known {
    /// Of what was allocated in all.
    pub allocated: Unit,
    /// Of what was live when it was written.
    pub live: Unit,
    /// Of what was live when the heap was largest.
    pub at_peak: Unit,
}

impl Known {
    /// Whether it has any.
    pub fn is_any(&self) -> bool {
        [self.allocated, self.live, self.at_peak].into_iter().any(Unit::is_any)
    }
}

/// Whether sums are exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rate {
    /// The file does not say.
    #[default]
    Unknown,
    /// Each block was recorded.
    Exact,
    /// A sample for so many bytes in the mean: the sums are estimates.
    Sampled {
        /// The mean.
        mean_bytes: u64,
    },
}

/// A profile as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Who wrote it.
    pub origin: Origin,
    /// Sums over all stacks.
    pub whole: StackSums,
    /// Which of them the file has.
    pub known: Known,
    /// Whether they are exact.
    pub rate: Rate,
    /// When it was written, ns since 1970; 0 when the file does not say.
    pub real_ns: u64,
    /// Of how long a time it is, ns; 0 when the file does not say.
    pub duration_ns: u64,
    /// The most bytes that the heap ever had, where stacks are of a moment with fewer; 0 when it is not told apart.
    pub heap_max_bytes: u64,
    /// Whether what is counted are pages of memory and not blocks of the heap.
    pub counts_pages: bool,
    /// The size of the heap at moments: when, in the file's unit, and bytes; nothing where the file has none.
    pub curve: Vec<(u64, u64)>,
    /// What the file calls the unit of that time.
    pub curve_unit: String,
    /// What the file calls the unit of how long blocks lived; empty where it does not say how long.
    pub lived_unit: String,
    /// The program; empty when the file does not say.
    pub command: String,
    /// What has to be known to read its figures, in words.
    pub notes: Vec<String>,
    /// What could not be taken as the file has it, in words.
    pub problems: Vec<String>,
}

/// Sums by stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// What is known of it as a whole.
    pub about: About,
    /// The calls; the first is the root.
    pub calls: Vec<CallNode>,
    /// What calls are of.
    pub frames: Vec<Frame>,
    /// The sums of stacks, in the order of their calls, each stack once.
    pub stacks: Vec<StackSums>,
}
