//! Which file an address of a process lies in.
//!
//! That depends on when a stack was defined: definitions are read in their order, modules count from where
//! they are named until `unmapped`, and a later one hides those below it. Three plug-ins loaded one after
//! the other at one address keep their own stacks.

use std::collections::BTreeMap;

use heapscribe_wire::definitions;

use crate::answer::Frame;

/// A mapped range and what to make of addresses in it.
#[derive(Clone, Copy, Debug)]
struct Range {
    end: u64,
    bias: u64,
    module: u32,
}

/// What is mapped where: ranges by their begin, without overlaps.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    ranges: BTreeMap<u64, Range>,
}

impl Mapped {
    /// Maps a module over whatever was there.
    pub(super) fn map(&mut self, module: &definitions::Module<'_>, number: u32) {
        let (start, end) = (module.start, module.end);
        if start >= end {
            return;
        }
        if let Some((&below, range)) = self.ranges.range_mut(..start).next_back() {
            let hidden = *range;
            if hidden.end > start {
                range.end = start;
                if hidden.end > end {
                    self.ranges.insert(end, hidden);
                }
            }
            debug_assert!(below < start);
        }
        let covered: Vec<u64> = self.ranges.range(start..end).map(|(&at, _)| at).collect();
        for at in covered {
            if let Some(range) = self.ranges.remove(&at)
                && range.end > end
            {
                self.ranges.insert(end, range);
            }
        }
        self.ranges.insert(start, Range { end, bias: module.bias, module: number });
    }

    /// For a pc that a call returns to, the byte before it is looked up: a call of a function that never
    /// returns may be the last instruction of its file's code.
    pub(super) fn frame(&self, node: &definitions::Node) -> Frame {
        let pc = node.pc.0;
        let found = self.find(pc.wrapping_sub(u64::from(!node.exact)));
        Frame {
            module: found.map(|range| range.module),
            address: pc.wrapping_sub(found.map_or(0, |range| range.bias)),
            is_return_address: !node.exact,
            guesses: node.guesses,
            cut: None,
        }
    }

    fn find(&self, address: u64) -> Option<&Range> {
        self.ranges.range(..=address).next_back().map(|(_, range)| range).filter(|r| address < r.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::ids::{CodeAddress, StackId};

    fn map(mapped: &mut Mapped, start: u64, end: u64, number: u32) {
        mapped
            .map(&definitions::Module { start, end, bias: start, ..definitions::Module::default() }, number);
    }

    fn check(mapped: &Mapped, pc: u64, module: Option<u32>) {
        let node = definitions::Node { parent: StackId(0), pc: CodeAddress(pc), guesses: false, exact: true };
        assert_eq!(mapped.frame(&node).module, module, "pc {pc}");
    }

    #[test]
    fn a_later_module_hides_what_it_covers() {
        let mut mapped = Mapped::default();
        map(&mut mapped, 100, 500, 1);
        map(&mut mapped, 200, 300, 2);
        for (pc, module) in
            [(100, Some(1)), (199, Some(1)), (250, Some(2)), (299, Some(2)), (300, Some(1)), (400, Some(1))]
        {
            check(&mapped, pc, module);
        }
        map(&mut mapped, 150, 350, 3);
        for (pc, module) in [(140, Some(1)), (160, Some(3)), (250, Some(3)), (360, Some(1)), (500, None)] {
            check(&mapped, pc, module);
        }
        map(&mut mapped, 0, 1000, 4);
        check(&mapped, 360, Some(4));
        assert_eq!(mapped.ranges.len(), 1);
    }

    #[test]
    fn a_return_to_the_end_of_a_file_belongs_to_it() {
        let mut mapped = Mapped::default();
        map(&mut mapped, 100, 200, 1);
        let node =
            |pc| definitions::Node { parent: StackId(0), pc: CodeAddress(pc), guesses: false, exact: false };
        assert_eq!(mapped.frame(&node(100)).module, None);
        assert_eq!(mapped.frame(&node(200)).module, Some(1));
    }
}
