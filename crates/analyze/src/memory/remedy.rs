//! What would come back if blocks were freed: computed over the pages, and not guessed. A page of the heap is free when all
//! blocks in it are, so with a list of stacks whose blocks are freed one after the other it is free with the last of its own.
//!
//! A free page comes back by `malloc_trim`, with one exception: glibc keeps what is free at the end of an arena. So there a
//! page comes back only as long as a block is left on a later page.

use std::collections::HashMap;

use super::answer::Pinned;
use super::regions::{Class, Region};
use super::sweep::{Heap, UsedPage, Visit};

/// The place in the list of a stack that is not in it: its blocks are never freed.
const NEVER: usize = usize::MAX;

/// A page, by the places of the stacks whose blocks are in it.
#[derive(Clone, Copy, Debug)]
struct PageOf {
    region: usize,
    bytes: u64,
    first: usize,
    last: usize,
}

/// Collects what comes back with each stack of a list.
#[derive(Debug)]
pub(super) struct Remedy {
    /// The place of each stack in the list.
    places: HashMap<u32, usize>,
    pages: Vec<PageOf>,
    /// Bytes that each stack's blocks take in memory, with headers and rounding.
    taken: Vec<u64>,
}

impl Visit for Remedy {
    fn page(&mut self, heap: &Heap<'_>, used: &UsedPage<'_>) {
        if !used.page.is_resident || heap.regions[used.region].class == Class::Fixed {
            return;
        }
        let (mut first, mut last) = (NEVER, 0);
        for share in used.shares {
            let at = self.places.get(&heap.blocks[share.block].node).copied().unwrap_or(NEVER);
            (first, last) = (first.min(at), last.max(at));
            if at != NEVER {
                self.taken[at] += share.used_bytes;
            }
        }
        self.pages.push(PageOf { region: used.region, bytes: used.page.bytes, first, last });
    }
}

impl Remedy {
    pub(super) fn new(pinned: &[Pinned]) -> Remedy {
        let places = pinned.iter().enumerate().map(|(at, of)| (of.node.0, at)).collect();
        Remedy { places, pages: Vec::new(), taken: vec![0; pinned.len()] }
    }

    /// Writes it into the list.
    pub(super) fn finish(&self, regions: &[Region], page_bytes: u64, pinned: &mut [Pinned]) {
        let stacks = pinned.len();
        // What comes with each stack, less what comes no more with it.
        let (mut alone, mut comes, mut stays) = (vec![0; stacks], vec![0; stacks], vec![0; stacks]);
        let mut later = Later::default();
        for page in self.pages.iter().rev() {
            let keeps_end = regions[page.region].class == Class::Arena;
            later.enter(page.region);
            if page.last != NEVER && (!keeps_end || later.last.is_some_and(|last| last > page.last)) {
                comes[page.last] += page.bytes;
                if let Some(last) = later.last.filter(|last| keeps_end && *last != NEVER) {
                    stays[last] += page.bytes;
                }
            }
            let is_alone = page.first == page.last && page.last != NEVER;
            if is_alone && (!keeps_end || later.has_other(page.last)) {
                alone[page.last] += page.bytes;
            }
            later.add(page);
        }
        let (mut back, mut taken): (u64, u64) = (0, 0);
        for (at, of) in pinned.iter_mut().enumerate() {
            back = (back + comes[at]).saturating_sub(stays[at]);
            taken += self.taken[at];
            of.alone_bytes = alone[at];
            of.with_previous_bytes = back;
            of.in_pool_bytes = back.saturating_sub(taken.next_multiple_of(page_bytes));
        }
    }
}

/// The stacks on later pages of the same region.
#[derive(Default)]
struct Later {
    region: usize,
    first: Option<usize>,
    last: Option<usize>,
}

impl Later {
    fn enter(&mut self, region: usize) {
        if region != self.region {
            *self = Later { region, ..Later::default() };
        }
    }

    fn add(&mut self, page: &PageOf) {
        self.first = Some(self.first.map_or(page.first, |first| first.min(page.first)));
        self.last = Some(self.last.map_or(page.last, |last| last.max(page.last)));
    }

    fn has_other(&self, stack: usize) -> bool {
        self.first.is_some_and(|first| first != stack) || self.last.is_some_and(|last| last != stack)
    }
}
