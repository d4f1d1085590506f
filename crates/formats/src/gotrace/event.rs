//! Events with their values, and the meaning of those of the heap.

use super::names::HeapLayout;
use super::spec::{Role, Spec};

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'e> {
    /// When, in the file's ticks.
    pub ticks: u64,
    /// Where: the P of layout one, the thread of layout two; 2^64 - 1 for none.
    pub lane: u64,
    /// The generation, by its index.
    pub generation: u32,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its kind.
    pub spec: &'static Spec,
    /// Its values, as many as its kind has.
    pub values: &'e [u64],
    /// Its stack; 0 for none.
    pub stack: u64,
    /// Its text, for `UserLog` of layout one.
    pub text: &'e [u8],
}

/// The meaning of an event for the heap, the same in both layouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Bytes that count as live: an upper bound, as whole spans count when they are taken.
    HeapLive(u64),
    /// Bytes at which the next collection is to be done.
    HeapGoal(u64),
    /// A collection begins.
    GcBegin,
    /// A collection ends: all is marked.
    GcEnd,
    /// The world begins to stop, for this reason: see [`super::Trace::stop_reason`].
    StopBegin(u64),
    /// The world starts again.
    StopEnd,
    /// A P begins to sweep.
    SweepBegin,
    /// It ends sweeping.
    SweepEnd {
        /// Bytes swept.
        swept_bytes: u64,
        /// Bytes reclaimed.
        reclaimed_bytes: u64,
    },
    /// A goroutine that allocates has to help marking.
    AssistBegin,
    /// It has helped enough.
    AssistEnd,
    /// How many goroutines may run at a time.
    Procs(u64),
    /// A goroutine runs in this lane.
    Runs(u64),
    /// The goroutine of this lane stops.
    Stops,
    /// What a goroutine is found to do; the event's stack is its own.
    Status {
        /// The goroutine.
        goroutine: u64,
        /// The thread that it runs on, if it runs.
        thread: Option<u64>,
    },
    /// A goroutine is made.
    Created {
        /// The goroutine.
        goroutine: u64,
        /// A stack of the function that it begins with.
        stack: u64,
    },
    /// A span that was there, or is new.
    Span(Span),
    /// A span is freed.
    SpanFree(u64),
    /// An object that was there when the trace began.
    ObjectThere(Object),
    /// An object is allocated.
    ObjectAlloc(Object),
    /// An object is swept.
    ObjectFree(u64),
    /// Something else.
    Other,
}

/// Pages of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Number of its first page.
    pub id: u64,
    /// Pages.
    pub pages: u64,
    /// Whether it holds objects; else stacks and what the runtime needs.
    pub is_heap: bool,
    /// Class of its objects' size; 0 for one object that takes all of it.
    pub size_class: u64,
    /// Whether it is new.
    pub is_new: bool,
}

/// An object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// Number of its place.
    pub id: u64,
    /// Number of its type in its generation; 0 when it is not known.
    pub type_id: u64,
}

/// Bytes of the objects in a span of a class, since Go 1.16.
const CLASS_BYTES: [u16; 68] = [
    0, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384,
    416, 448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072,
    3200, 3456, 4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568,
    14336, 16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
];

impl Span {
    /// Bits 0: of the kind; 1: of objects without pointers; from 2 on: the class.
    fn new(values: &[u64], is_new: bool) -> Span {
        let kind_class = value(values, 2);
        Span {
            id: value(values, 0),
            pages: value(values, 1),
            is_heap: kind_class & 1 == 0,
            size_class: kind_class >> 2,
            is_new,
        }
    }

    /// Bytes of each object's place in it; `None` for a span without objects or of an unknown class.
    pub fn object_bytes(&self, layout: &HeapLayout) -> Option<u64> {
        let class = usize::try_from(self.size_class).ok().filter(|_| self.is_heap)?;
        match CLASS_BYTES.get(class)? {
            0 => Some(self.pages.saturating_mul(layout.page_bytes)),
            bytes => Some(u64::from(*bytes)),
        }
    }
}

fn value(values: &[u64], n: usize) -> u64 {
    values.get(n).copied().unwrap_or(0)
}

/// A status of layout two: the goroutine runs.
const RUNNING: u64 = 2;

impl Event<'_> {
    /// A value by its place.
    pub fn value(&self, n: usize) -> u64 {
        value(self.values, n)
    }

    /// What it means for the heap.
    #[inline]
    pub fn meaning(&self) -> Meaning {
        let v = |n| self.value(n);
        let object = || Object { id: v(0), type_id: v(1) };
        match self.spec.role {
            Role::HeapLive => Meaning::HeapLive(v(0)),
            Role::HeapGoal => Meaning::HeapGoal(v(0)),
            Role::GcBegin => Meaning::GcBegin,
            Role::GcEnd => Meaning::GcEnd,
            Role::StopBegin => Meaning::StopBegin(v(0)),
            Role::StopEnd => Meaning::StopEnd,
            Role::SweepBegin => Meaning::SweepBegin,
            Role::SweepEnd => Meaning::SweepEnd { swept_bytes: v(0), reclaimed_bytes: v(1) },
            Role::AssistBegin => Meaning::AssistBegin,
            Role::AssistEnd => Meaning::AssistEnd,
            Role::Procs => Meaning::Procs(v(0)),
            Role::Runs => Meaning::Runs(v(0)),
            Role::Stops => Meaning::Stops,
            Role::Status => {
                Meaning::Status { goroutine: v(0), thread: Some(v(1)).filter(|_| v(2) == RUNNING) }
            }
            Role::Created => Meaning::Created { goroutine: v(0), stack: v(1) },
            Role::SpanThere => Meaning::Span(Span::new(self.values, false)),
            Role::SpanAlloc => Meaning::Span(Span::new(self.values, true)),
            Role::SpanFree => Meaning::SpanFree(v(0)),
            Role::ObjectThere => Meaning::ObjectThere(object()),
            Role::ObjectAlloc => Meaning::ObjectAlloc(object()),
            Role::ObjectFree => Meaning::ObjectFree(v(0)),
            Role::Other => Meaning::Other,
        }
    }
}

/// An event as it was read; its text is in the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) spec: &'static Spec,
    pub(crate) ticks: u64,
    pub(crate) offset: u64,
    pub(crate) values: [u64; super::limits::VALUES_MAX],
    pub(crate) stack: u64,
    /// Where its text is in the window, and how long.
    pub(crate) text: (usize, usize),
}
