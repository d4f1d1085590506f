//! The answer: parts, pins, and what would help.

use heapscribe_formats::{
    FreeKind, HeapInfo, HeapSample, ListsRead, MemoryMap, RESIDENT_PARTS, ResidentSample,
};

use crate::answer::NodeId;

/// Of what the resident memory of a process is made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Memory {
    /// When it was read, and how much the program allocated and freed between blocks and pages.
    pub map: MemoryMap,
    /// Bytes in memory, as the kernel counts them; all parts sum to it.
    pub resident_bytes: u64,
    /// Bytes that are swapped out.
    pub swapped_bytes: u64,
    /// The parts, in the order of [`PartName::ALL`].
    pub parts: Vec<Part>,
    /// Where the heap itself has what is free.
    pub lists: HeapLists,
    /// The pools of our pool heap, by address; none where they were not read.
    pub pools: Vec<PoolFigures>,
    /// What the heap counted last, where it counts.
    pub statistics: Option<(HeapInfo, HeapSample)>,
    /// Of glibc's heap, what `malloc_trim(0)` would give back now: its free pages, but for those at the end of an arena.
    pub trim_bytes: Option<u64>,
    /// Free pages above the last live block of arenas, bytes.
    pub arena_top_bytes: u64,
    /// Bytes of live blocks that are not in memory: never written to, or swapped out.
    pub untouched_bytes: u64,
    /// The share of resident anonymous memory that is the recorded heap's, of that which is the heap's or nobody's; 0 to 1.
    pub coverage: f64,
    /// Who keeps pages that are nearly empty; most first.
    pub pinned: Vec<Pinned>,
    /// Blocks at the top of a heap that free memory is below of; most below first.
    pub tops: Vec<TopBlock>,
    /// Anonymous mappings without a recorded block; largest first.
    pub others: Vec<OtherMapping>,
    /// Whether blocks were sampled: then the heap is one part, and nobody is charged.
    pub is_sampled: bool,
    /// Whether blocks, mappings or pages are missing of the file: then nothing of all this is known.
    pub is_cut: bool,
    /// Blocks outside of all mappings: allocated or freed while the two were read.
    pub unplaced_blocks: u64,
    /// What could not be read, in words.
    pub problems: Vec<String>,
}

/// Where the heap has what is free.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapLists {
    /// Whether its lists were read.
    pub read: ListsRead,
    /// What is in them, in the order of [`FreeKind::ALL`]; empty when they were not read.
    pub parts: Vec<FreePart>,
    /// What is in none of them: blocks from before the recording, and what changed while they were read.
    pub unlisted_bytes: u64,
}

/// What is in lists of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FreePart {
    /// Which ones.
    pub kind: FreeKind,
    /// Bytes of it in memory.
    pub bytes: u64,
    /// Of these, bytes in pages that hold no live block.
    pub in_free_pages_bytes: u64,
}

/// A pool of our pool heap. Bytes of blocks are with the word before each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolFigures {
    /// Its first address.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// What blocks can lie in, free or used.
    pub pool_bytes: u64,
    /// Of the pool in memory.
    pub resident_bytes: u64,
    /// In live blocks.
    pub used_bytes: u64,
    /// How many they are.
    pub blocks: u64,
    /// The rest of `pool_bytes`.
    pub free_bytes: u64,
    /// Of it in no free block of the pool: in caches of threads, or blocks from before the recording.
    pub cached_bytes: u64,
    /// Free blocks of the pool.
    pub free_blocks: u64,
    /// The largest request that one of them serves.
    pub largest_free_bytes: u64,
}

/// A part of the resident memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Which one.
    pub name: PartName,
    /// How much it is.
    pub bytes: u64,
}

/// The parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PartName {
    /// What the program asked for and has not freed.
    Live,
    /// Headers and rounding of live blocks.
    Rounding,
    /// What is behind a block in a mapping of its own, up to the end of its last page, and its header.
    MappedTails,
    /// Free memory in pages that also hold live blocks.
    FreeInUsedPages,
    /// Free pages between live blocks.
    FreePages,
    /// Free pages above the last live block of a heap or arena.
    FreePagesAtTop,
    /// Arenas without a live block; of another heap mappings of its own without one.
    FreeArenas,
    /// The heap as a whole, when blocks were sampled.
    SampledHeap,
    /// Stacks of threads, those too that ended and whose stacks are kept.
    Stacks,
    /// Code and data of the program and its libraries, and mapped files.
    Files,
    /// Shared memory.
    SharedMemory,
    /// The recorder's own.
    Recorder,
    /// Anonymous mappings without a recorded block.
    OtherAnonymous,
    /// What the kernel counts and no page that was seen explains.
    Unexplained,
}

