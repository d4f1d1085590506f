//! The blocks of the heap that were allocated in one events block, and which of them are still live: the state
//! that the encoder and the decoder share at each event.

use super::layout::NEAR_MAX;

/// A block that was allocated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub(super) ticks: u64,
    pub(super) size_bytes: u64,
    pub(super) stack: u32,
    /// The next older and the next younger live block; 0 is the end of the list.
    older: u32,
    younger: u32,
}

/// In `older`: the block was freed.
const FREED: u32 = u32::MAX;

/// All allocated blocks in their order, from 1; the live ones form a doubly linked list.
#[derive(Debug)]
pub(super) struct Births {
    all: Vec<Birth>,
    /// The youngest live ones, the youngest first; 0 where there are fewer. Most frees are of one of these, and following
    /// the list to it is a loop of which no processor foresees the end.
    young: [u32; NEAR_MAX as usize],
}

const END: Birth = Birth { ticks: 0, size_bytes: 0, stack: 0, older: 0, younger: 0 };

impl Default for Births {
    fn default() -> Self {
        Births { all: vec![END], young: Default::default() }
    }
}

impl Births {
    /// Removes all, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.all.push(END);
        self.young = Default::default();
    }

    /// Adds a block as the youngest.
    #[inline(always)]
    pub(super) fn allocated(&mut self, ticks: u64, size_bytes: u64, stack: u32) {
        let number = self.all.len() as u32;
        let older = self.all[0].older;
        self.all[older as usize].younger = number;
        self.all[0].older = number;
        self.all.push(Birth { ticks, size_bytes, stack, older, younger: 0 });
        let [first, second, third, _] = self.young;
        self.young = [number, first, second, third];
    }

    /// The `n`th youngest live block, from 1 to [`NEAR_MAX`].
    #[inline(always)]
    pub(super) fn near(&self, n: u64) -> Option<usize> {
        let at = *self.young.get((n as usize).wrapping_sub(1))?;
        (at != 0).then_some(at as usize)
    }

    /// The `n`th last of all allocated blocks, from 1, if it is live.
    #[inline(always)]
    pub(super) fn far(&self, n: u64) -> Option<usize> {
        let at = usize::try_from(n).ok().and_then(|n| self.all.len().checked_sub(n))?;
        (at != 0 && self.all.get(at)?.older != FREED).then_some(at)
    }

    /// The position of a block among all allocated ones, counted from the last: the inverse of [`Self::far`].
    pub(super) fn back(&self, at: usize) -> u64 {
        (self.all.len() - at) as u64
    }

    /// The position of a live block among the live ones, counted from the youngest, if it is at most [`NEAR_MAX`]: the
    /// inverse of [`Self::near`].
    #[inline(always)]
    pub(super) fn rank(&self, wanted: usize) -> Option<u64> {
        let [first, second, third, fourth] = self.young.map(|at| u64::from(at as usize > wanted));
        (fourth == 0 && self.young.contains(&(wanted as u32))).then_some(1 + first + second + third)
    }

    /// The block that was allocated at these ticks.
    fn search(&self, ticks: u64) -> Option<usize> {
        let at = 1 + self.all[1..].partition_point(|birth| birth.ticks < ticks);
        (self.all.get(at)?.ticks == ticks).then_some(at)
    }

    /// The block at a place.
    #[inline(always)]
    pub(super) fn at(&self, at: usize) -> &Birth {
        &self.all[at]
    }

    /// Whether the block at a place is live.
    #[inline(always)]
    pub(super) fn is_live(&self, at: usize) -> bool {
        self.all[at].older != FREED
    }

    /// Removes it from the live blocks.
    #[inline(always)]
    pub(super) fn freed(&mut self, at: usize) {
        let Birth { older, younger, .. } = self.all[at];
        // Those that are older move up by one, and the one behind the last of them is the last then.
        let [first, second, third, fourth] = self.young;
        let fifth = if fourth == 0 { 0 } else { self.all[fourth as usize].older };
        let is_until = |young: u32| at >= young as usize;
        self.young = [
            if is_until(first) { second } else { first },
            if is_until(second) { third } else { second },
            if is_until(third) { fourth } else { third },
            if is_until(fourth) { fifth } else { fourth },
        ];
        self.all[older as usize].younger = younger;
        self.all[younger as usize].older = older;
        self.all[at].older = FREED;
    }
}

/// Slots of the table of ticks.
const SLOTS: usize = 1 << 14;

/// The encoder's cache from ticks to the block that was allocated then. A slot has the last block of its hash,
/// so that a block that is not there may have been evicted, and is searched for.
pub(super) struct ByTicks {
    slots: Box<[u32]>,
}

impl Default for ByTicks {
    fn default() -> Self {
        ByTicks { slots: vec![0; SLOTS].into() }
    }
}

impl ByTicks {
    /// Adds the youngest block.
    #[inline(always)]
    pub(super) fn allocated(&mut self, ticks: u64, births: &Births) {
        self.slots[ticks as usize % SLOTS] = births.all.len() as u32 - 1;
    }

    /// The place of the block that was allocated at these ticks. Entries of earlier events blocks do not match
    /// by their ticks.
    #[inline(always)]
    pub(super) fn find(&self, ticks: u64, births: &Births) -> Option<usize> {
        let at = self.slots[ticks as usize % SLOTS] as usize;
        let in_slot = births.all.get(at).filter(|_| at != 0)?;
        if in_slot.ticks == ticks { Some(at) } else { births.search(ticks) }
    }
}
