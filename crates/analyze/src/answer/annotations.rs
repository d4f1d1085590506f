//! Annotations of programs: marks and sections.

use heapscribe_formats::SectionLeft;

use super::amounts::{Amount, Holder};
use super::calls::{CallCounts, StackCalls};

/// Marks of one name in one process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    /// Index into [`super::Answer::processes`].
    pub process: usize,
    /// Its name.
    pub name: Vec<u8>,
    /// How often.
    pub count: u64,
    /// When first, ns.
    pub first_ns: u64,
    /// When last, ns.
    pub last_ns: u64,
    /// Heap of the process then first, bytes; none when a ring has evicted events of that time.
    pub heap_at_first_bytes: Option<u64>,
    /// Heap of the process then last, bytes.
    pub heap_at_last_bytes: Option<u64>,
}

/// Sections of one name, in all processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Section {
    /// Its name.
    pub name: Vec<u8>,
    /// How many began.
    pub count: u64,
    /// How many ended.
    pub ended: u64,
    /// How long those took together that ended, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// What was allocated inside, in sections inside it too.
    pub allocated: Amount,
    /// By whom, in the order of the nodes.
    pub stacks: Vec<Holder>,
    /// Calls of the heap inside, whatever they were for.
    pub calls: CallCounts,
    /// The same by stack, the one with most calls first; frees by who had asked for the block.
    pub calls_by_stack: Vec<StackCalls>,
    /// What they had left when their process was looked at after they had ended (`record --memory-map at=sections`).
    pub left: SectionsLeft,
}

/// What sections of one name had left, each when its process was looked at first after its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SectionsLeft {
    /// Sections after which the process was looked at.
    pub sections: u64,
    /// What was allocated in them and live then.
    pub live: Amount,
    /// What these blocks had of nearly empty pages, bytes.
    pub pinned_bytes: u64,
    /// The most of one section.
    pub most_pinned_bytes: u64,
}

impl SectionsLeft {
    /// Adds a section.
    pub(crate) fn add(&mut self, of: &SectionLeft) {
        self.sections += 1;
        let live = Amount { blocks: of.blocks, bytes: of.bytes };
        self.live = Amount {
            blocks: self.live.blocks.saturating_add(live.blocks),
            bytes: self.live.bytes.saturating_add(live.bytes),
        };
        self.pinned_bytes = self.pinned_bytes.saturating_add(of.pinned_bytes);
        self.most_pinned_bytes = self.most_pinned_bytes.max(of.pinned_bytes);
    }
}
