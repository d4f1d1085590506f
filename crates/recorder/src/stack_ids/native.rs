//! A native stack: its hash, its number, and whether a signal may have interrupted it anywhere.

use heapscribe_wire::ids::StackId;

use crate::state::CachedStacks;
use crate::unwind::cached_path::{PathKey, PathMatch};
use crate::unwind::{PathHash, Registers};

/// How a native stack was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Native {
    /// On the thread's own stack, without a signal's frame in it.
    Usual(NativeStack),
    /// Otherwise: a signal handler may have interrupted the interpreter anywhere.
    Unusual(NativeStack),
}

/// What is known of a native stack.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct NativeStack {
    /// The hash of its path.
    pub hash: PathHash,
    /// Its number; `UNKNOWN` when it has none, or was not asked for.
    pub id: StackId,
    /// The path that was walked to it, to be cached when it is walked a second time.
    pub walked: Option<WalkedPath>,
}

/// A path that was walked, of which the cached stacks still have the new frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkedPath {
    /// What it is sought by when it is cached.
    pub key: PathKey,
    /// The index of the cached frame that it has joined.
    pub joined: u32,
    /// How many frames were new.
    pub new: u32,
}

impl NativeStack {
    /// Caches the path that was walked, if any: of many stacks there is no second walk, so it is done when the stack
    /// turns out to be known.
    #[inline(always)]
    pub(super) fn cache_path(&self, stacks: &mut CachedStacks, registers: Registers) {
        if let Some(WalkedPath { key, joined, new }) = self.walked {
            let CachedStacks { own, new: frames, paths, .. } = stacks;
            let walked = PathMatch { hash: self.hash, id: self.id, joined: joined as usize };
            paths.store(key, own, registers, frames.get(..new as usize).unwrap_or_default(), walked);
        }
    }
}

impl Native {
    /// The stack.
    pub(super) fn stack(self) -> NativeStack {
        let (Native::Usual(stack) | Native::Unusual(stack)) = self;
        stack
    }

    /// The number.
    pub(super) fn id(self) -> StackId {
        self.stack().id
    }

    /// Nothing is known of it.
    pub(super) fn unknown() -> Native {
        Native::Unusual(NativeStack::default())
    }
}
