//! Single objects, as the experiment of Go 1.23 traces them. An object's event has its place and its type; how
//! large it is follows from the span that it lies in.

use std::collections::{BTreeMap, HashMap};

use heapscribe_formats::Source;
use heapscribe_formats::gotrace::{Event, HeapLayout, Meaning, Object, Span, Trace};

use super::answer::{Allocator, Level, Objects, TypeSums};
use super::goroutines::SiteId;
use crate::answer::Amount;
use crate::counters::Histogram;
use crate::sampling::Weight;

/// Where Go's heap begins when the trace does not say: only differences matter.
const DEFAULT_LAYOUT: HeapLayout =
    HeapLayout { begin: 0, page_bytes: 8192, object_align_bytes: 8, stack_align_bytes: 2048 };

/// When an object was allocated, and what the goroutine began with that did it.
#[derive(Clone, Copy)]
struct ObjectBirth {
    ns: u64,
    site: Option<SiteId>,
}

/// An object that is there.
#[derive(Clone, Copy)]
struct LiveObject {
    size_bytes: u64,
    /// Its place in the list of allocators.
    allocator: usize,
    /// When it was allocated; `None` when it was there before.
    birth: Option<ObjectBirth>,
}

/// Sums over the objects of one type that goroutines of one kind allocated.
#[derive(Clone, Copy, Default)]
struct AllocatorSums {
    type_index: usize,
    site: Option<SiteId>,
    allocated: Amount,
    live: Amount,
}

pub(super) struct ObjectTable {
    layout: HeapLayout,
    spans: BTreeMap<u64, Span>,
    objects: HashMap<u64, LiveObject>,
    /// Types by generation and number, and by name.
    type_numbers: HashMap<(u32, u64), usize>,
    type_names: HashMap<Vec<u8>, usize>,
    sums: Vec<AllocatorSums>,
    sums_of: HashMap<(usize, Option<SiteId>), usize>,
    lifetimes: Histogram,
    answer: Objects,
    events: u64,
    peak_event: Option<u64>,
    live_bytes: u64,
}

impl ObjectTable {
    pub(super) fn new<S: Source>(trace: &Trace<S>) -> ObjectTable {
        ObjectTable {
            layout: trace.layout().unwrap_or(DEFAULT_LAYOUT),
            spans: BTreeMap::new(),
            objects: HashMap::new(),
            type_numbers: HashMap::new(),
            type_names: HashMap::new(),
            sums: Vec::new(),
            sums_of: HashMap::new(),
            lifetimes: Histogram::default(),
            answer: Objects::default(),
            events: 0,
            peak_event: None,
            live_bytes: 0,
        }
    }

    /// Takes the next event: when it was, and what the goroutine began with that runs there.
    pub(super) fn event<S: Source>(
        &mut self,
        trace: &Trace<S>,
        event: &Event<'_>,
        meaning: &Meaning,
        ns: u64,
        site: Option<SiteId>,
    ) {
        match *meaning {
            Meaning::Span(span) => {
                self.spans.insert(span.id, span);
            }
            Meaning::SpanFree(id) => {
                self.spans.remove(&id);
            }
            Meaning::ObjectThere(object) => self.alloc(trace, event, object, None),
            Meaning::ObjectAlloc(object) => self.alloc(trace, event, object, Some(ObjectBirth { ns, site })),
            Meaning::ObjectFree(id) => self.free(id, ns),
            _ => return,
        }
        self.events += 1;
        if self.live_bytes > self.answer.peak.bytes {
            self.answer.peak = Level { ns, bytes: self.live_bytes };
            self.peak_event = Some(self.events);
        }
    }

    /// Events of objects and spans so far.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// After how many of them objects held most bytes.
    pub(super) fn peak_event(&self) -> Option<u64> {
        self.peak_event
    }

    fn alloc<S: Source>(
        &mut self,
        trace: &Trace<S>,
        event: &Event<'_>,
        object: Object,
        birth: Option<ObjectBirth>,
    ) {
        let size_bytes = self.size_bytes(object.id);
        self.answer.without_size += u64::from(size_bytes.is_none());
        let size_bytes = size_bytes.unwrap_or(0);
        let type_index = self.type_index(trace, event.generation, object.type_id);
        let allocator = self.allocator(type_index, birth.and_then(|birth| birth.site));
        let of_type = &mut self.answer.types[type_index];
        match birth {
            Some(_) => {
                let sums = &mut self.sums[allocator];
                for sum in [&mut self.answer.allocated, &mut of_type.allocated, &mut sums.allocated] {
                    add(sum, size_bytes);
                }
            }
            None => {
                [&mut self.answer.there, &mut of_type.there].into_iter().for_each(|sum| add(sum, size_bytes))
            }
        }
        add(&mut self.sums[allocator].live, size_bytes);
        self.live_bytes = self.live_bytes.saturating_add(size_bytes);
        if let Some(old) = self.objects.insert(object.id, LiveObject { size_bytes, allocator, birth }) {
            self.answer.replaced += 1;
            self.leave(&old);
        }
    }

