//! The modules that a thread found named last: a new stack goes through few, and the next one through the same.

use core::cell::Cell;
use core::sync::atomic::{Ordering, compiler_fence};

use heapscribe_nolibc::loader::ModuleText;

const COUNT: usize = 4;

/// Where a module is.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    start: usize,
    end: usize,
}

/// Modules that are named, as long as nothing was loaded or unloaded since. All zero: none. A handler may jump away at any
/// store, so the epoch is taken off before an extent changes and put on after.
#[derive(Debug, Default)]
pub(crate) struct NamedModules {
    /// What was loaded when they were found, see `modules::Epoch`.
    epoch: Cell<u64>,
    extents: [Cell<Extent>; COUNT],
    /// Which is replaced next.
    turn: Cell<usize>,
}

impl NamedModules {
    /// Whether the module around an address is one of them.
    #[inline]
    pub(crate) fn contain(&self, address: usize, epoch: u64) -> bool {
        let is_in = |at: &Cell<Extent>| (at.get().start..at.get().end).contains(&address);
        self.epoch.get() == epoch && self.extents.iter().any(is_in)
    }

    /// Adds one that is named.
    pub(crate) fn add(&self, text: &ModuleText, epoch: u64) {
        if self.epoch.get() != epoch {
            self.clear();
        }
        self.epoch.set(0);
        compiler_fence(Ordering::SeqCst);
        if let Some(place) = self.extents.get(self.turn.get()) {
            place.set(Extent { start: text.start, end: text.end });
        }
        self.turn.set((self.turn.get() + 1) % COUNT);
        compiler_fence(Ordering::SeqCst);
        self.epoch.set(epoch);
    }

    /// Forgets them: the thread begins.
    pub(crate) fn clear(&self) {
        self.epoch.set(0);
        compiler_fence(Ordering::SeqCst);
        self.extents.iter().for_each(|place| place.set(Extent::default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(start: usize) -> ModuleText {
        ModuleText { start, end: start + 0x1000, eh_frame_hdr: 0, link_map: 0 }
    }

    #[test]
    fn the_last_are_known_until_something_changes() {
        let named = NamedModules::default();
        assert!(!named.contain(0x1000, 0));
        for start in (1..=5).map(|n| n << 16) {
            named.add(&text(start), 7);
            assert!(named.contain(start, 7) && named.contain(start + 0xfff, 7));
            assert!(!named.contain(start - 1, 7) && !named.contain(start + 0x1000, 7));
            assert!(!named.contain(start, 8), "another may be there");
        }
        assert_eq!([1, 2, 5].map(|n| named.contain(n << 16, 7)), [false, true, true], "four at a time");
        named.add(&text(6 << 16), 8);
        assert_eq!([2, 5, 6].map(|n| named.contain(n << 16, 8)), [false, false, true]);
        named.clear();
        assert!(!named.contain(6 << 16, 8));
    }
}
