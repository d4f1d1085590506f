//! What became of each stack from one recording to another.
//!
//! Two recordings weight no numbers: programs lie at other addresses, and are built again. So stacks are
//! compared by the names of their frames. *You bring* two answers and a name for each frame that is the
//! same in both; [`Paths`] merges their call trees by these. *It guarantees* that every block of either
//! side is in exactly one change, so that the changes add up to the difference of the wholes. *It refuses*
//! to know names of its own.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::answer::estimate::{Estimate, Figure};
use crate::answer::measure::Measure;
use crate::answer::{Amount, Answer, CallTree, Frame, NodeId};

/// A stack by the names of its frames. [`PathId::ROOT`] is the stack that is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PathId(u32);

impl PathId {
    /// No frame at all.
    pub const ROOT: PathId = PathId(0);
}

/// Call trees merged by names: each path is a name and the path that it is called from.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    names: HashMap<String, u32>,
    numbers: HashMap<(PathId, u32), PathId>,
}

impl Paths {
    /// The path of each of a tree's nodes. A frame has several names, outermost first, when functions are
    /// inlined into it.
    pub fn merge(&mut self, tree: &CallTree, mut names: impl FnMut(&Frame) -> Vec<String>) -> Vec<PathId> {
        let mut paths = vec![PathId::ROOT; tree.nodes.len()];
        // A node stands after its parent; the first is the root.
        for (n, node) in tree.nodes.iter().enumerate().skip(1) {
            let caller = paths.get(node.parent.0 as usize).copied().unwrap_or_default();
            paths[n] = names(&node.frame).into_iter().fold(caller, |path, name| self.below(path, name));
        }
        paths
    }

    fn below(&mut self, caller: PathId, name: String) -> PathId {
        let next = self.names.len() as u32;
        let name = *self.names.entry(name).or_insert(next);
        let next = PathId(self.numbers.len() as u32 + 1);
        *self.numbers.entry((caller, name)).or_insert(next)
    }
}

/// One of the two recordings: its answer, and its nodes' paths.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// A path for each node of its tree.
    pub paths: Vec<PathId>,
}

/// What one side has of a path, or of everything.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Part {
    /// Blocks and their bytes.
    pub amount: Amount,
    /// How uncertain the figure that is compared is, where blocks were sampled: its variance.
    pub variance: f64,
    /// The stack with most of it; none when the side does not have the path.
    pub node: Option<NodeId>,
    most: u64,
}

impl Part {
    fn add(&mut self, node: NodeId, amount: Amount, figure: u64, variance: f64) {
        self.amount.blocks = self.amount.blocks.saturating_add(amount.blocks);
        self.amount.bytes = self.amount.bytes.saturating_add(amount.bytes);
        self.variance += variance;
        if self.node.is_none() || figure > self.most {
            (self.node, self.most) = (Some(node), figure);
        }
    }
}

/// What became of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The path.
    pub path: PathId,
    /// What the first recording has of it.
    pub before: Part,
    /// What the second one has.
    pub after: Part,
    /// By how much the figure that is compared grew.
    pub growth: i128,
}

/// 95 % of a normal distribution lie within this many standard deviations.
const Z: f64 = 1.96;

impl Change {
    fn new(path: PathId, before: Part, after: Part, measure: Measure) -> Change {
        let figure = |part: &Part| i128::from(measure.figure(part.amount));
        let growth = figure(&after) - figure(&before);
        Change { path, before, after, growth }
    }

    /// The standard error of the growth; 0 where every block was recorded.
    pub fn standard_error(&self) -> f64 {
        (self.before.variance + self.after.variance).sqrt()
    }

    /// Whether samples alone make as much of a difference, in 5 of 100 recordings.
    pub fn may_be_chance(&self) -> bool {
        self.growth != 0 && (self.growth as f64).abs() <= Z * self.standard_error()
    }
}

/// All changes between two recordings.
#[derive(Clone, PartialEq, Debug)]
pub struct Diff {
    /// What was compared.
    pub measure: Measure,
    /// All paths together.
    pub whole: Change,
    /// Each path, from the one that grew most to the one that shrank most.
    pub changes: Vec<Change>,
    /// The stacks of each path that is of several of a side: of the first, and of the second. They have other lines, or
    /// addresses.
    merged: [HashMap<PathId, Vec<NodeId>>; 2],
}

impl Diff {
    /// Those that grew, most first.
    pub fn grew(&self) -> &[Change] {
        &self.changes[..self.changes.partition_point(|change| change.growth > 0)]
    }