    fn free(&mut self, id: u64, ns: u64) {
        let Some(object) = self.objects.remove(&id) else {
            self.answer.unknown_frees += 1;
            return;
        };
        self.leave(&object);
        let of_type = &mut self.answer.types[self.sums[object.allocator].type_index];
        add(&mut of_type.freed, object.size_bytes);
        add(&mut self.answer.freed, object.size_bytes);
        if let Some(birth) = object.birth {
            of_type.lived.add(birth.ns, ns);
            self.lifetimes.add(ns.saturating_sub(birth.ns), Weight::one(object.size_bytes));
        }
    }

    fn leave(&mut self, object: &LiveObject) {
        let live = &mut self.sums[object.allocator].live;
        live.blocks -= 1;
        live.bytes = live.bytes.saturating_sub(object.size_bytes);
        self.live_bytes = self.live_bytes.saturating_sub(object.size_bytes);
    }

    /// Bytes of an object's place: all of those in a span are as large.
    fn size_bytes(&self, id: u64) -> Option<u64> {
        let page = id.checked_mul(self.layout.object_align_bytes)?.checked_div(self.layout.page_bytes)?;
        let (first, span) = self.spans.range(..=page).next_back()?;
        span.object_bytes(&self.layout).filter(|_| page - first < span.pages)
    }

    fn type_index<S: Source>(&mut self, trace: &Trace<S>, generation: u32, id: u64) -> usize {
        if let Some(index) = self.type_numbers.get(&(generation, id)) {
            return *index;
        }
        let name = trace.type_of(generation, id).map_or(&b""[..], |of| of.name);
        let types = &mut self.answer.types;
        let index = *self.type_names.entry(name.to_vec()).or_insert_with(|| {
            types.push(TypeSums { name: name.to_vec(), ..TypeSums::default() });
            types.len() - 1
        });
        self.type_numbers.insert((generation, id), index);
        index
    }

    fn allocator(&mut self, type_index: usize, site: Option<SiteId>) -> usize {
        let sums = &mut self.sums;
        *self.sums_of.entry((type_index, site)).or_insert_with(|| {
            sums.push(AllocatorSums { type_index, site, ..AllocatorSums::default() });
            sums.len() - 1
        })
    }

    /// What each allocator's objects hold now.
    pub(super) fn held(&self) -> Vec<(usize, Amount)> {
        self.sums.iter().enumerate().map(|(n, sums)| (n, sums.live)).collect()
    }

    /// The answer: allocators come in the order of their first object, in which the peak's are too.
    pub(super) fn finish(self, at_peak: &[(usize, Amount)], sites: Vec<Vec<u8>>) -> Objects {
        let mut answer = self.answer;
        let held: HashMap<usize, Amount> = at_peak.iter().copied().collect();
        for sums in &self.sums {
            for live in [&mut answer.live, &mut answer.types[sums.type_index].live] {
                live.blocks += sums.live.blocks;
                live.bytes = live.bytes.saturating_add(sums.live.bytes);
            }
        }
        let mut order: Vec<usize> = (0..answer.types.len()).collect();
        let key = |of: &TypeSums| of.there.bytes.saturating_add(of.allocated.bytes);
        order.sort_by_key(|n| (std::cmp::Reverse(key(&answer.types[*n])), answer.types[*n].name.clone()));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, from)| place[*from] = to);
        let allocator = |(n, sums): (usize, &AllocatorSums)| Allocator {
            goroutine: sums.site.and_then(|site| sites.get(site.index()).cloned()),
            type_index: place[sums.type_index],
            allocated: sums.allocated,
            at_peak: held.get(&n).copied().unwrap_or_default(),
            live: sums.live,
        };
        answer.allocators = self.sums.iter().enumerate().map(allocator).collect();
        answer.types = order.iter().map(|n| answer.types[*n].clone()).collect();
        answer.lifetimes = self.lifetimes.lifetimes();
        answer
    }
}

fn add(sum: &mut Amount, bytes: u64) {
    sum.blocks += 1;
    sum.bytes = sum.bytes.saturating_add(bytes);
}
