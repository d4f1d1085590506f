//! Processes and threads, and how they ended.

use heapscribe_formats::{Evicted, ResidentSample};

use super::amounts::{Amount, Holder, Peak, WholePeak};
use super::bounds::FigureBounds;
use super::coverage::Coverage;
use super::heap::Heap;
use super::mappings::Mappings;
use super::patterns::Growth;
use super::totals::{Dropped, Totals};

/// One process: a program's image, or a forked child.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Process {
    /// The kernel's number.
    pub pid: u32,
    /// The parent's.
    pub parent_pid: u32,
    /// Index of the recorded process that was its parent when it began.
    pub parent: Option<usize>,
    /// Whether it is a forked child that exec'd nothing: it holds its parent's blocks unseen.
    pub is_fork: bool,
    /// Path of the program.
    pub exe: Vec<u8>,
    /// Command line.
    pub command: Vec<Vec<u8>>,
    /// First moment, ns.
    pub begin_ns: u64,
    /// Last moment, ns.
    pub end_ns: u64,
    /// What it did.
    pub totals: Totals,
    /// When it held the most bytes, and who held them.
    pub peak: Peak,
    /// Of a ring, where it was higher before the window, and that is known.
    pub whole_peak: Option<WholePeak>,
    /// Never freed; live at the end of the recording when that was first.
    pub leaked: Amount,
    /// Who holds `leaked`, in the order of the nodes.
    pub leaked_stacks: Vec<Holder>,
    /// Who of them holds more at the end of its life than at half of it.
    pub growth: Vec<Growth>,
    /// Whose large blocks were held for most of its life and freed at its end, in the order of the nodes: all of them
    /// were live at one time.
    pub freed_late: Vec<Holder>,
    /// Half of its life, ns: what [`Growth`] is over.
    pub half_life_ns: u64,
    /// Blocks freed by their own thread before it allocated again.
    pub temporary: Amount,
    /// Highest resident set, bytes; 0 when none was sampled.
    pub rss_peak_bytes: u64,
    /// How much of the growth of its memory the recorded heap explains; `None` where that is not known.
    pub coverage: Option<Coverage>,
    /// What it mapped itself, where that was recorded.
    pub mappings: Option<Mappings>,
    /// Of what its resident memory was made, from time to time.
    pub resident: Vec<ResidentSample>,
    /// The heap under it, when that has statistics.
    pub heap: Option<Heap>,
    /// How it ended.
    pub ended: Ended,
    /// Whether its end is not in the recording, nor what else there was up to it, and nobody counted that.
    pub is_unfinished: bool,
    /// Where the recording is damaged so that nobody knows which events of it were there: the first such byte of the file.
    pub gap_at: Option<u64>,
    /// What a ring did not keep of it.
    pub evicted: Evicted,
    /// What is missing, by reason; only reasons that occurred.
    pub dropped: Vec<Dropped>,
    /// What that leaves of the figures; none when it touches none of them.
    pub bounds: Option<FigureBounds>,
    /// When nothing was recorded of it: from and to, ns.
    pub off: Vec<(u64, u64)>,
    /// Peak memory of the recorder inside this process, bytes.
    pub recorder_bytes: u64,
}

/// A thread of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// Index into [`super::Answer::processes`].
    pub process: usize,
    /// Its number in the events of that process.
    pub id: u32,
    /// The kernel's number; 0 when it is not known.
    pub tid: u32,
    /// Its name when it was first seen.
    pub name: Vec<u8>,
    /// What it did; `frees_by_others` counts the blocks of other threads that it freed.
    pub totals: Totals,
    /// Blocks that it freed before it allocated again.
    pub temporary: Amount,
}

/// Stacks that the recorder took a second time, from scratch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackCheck {
    /// How many.
    pub verified: u64,
    /// How many of them were different: each is a fault of the recorder.
    pub different: u64,
}

impl StackCheck {
    /// Adds those of another process.
    pub(crate) fn add(&mut self, other: &StackCheck) {
        self.verified = self.verified.saturating_add(other.verified);
        self.different = self.different.saturating_add(other.different);
    }
}

/// How a process ended, as far as the recording knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ended {
    /// The trace does not say.
    #[default]
    Unknown,
    /// It exited by itself.
    Exited,
    /// This signal killed it.
    Killed(u8),
    /// It has ended, and nobody saw how.
    Unseen,
    /// It became another program, which is another process here.
    Execed,
    /// The recording ended before it.
    Abandoned,
}

impl Ended {
    /// Whether it was seen to its end, so that what was live then is leaked.
    pub fn is_end(self) -> bool {
        !matches!(self, Ended::Unknown | Ended::Abandoned)
    }
}

/// How the recorded command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}