    /// Those that shrank, least first.
    pub fn shrank(&self) -> &[Change] {
        &self.changes[self.changes.partition_point(|change| change.growth >= 0)..]
    }

    /// The parts of a change in the wholes of its two sides, in percent; a whole of nothing has no parts.
    pub fn shares(&self, change: &Change) -> [f64; 2] {
        let share = |part: &Part, whole: &Part| {
            let [part, whole] = [part, whole].map(|of| self.measure.figure(of.amount));
            if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
        };
        [share(&change.before, &self.whole.before), share(&change.after, &self.whole.after)]
    }

    /// By how much of what it was a change grew, in percent; none of what was nothing.
    pub fn percent(&self, change: &Change) -> Option<f64> {
        let before = self.measure.figure(change.before.amount);
        (before > 0).then(|| change.growth as f64 * 100.0 / before as f64)
    }

    /// The stacks that a change is of, the one with most first: those of the second recording, if it has any.
    pub fn stacks(&self, change: &Change) -> Vec<NodeId> {
        let (side, first) = match (change.after.node, change.before.node) {
            (Some(node), _) => (1, node),
            (None, Some(node)) => (0, node),
            (None, None) => return Vec::new(),
        };
        let all = self.merged[side].get(&change.path).map_or(&[][..], Vec::as_slice);
        std::iter::once(first).chain(all.iter().copied().filter(|node| *node != first)).collect()
    }

    /// Those with the same figure.
    pub fn same(&self) -> &[Change] {
        &self.changes[self.grew().len()..self.changes.len() - self.shrank().len()]
    }
}

/// Compares two recordings.
pub fn diff(before: &Side<'_>, after: &Side<'_>, measure: Measure) -> Diff {
    let [mut was, mut is] = [before, after].map(|side| parts(side, measure));
    let whole = |parts: &HashMap<PathId, Part>, side: &Side<'_>| {
        let whole = parts.values().fold(Part::default(), |mut whole, part| {
            whole.add(NodeId::ROOT, part.amount, 0, part.variance);
            whole
        });
        match (&side.answer.sampling, measure) {
            (Some(sampling), Measure::Peak) => Part { variance: variance(&sampling.peak, measure), ..whole },
            _ => whole,
        }
    };
    let whole = Change::new(PathId::ROOT, whole(&was, before), whole(&is, after), measure);
    let mut paths: Vec<PathId> = was.keys().chain(is.keys()).copied().collect();
    paths.sort_unstable();
    paths.dedup();
    let take = |parts: &mut HashMap<PathId, Part>, path| parts.remove(path).unwrap_or_default();
    let mut changes: Vec<_> = paths
        .iter()
        .map(|path| Change::new(*path, take(&mut was, path), take(&mut is, path), measure))
        .collect();
    changes.sort_by_key(|change| (Reverse(change.growth), change.path));
    Diff { measure, whole, changes, merged: [before, after].map(|side| merged(side, measure)) }
}

/// The stacks of each path that several stacks of a side have.
fn merged(side: &Side<'_>, measure: Measure) -> HashMap<PathId, Vec<NodeId>> {
    let mut stacks: HashMap<PathId, Vec<NodeId>> = HashMap::new();
    for stack in side.answer.stacks.iter().filter(|stack| measure.amount(stack) != Amount::default()) {
        let path = side.paths.get(stack.node.0 as usize).copied().unwrap_or_default();
        stacks.entry(path).or_default().push(stack.node);
    }
    stacks.retain(|_, nodes| nodes.len() > 1);
    stacks
}

/// What a side has of each path.
fn parts(side: &Side<'_>, measure: Measure) -> HashMap<PathId, Part> {
    let mut parts: HashMap<PathId, Part> = HashMap::new();
    let estimates = side.answer.sampling.as_ref().map_or(&[][..], |sampling| &sampling.stacks);
    for (n, stack) in side.answer.stacks.iter().enumerate() {
        let amount = measure.amount(stack);
        if amount == Amount::default() {
            continue;
        }
        let path = side.paths.get(stack.node.0 as usize).copied().unwrap_or_default();
        let variance = estimates.get(n).map_or(0.0, |of| variance(measure.estimate(of), measure));
        parts.entry(path).or_default().add(stack.node, amount, measure.of(stack), variance);
    }
    parts
}

