//! What the stacks of an entry have in common. The heading of an entry names the functions that *every* one of its
//! stacks goes through: those from the own caller outwards until the callers differ, and the outermost ones, where all
//! meet again. What only some go through is a part of the entry, and has its share.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use heapscribe_analyze::answer::NodeId;

use super::functions::{At, Functions};
use super::layout::Line;

/// What goes through a place: a figure, and how many stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Part {
    pub(super) figure: u64,
    pub(super) stacks: u64,
    /// The smallest number of the stacks.
    pub(super) stack: NodeId,
}

impl Part {
    pub(super) fn add(&mut self, other: Part) {
        let first = if self.stacks == 0 { other.stack } else { self.stack.min(other.stack) };
        self.figure = self.figure.saturating_add(other.figure);
        self.stacks += other.stacks;
        self.stack = first;
    }
}

/// Where stacks are, and what goes through there.
pub(super) type Places = BTreeMap<At, Part>;

/// What all stacks have in common.
pub(super) struct Shared {
    /// From the innermost outwards, until the callers differ.
    pub(super) inner: Vec<Line>,
    /// The outermost functions, if there is something between.
    pub(super) outer: Vec<Line>,
    /// The callers where they differ, the one with most first. Empty when all stacks go the same way.
    pub(super) callers: Vec<Caller>,
}

/// A function that some of the stacks come from.
pub(super) struct Caller {
    pub(super) part: Part,
    /// It and its callers as far as all these stacks share them, then those of most of them, and so on. Empty when
    /// nobody called.
    pub(super) path: Vec<Segment>,
}

/// A piece of a path that so many stacks share.
pub(super) struct Segment {
    pub(super) part: Part,
    pub(super) lines: Vec<Line>,
}

/// Pieces of one path, at most.
const SEGMENTS_MAX: usize = 4;

/// What stacks share that are at some places.
pub(super) fn shared(at: Places, functions: &mut Functions<'_>) -> Shared {
    let (inner, rest) = path(at, functions);
    let outer = outermost(&rest, functions);
    let callers = callers(rest, functions);
    Shared { inner, outer, callers }
}

/// Outwards while all are in the same function; and where that ends.
fn path(mut at: Places, functions: &mut Functions<'_>) -> (Vec<Line>, Places) {
    let mut lines = Vec::new();
    while let Some(function) = at.keys().next().and_then(|first| functions.at(*first)) {
        if at.keys().any(|place| functions.at(*place) != Some(function)) {
            break;
        }
        let mut outside = Places::new();
        let mut is_recursive = false;
        for (place, part) in &at {
            is_recursive |= functions.is_recursive(*place);
            outside.entry(functions.outside(*place)).or_default().add(*part);
        }
        lines.push(line(at.keys().copied(), is_recursive, functions));
        at = outside;
    }
    (lines, at)
}

/// A line for places in one function: what of the place is the same for all.
fn line(places: impl Iterator<Item = At>, is_recursive: bool, functions: &Functions<'_>) -> Line {
    let mut seen = HashSet::new();
    let places = places.filter(|place| seen.insert(functions.place(*place)));
    let mut frames = places.map(|place| functions.frame(place));
    let first = frames.next().unwrap_or_default();
    let line = Line::of_all(first, is_recursive);
    frames.fold(line, |line, frame| line.and_of(&frame))
}

/// The functions that all come from in the end, the outermost last.
fn outermost(at: &Places, functions: &mut Functions<'_>) -> Vec<Line> {
    let called = called(at, functions);
    let of = |places: &BTreeSet<At>| -> BTreeSet<At> {
        places.iter().filter_map(|place| called.get(place)).flatten().copied().collect()
    };
    let mut lines = Vec::new();
    let mut next = of(&BTreeSet::from([At::END]));
    while let Some(function) = next.first().and_then(|first| functions.at(*first)) {
        if at.contains_key(&At::END) || next.iter().any(|place| functions.at(*place) != Some(function)) {
            break;
        }
        let (mut inside, mut innermost) = (next.clone(), next);
        let mut others = BTreeSet::new();
        while !innermost.is_empty() {
            let (same, other) =
                of(&innermost).into_iter().partition(|at| functions.at(*at) == Some(function));
            others.extend::<BTreeSet<At>>(other);
            inside.extend::<&BTreeSet<At>>(&same);
            innermost = same;
        }
        lines.push(line(inside.iter().copied(), false, functions));
        if inside.iter().any(|place| at.contains_key(place)) {
            break;
        }
        next = others;
    }
    lines.reverse();
    lines
}

/// For each line on the way from some places to the end those that it called.
fn called(at: &Places, functions: &mut Functions<'_>) -> BTreeMap<At, BTreeSet<At>> {
    let mut called: BTreeMap<At, BTreeSet<At>> = BTreeMap::new();
    for place in at.keys() {
        let mut callee = *place;
        while callee != At::END {
            let caller = functions.caller(callee);
            let is_known = called.contains_key(&caller);
            called.entry(caller).or_default().insert(callee);
            if is_known {
                break;
            }
            callee = caller;
        }
    }
    called
}

/// The functions that some places are in, that with most first.
fn callers(at: Places, functions: &mut Functions<'_>) -> Vec<Caller> {
    let by_function = by_function(at, functions);
    if by_function.len() < 2 {
        return Vec::new();
    }
    let caller = |(part, places)| Caller { part, path: largest_path(part, places, functions) };
    by_function.into_iter().map(caller).collect()
}

