//! A captured stack as the interner sees it, cached or not.

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use crate::unwind::cached::{CachedFrame, CachedStack, Gap};
use crate::unwind::depth::leave_out_middle;
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
    /// Whether frames in the middle are left out: there it has [`Frame::GAP`].
    fn has_gap(&self) -> bool;
    /// Its frames from `index` on, where all that is theirs is cached.
    fn run(&mut self, index: usize) -> Option<&mut [CachedFrame]> {
        let _ = index;
        None
    }
    /// Works out what only a new path needs.
    fn prepare(&mut self) {}
    /// Another hash that it is looked for by.
    fn alias(&self) -> Option<PathHash> {
        None
    }
}

/// The path that a cached stack was last walked along.
#[derive(Debug)]
pub(crate) struct CachedStackPath<'a> {
    frames: &'a mut [CachedFrame],
    seed: PathHash,
    cut: Option<LossReason>,
    /// What is left out, and the hash of the path to there.
    gap: Option<(Gap, PathHash)>,
    /// With a gap: hashes of the paths to its inner frames, as far as what is cached of these is of other paths.
    hashes: &'a mut [PathHash],
}

impl<'a> CachedStackPath<'a> {
    /// Of the last walk of a stack. `hashes` is room for as many as there are frames.
    pub(crate) fn new(stack: &'a mut CachedStack, hashes: &'a mut [PathHash]) -> CachedStackPath<'a> {
        let cut = stack.cut();
        let gap = stack.gap().map(|gap| (gap, stack.hash_of_gap()));
        CachedStackPath { frames: stack.path(), seed: PathHash::seed(cut), cut, gap, hashes }
    }

    /// The frame behind a place of the path; `None` at the gap.
    fn frame_at(&self, index: usize) -> Option<usize> {
        match self.gap {
            Some((gap, _)) if index >= gap.at => {
                Some(index - gap.at - 1 + gap.inner).filter(|_| index > gap.at)
            }
            _ => Some(index),
        }
    }
}

impl Path for CachedStackPath<'_> {
    fn len(&self) -> usize {
        self.frames.len() - self.gap.map_or(0, |(gap, _)| gap.inner - gap.at - 1)
    }

    fn node(&self, index: usize) -> PathNode {
        let Some(frame) = self.frame_at(index) else {
            let hash = self.gap.map_or_else(PathHash::default, |(_, hash)| hash);
            return PathNode { hash, frame: Frame::GAP, id: StackId::UNKNOWN };
        };
        let Some(cached) = self.frames.get(frame) else { return PathNode::default() };
        match self.gap {
            Some((gap, _)) if (gap.inner..gap.segment).contains(&frame) => {
                let hash = self.hashes.get(frame - gap.inner).copied().unwrap_or_default();
                PathNode { hash, frame: cached.frame, id: StackId::UNKNOWN }
            }
            _ => PathNode { hash: cached.hash, frame: cached.frame, id: cached.id },
        }
    }

    fn set_id(&mut self, index: usize, id: StackId) {
        let Some(frame) = self.frame_at(index) else { return };
        let is_other = self.gap.is_some_and(|(gap, _)| (gap.inner..gap.segment).contains(&frame));
        if let Some(cached) = self.frames.get_mut(frame).filter(|_| !is_other) {
            cached.id = id;
        }
    }

    fn seed(&self) -> PathHash {
        self.seed
    }

    fn cut(&self) -> Option<LossReason> {
        self.cut
    }

    fn has_gap(&self) -> bool {
        self.gap.is_some()
    }

    fn run(&mut self, index: usize) -> Option<&mut [CachedFrame]> {
        if self.gap.is_none() { self.frames.get_mut(index..) } else { None }
    }

    fn prepare(&mut self) {
        let Some((gap, mut hash)) = self.gap else { return };
        let inner = self.frames.get(gap.inner..gap.segment).unwrap_or_default();
        for (cached, place) in inner.iter().zip(self.hashes.iter_mut()) {
            hash = hash.roll(cached.frame);
            *place = hash;
        }
    }
}

/// A walk that is not cached: its frames, the leaf first, and the hashes of the paths out from them.
#[derive(Debug)]
pub(crate) struct UncachedPath<'a> {
    frames: &'a [Frame],
    hashes: &'a mut [PathHash],
    seed: PathHash,
    cut: Option<LossReason>,
    has_gap: bool,
    /// Another hash that it is looked for by.
    pub alias: Option<PathHash>,
}

impl<'a> UncachedPath<'a> {
    /// Leaves out the middle of a path that is too deep, and rolls the hashes along it.
    pub(crate) fn new(
        frames: &'a mut [Frame],
        hashes: &'a mut [PathHash],
        cut: Option<LossReason>,
    ) -> UncachedPath<'a> {
        let all = frames.len();
        let left = leave_out_middle(frames);
        let frames: &[Frame] = frames.get(..left).unwrap_or_default();
        let seed = PathHash::seed(cut);
        let mut hash = seed;
        for (frame, place) in frames.iter().zip(hashes.iter_mut()).rev() {
            hash = hash.roll(*frame);
            *place = hash;
        }
        UncachedPath { frames, hashes, seed, cut, has_gap: left != all, alias: None }
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
    fn has_gap(&self) -> bool {
        self.has_gap
    }

    fn alias(&self) -> Option<PathHash> {
        self.alias
    }
}