/// How uncertain an estimate is. The peak's is too high, being the highest of many, and only its range shows it.
fn variance(estimate: &Estimate, measure: Measure) -> f64 {
    let Figure { variance, low, high, .. } =
        if measure.counts_blocks() { estimate.blocks } else { estimate.bytes };
    if measure == Measure::Peak { variance.max(((high - low) / (2.0 * Z)).powi(2)) } else { variance }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Node, Stack};

    /// An answer of stacks as `outer>inner bytes blocks`, each frame's address being its name's number.
    fn answer(stacks: &[(&str, u64, u64)], names: &mut Vec<String>) -> Answer {
        let mut answer = Answer::default();
        for (stack, bytes, blocks) in stacks {
            let mut parent = NodeId::ROOT;
            for name in stack.split('>').filter(|name| !name.is_empty()) {
                names.push(name.to_owned());
                let frame = Frame { address: names.len() as u64 - 1, ..Frame::default() };
                answer.tree.nodes.push(Node { parent, frame });
                parent = NodeId(answer.tree.nodes.len() as u32 - 1);
            }
            let allocated = Amount { blocks: *blocks, bytes: *bytes };
            answer.stacks.push(Stack { node: parent, allocated, ..Stack::default() });
        }
        answer
    }

    /// Growth and stack of each change; an inlined function is written `outer+inner`.
    fn check(
        measure: Measure,
        before: &[(&str, u64, u64)],
        after: &[(&str, u64, u64)],
        expected: &[(i128, &str)],
    ) {
        let (mut names, mut paths) = (Vec::new(), Paths::default());
        let answers = [before, after].map(|stacks| answer(stacks, &mut names));
        let lines = |frame: &Frame| -> Vec<String> {
            names[frame.address as usize].split('+').map(str::to_owned).collect()
        };
        let sides = answers.each_ref().map(|answer| Side { answer, paths: paths.merge(&answer.tree, lines) });
        let diff = diff(&sides[0], &sides[1], measure);
        let shown: Vec<_> = diff
            .changes
            .iter()
            .map(|change| {
                let (side, node) = match (change.after.node, change.before.node) {
                    (Some(node), _) => (&answers[1], node),
                    (None, node) => (&answers[0], node.unwrap()),
                };
                let frames: Vec<_> =
                    side.tree.frames(node).map(|(_, f)| names[f.address as usize].clone()).collect();
                (change.growth, frames.into_iter().rev().collect::<Vec<_>>().join(">"))
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(n, stack)| (*n, (*stack).to_owned())).collect();
        assert_eq!(shown, expected);
        let parts = [diff.grew(), diff.same(), diff.shrank()];
        assert_eq!(parts.concat(), diff.changes);
        assert_eq!(diff.changes.iter().map(|change| change.growth).sum::<i128>(), diff.whole.growth);
    }

    #[test]
    fn stacks_are_told_apart_by_names() {
        let before = [("main>a", 100, 1), ("main>b", 50, 9), ("main", 7, 7)];
        let after = [("main>b", 10, 10), ("main>c", 60, 1), ("main>a", 100, 2)];
        let by_bytes = [(60, "main>c"), (0, "main>a"), (-7, "main"), (-40, "main>b")];
        check(Measure::Allocated, &before, &after, &by_bytes);
        let by_blocks = [(1, "main>a"), (1, "main>b"), (1, "main>c"), (-7, "main")];
        check(Measure::Count, &before, &after, &by_blocks);
        check(Measure::Leaked, &before, &after, &[]);
    }

    #[test]
    fn stacks_of_the_same_names_are_one() {
        check(Measure::Allocated, &[("m>f", 1, 1), ("m>f", 2, 1)], &[("m>f", 4, 1)], &[(1, "m>f")]);
    }

    #[test]
    fn inlined_or_not_is_the_same() {
        check(Measure::Allocated, &[("m>f>g", 5, 1)], &[("m>f+g", 5, 1)], &[(0, "m>f+g")]);
    }

    #[test]
    fn unknown_stacks_and_nothing_at_all() {
        check(Measure::Allocated, &[("", 5, 1)], &[("", 8, 1)], &[(3, "")]);
        check(Measure::Allocated, &[], &[], &[]);
        check(Measure::Allocated, &[("m", u64::MAX, 1)], &[], &[(-i128::from(u64::MAX), "m")]);
    }

    #[test]
    fn few_samples_may_be_chance() {
        let part =
            |bytes, variance| Part { amount: Amount { blocks: 1, bytes }, variance, ..Part::default() };
        let check = |before, after, chance| {
            let change = Change::new(PathId::ROOT, before, after, Measure::Leaked);
            assert_eq!(change.may_be_chance(), chance, "{change:?}");
        };
        check(part(1000, 0.0), part(1001, 0.0), false);
        check(part(1000, 0.0), part(1000, 1e9), false);
        check(part(1000, 90_000.0), part(1800, 160_000.0), true);
        check(part(1000, 90_000.0), part(2000, 160_000.0), false);
    }
}