/// Outwards, where the ways part the one with most, as long as that is more than half.
fn largest_path(whole: Part, places: Places, functions: &mut Functions<'_>) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut next = Some((whole, places));
    while let Some((part, places)) = next.filter(|(part, _)| part.figure * 2 > whole.figure || part == &whole)
    {
        let (lines, rest) = path(places, functions);
        if lines.is_empty() || segments.len() == SEGMENTS_MAX {
            break;
        }
        segments.push(Segment { part, lines });
        next = by_function(rest, functions).into_iter().next();
    }
    segments
}

/// Places by the functions that they are in, that with most first.
fn by_function(at: Places, functions: &mut Functions<'_>) -> Vec<(Part, Places)> {
    let mut by_function: BTreeMap<Option<u32>, (Part, Places)> = BTreeMap::new();
    for (place, part) in at {
        let of = by_function.entry(functions.at(place)).or_default();
        of.0.add(part);
        of.1.insert(place, part);
    }
    let mut all: Vec<_> = by_function.into_values().collect();
    all.sort_by_key(|(part, _)| (Reverse(part.figure), part.stack));
    all
}

#[cfg(test)]
mod tests {
    use heapscribe_symbols::{NamedStacks, Resolver};
    use proptest::prelude::*;

    use super::*;
    use crate::own::tests::tree;
    use crate::own::{Folded, Merged, OwnCallers};

    /// The functions of a stack from its own caller outwards, each recursion once.
    fn outwards(own: At, functions: &mut Functions<'_>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut at = own;
        while at != At::END {
            names.push(functions.frame(at).name());
            at = functions.caller(at);
        }
        names.dedup();
        names
    }

    fn names(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.name().replace(" (recursive)", "").replace(" (inlined)", "")).collect()
    }

    fn check_entry(of: &Merged, own: &mut OwnCallers<'_>, functions: &mut Functions<'_>) {
        let place = |own: crate::own::OwnCaller| At { node: own.node, line: own.line };
        let owns: Vec<At> = of.parts.iter().map(|(stack, _)| place(own.of(*stack))).collect();
        let mut at = Places::new();
        for ((stack, figure), own) in of.parts.iter().zip(&owns) {
            at.entry(*own).or_default().add(Part { figure: *figure, stacks: 1, stack: *stack });
        }
        let Shared { inner, outer, callers } = shared(at, functions);
        let stacks: Vec<Vec<String>> = owns.iter().map(|own| outwards(*own, functions)).collect();
        let (inner, outer) = (names(&inner), names(&outer));
        let is_common = |n: &usize| stacks.iter().all(|stack| stack.get(*n) == stacks[0].get(*n));
        let common = (0..stacks[0].len()).take_while(is_common).count();
        assert_eq!(inner, stacks[0][..common], "{stacks:?}");
        assert!(stacks.iter().all(|stack| stack[common..].ends_with(&outer)), "{outer:?} {stacks:?}");
        assert_eq!(callers.is_empty(), stacks.iter().all(|stack| stack.len() == common), "{stacks:?}");
        let sum = |of: fn(&Part) -> u64| callers.iter().map(|caller| of(&caller.part)).sum::<u64>();
        if !callers.is_empty() {
            let count = of.parts.len() as u64;
            assert_eq!((sum(|part| part.figure), sum(|part| part.stacks)), (of.figure, count));
        }
        for caller in &callers {
            let rest = stacks.iter().map(|stack| &stack[common..]);
            let mut path = Vec::new();
            for Segment { part, lines } in &caller.path {
                path.extend(names(lines));
                let through = rest.clone().filter(|rest| rest.starts_with(&path)).count() as u64;
                assert_eq!(through, part.stacks, "{path:?} {stacks:?}");
            }
            let ended = rest.filter(|rest| rest.is_empty()).count() as u64;
            assert!(!caller.path.is_empty() || ended == caller.part.stacks, "{stacks:?}");
        }
    }

    const FUNCTIONS: [&str; 10] =
        ["a", "a@2", "b", "b@3", "c", "c+a", "a+a", "std::push", "std::call+b", "xmalloc"];

    proptest! {
        /// Every function of a heading is on every stack of its entry, parts sum to their entry and entries to the
        /// whole.
        #[test]
        fn headings_are_true_of_all_stacks(
            stacks in prop::collection::vec(
                (prop::collection::vec(0..FUNCTIONS.len(), 1..7), 0_u64..1000), 1..12)
        ) {
            let named: Vec<Vec<&str>> = stacks
                .iter()
                .map(|(stack, _)| stack.iter().map(|n| FUNCTIONS[*n]).chain(["main", "_start"]).collect())
                .collect();
            let lists: Vec<&[&str]> = named.iter().map(Vec::as_slice).collect();
            let (tree, leaves) = tree(&lists);
            let names = NamedStacks::look_up(&tree, leaves.iter().copied(), &Resolver::new("/nowhere"));
            let (mut own, mut functions) = (OwnCallers::folding(&names, &Folded::default()), Functions::new(&names));
            let figures = leaves.iter().copied().zip(stacks.iter().map(|(_, figure)| *figure));
            let entries = own.merge(figures);
            let whole: u64 = stacks.iter().map(|(_, figure)| figure).sum();
            prop_assert_eq!(entries.iter().map(|of| of.figure).sum::<u64>(), whole);
            for of in &entries {
                prop_assert_eq!(of.parts.iter().map(|(_, figure)| figure).sum::<u64>(), of.figure);
                check_entry(of, &mut own, &mut functions);
            }
        }
    }
}