impl PartName {
    /// All of them, in the order in which they are listed.
    pub const ALL: [PartName; RESIDENT_PARTS] = [
        PartName::Live,
        PartName::Rounding,
        PartName::MappedTails,
        PartName::FreeInUsedPages,
        PartName::FreePages,
        PartName::FreePagesAtTop,
        PartName::FreeArenas,
        PartName::SampledHeap,
        PartName::Stacks,
        PartName::Files,
        PartName::SharedMemory,
        PartName::Recorder,
        PartName::OtherAnonymous,
        PartName::Unexplained,
    ];

    /// Whether it belongs to the recorded heap.
    pub fn is_heap(self) -> bool {
        self <= PartName::SampledHeap
    }

    /// Its name in JSON, which does not change.
    pub fn key(self) -> &'static str {
        match self {
            PartName::Live => "live",
            PartName::Rounding => "rounding",
            PartName::MappedTails => "mapped_tails",
            PartName::FreeInUsedPages => "free_in_used_pages",
            PartName::FreePages => "free_pages",
            PartName::FreePagesAtTop => "free_pages_at_top",
            PartName::FreeArenas => "free_arenas",
            PartName::SampledHeap => "sampled_heap",
            PartName::Stacks => "stacks",
            PartName::Files => "files",
            PartName::SharedMemory => "shared_memory",
            PartName::Recorder => "recorder",
            PartName::OtherAnonymous => "other_anonymous",
            PartName::Unexplained => "unexplained",
        }
    }
}

/// What the blocks of a stack keep in pages that are nearly empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pinned {
    /// The stack's innermost frame.
    pub node: NodeId,
    /// Blocks of it that have a byte in such a page.
    pub blocks: u64,
    /// Their bytes in these pages.
    pub live_bytes: u64,
    /// Its share of these pages.
    pub resident_bytes: u64,
    /// Age of the youngest of the blocks, ns.
    pub youngest_ns: u64,
    /// Age of the oldest.
    pub oldest_ns: u64,
    /// Resident bytes of all pages, nearly empty or not, in which only blocks of this stack are: what comes back, besides
    /// what does now, when its blocks are freed. At the end of an arena nothing does.
    pub alone_bytes: u64,
    /// The same when the blocks of the stacks before it in the list are freed, too.
    pub with_previous_bytes: u64,
    /// The same when these blocks are not freed, but have pages of their own: less what they take there.
    pub in_pool_bytes: u64,
}

/// The last live block of a heap that grows at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TopBlock {
    /// Its address.
    pub address: u64,
    /// Its size.
    pub size_bytes: u64,
    /// The stack that allocated it.
    pub node: NodeId,
    /// How long ago, ns.
    pub age_ns: u64,
    /// Whether it is in the heap that grows by brk; else in an arena.
    pub is_brk: bool,
    /// Resident free pages below it, bytes: the heap cannot give them back by shrinking at its end, as long as this block
    /// and those before it are there.
    pub below_bytes: u64,
    /// Resident bytes of its own pages and of the free ones up to the live block before it: what the end of the heap could
    /// shrink by if this block alone were freed.
    pub alone_bytes: u64,
    /// Resident free bytes above it.
    pub above_bytes: u64,
}

/// An anonymous mapping without a recorded block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OtherMapping {
    /// Its first address.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Resident bytes that are nobody's.
    pub resident_bytes: u64,
    /// Its name, when it has one.
    pub name: Vec<u8>,
}

impl Memory {
    /// How much a part is.
    pub fn bytes_of(&self, name: PartName) -> u64 {
        self.parts.iter().find(|part| part.name == name).map_or(0, |part| part.bytes)
    }

    /// How much the recorded heap is, with all that it keeps.
    pub fn heap_bytes(&self) -> u64 {
        self.parts.iter().filter(|part| part.name.is_heap()).map(|part| part.bytes).sum()
    }

    /// What the heap keeps, bytes: all of it but live blocks, with their headers and rounding.
    pub fn kept_bytes(&self) -> u64 {
        let used = [PartName::Live, PartName::Rounding, PartName::MappedTails, PartName::SampledHeap];
        self.heap_bytes().saturating_sub(used.iter().map(|part| self.bytes_of(*part)).sum())
    }

    /// Its figures as a sample of a trace, whose blocks are of this moment.
    pub fn sample(&self, mono_ns: u64) -> ResidentSample {
        ResidentSample {
            mono_ns,
            resident_bytes: self.resident_bytes,
            pinned_bytes: self.pinned_bytes(),
            is_sampled: self.is_sampled,
            parts: PartName::ALL.map(|part| self.bytes_of(part)),
            sections: Vec::new(),
        }
    }

    /// Pages that are nearly empty, bytes: they are charged in whole.
    pub fn pinned_bytes(&self) -> u64 {
        self.pinned.iter().map(|of| of.resident_bytes).sum()
    }
}
