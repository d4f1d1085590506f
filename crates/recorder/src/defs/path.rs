//! A captured stack as the interner sees it, cached or not.

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use crate::unwind::cached::{CachedFrame, CachedStack};
use crate::unwind::{Frame, PathHash};

/// One frame of a path: all that there is from the outermost frame to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathNode {
    /// The hash of the path.
    pub hash: PathHash,
    /// The frame.
    pub frame: Frame,
    /// The path's number, if it is known.
    pub id: StackId,
}

/// A captured stack, the outermost frame first.
pub(crate) trait Path {
    /// How many frames it has.
    fn len(&self) -> usize;
    /// The path from the outermost frame to frame `index`.
    fn node(&self, index: usize) -> PathNode;
    /// Takes note of the number of the path to frame `index`.
    fn set_id(&mut self, index: usize, id: StackId);
    /// The hash of the path before its first frame.
    fn seed(&self) -> PathHash;
    /// Why its first frame is not an outermost one, if it is not.
    fn cut(&self) -> Option<LossReason>;
}

/// The path that a cached stack was last walked along.
#[derive(Debug)]
pub(crate) struct CachedStackPath<'a> {
    frames: &'a mut [CachedFrame],
    seed: PathHash,
    cut: Option<LossReason>,
}

impl<'a> CachedStackPath<'a> {
    /// Of a stack that was walked in this generation of modules.
    pub(crate) fn new(stack: &'a mut CachedStack, generation: u32) -> CachedStackPath<'a> {
        let cut = stack.cut();
        CachedStackPath { frames: stack.path(), seed: PathHash::seed(generation, cut), cut }
    }
}

impl Path for CachedStackPath<'_> {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn node(&self, index: usize) -> PathNode {
        let node = |cached: &CachedFrame| PathNode { hash: cached.hash, frame: cached.frame, id: cached.id };
        self.frames.get(index).map_or_else(PathNode::default, node)
    }

    fn set_id(&mut self, index: usize, id: StackId) {
        if let Some(cached) = self.frames.get_mut(index) {
            cached.id = id;
        }
    }

    fn seed(&self) -> PathHash {
        self.seed
    }

    fn cut(&self) -> Option<LossReason> {
        self.cut
    }
}

/// A walk that is not cached: its frames, the leaf first, and the hashes of the paths out from them.
#[derive(Debug)]
pub(crate) struct UncachedPath<'a> {
    frames: &'a [Frame],
    hashes: &'a mut [PathHash],
    seed: PathHash,
    cut: Option<LossReason>,
}

impl<'a> UncachedPath<'a> {
    /// Rolls the hashes along the path.
    pub(crate) fn new(
        frames: &'a [Frame],
        hashes: &'a mut [PathHash],
        generation: u32,
        cut: Option<LossReason>,
    ) -> UncachedPath<'a> {
        let seed = PathHash::seed(generation, cut);
        let mut hash = seed;
        for (frame, place) in frames.iter().zip(hashes.iter_mut()).rev() {
            hash = hash.roll(*frame);
            *place = hash;
        }
        UncachedPath { frames, hashes, seed, cut }
    }

    /// The hash of the whole path.
    pub(crate) fn hash(&self) -> PathHash {
        if self.frames.is_empty() { self.seed } else { self.hashes.first().copied().unwrap_or(self.seed) }
    }
}

impl Path for UncachedPath<'_> {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn node(&self, index: usize) -> PathNode {
        let from_leaf = self.frames.len().wrapping_sub(index + 1);
        let (hash, frame) = (self.hashes.get(from_leaf).copied(), self.frames.get(from_leaf).copied());
        PathNode { hash: hash.unwrap_or_default(), frame: frame.unwrap_or_default(), id: StackId::UNKNOWN }
    }

    fn set_id(&mut self, _index: usize, _id: StackId) {}

    fn seed(&self) -> PathHash {
        self.seed
    }

    fn cut(&self) -> Option<LossReason> {
        self.cut
    }
}
