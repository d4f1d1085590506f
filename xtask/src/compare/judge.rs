//! Two stacks of the same call: equal, or how and where they part.

use std::collections::{BTreeMap, HashMap};

use super::oracle::{self, CONTRADICTED, NOT_WALKED};
use super::pair::{Pairs, pair};
use super::recorded::{self, Stack};

/// How our stack is to theirs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Verdict {
    Equal,
    /// The inner frames are the same, and theirs has more.
    Shorter,
    /// The inner frames are the same, and ours has more.
    Longer,
    Different,
}

/// What calls of one kind of difference have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Class {
    pub(super) verdict: Verdict,
    /// Why the recording says that its stack was cut.
    pub(super) cut: Option<&'static str>,
    /// Whether the recording says that frames from there on, or from further in, are guessed.
    pub(super) is_guessed: bool,
}

impl Class {
    /// Whether the recording itself says what is wrong with the stack.
    fn is_explained(&self) -> bool {
        match self.verdict {
            Verdict::Equal => true,
            Verdict::Shorter => self.cut.is_some() || self.is_guessed,
            Verdict::Longer | Verdict::Different => self.is_guessed,
        }
    }
}

/// Where stacks part: the last frame that both have, the next of ours, the next of theirs.
pub(super) type Parting = [String; 3];

/// Everything that was found.
#[derive(Default)]
pub(super) struct Comparison {
    pub(super) classes: BTreeMap<Class, u64>,
    pub(super) partings: BTreeMap<Class, BTreeMap<Parting, u64>>,
    pub(super) frames: u64,
    pub(super) not_walked: u64,
    pub(super) contradicted: u64,
    pub(super) without_stack: u64,
    pub(super) only_ours: u64,
    pub(super) only_theirs: u64,
}

impl Comparison {
    /// Whether each difference is one that the recording itself tells of.
    pub(super) fn is_explained(&self) -> bool {
        self.classes.keys().all(Class::is_explained)
    }
}

/// Pairs all calls and compares their stacks.
pub(super) fn judge(ours: &recorded::Calls, theirs: &oracle::Calls) -> Comparison {
    let mut found = Comparison::default();
    for (thread, calls) in &ours.threads {
        let mut pairs = Pairs::default();
        pair(calls, theirs.threads.get(thread).map_or(&[], |calls| &calls[..]), &mut pairs);
        found.only_ours += pairs.only_ours;
        found.only_theirs += pairs.only_theirs;
        compare_all(&pairs, ours, theirs, &mut found);
    }
    let unseen = theirs.threads.iter().filter(|(thread, _)| !ours.threads.contains_key(thread));
    found.only_theirs += unseen.map(|(_, calls)| calls.len() as u64).sum::<u64>();
    found
}

fn compare_all(pairs: &Pairs, ours: &recorded::Calls, theirs: &oracle::Calls, found: &mut Comparison) {
    let mut counts: HashMap<(u32, u32), u64> = HashMap::new();
    pairs.stacks.iter().for_each(|both| *counts.entry(*both).or_default() += 1);
    for ((our_stack, their_stack), calls) in counts {
        if their_stack == NOT_WALKED || their_stack == CONTRADICTED {
            let count =
                if their_stack == NOT_WALKED { &mut found.not_walked } else { &mut found.contradicted };
            *count += calls;
            continue;
        }
        let ((stack, process), frames) = (ours.stack(our_stack), &theirs.stacks[their_stack as usize]);
        if stack.frames.is_empty() {
            found.without_stack += calls;
            continue;
        }
        found.frames += calls * stack.frames.len() as u64;
        let (class, same) = compare(&stack, frames);
        *found.classes.entry(class.clone()).or_default() += calls;
        if class.verdict != Verdict::Equal {
            let name = |frame: Option<&u64>| frame.map_or("nothing".to_owned(), |pc| process.name(*pc));
            let last = same.checked_sub(1).and_then(|i| frames.get(i));
            let parting = [name(last), name(stack.frames.get(same)), name(frames.get(same))];
            *found.partings.entry(class).or_default().entry(parting).or_default() += calls;
        }
    }
}

/// Compares two stacks; how many inner frames are the same.
fn compare(ours: &Stack, theirs: &[u64]) -> (Class, usize) {
    let same = ours.frames.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let verdict = match (same == ours.frames.len(), same == theirs.len()) {
        (true, true) => Verdict::Equal,
        (true, false) => Verdict::Shorter,
        (false, true) => Verdict::Longer,
        (false, false) => Verdict::Different,
    };
    let is_guessed = ours.guessed_from.is_some_and(|from| from <= same || verdict == Verdict::Equal);
    (Class { verdict, cut: ours.cut, is_guessed }, same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ours: &[u64], guessed_from: Option<usize>, theirs: &[u64], expected: (Verdict, bool, usize)) {
        let stack = Stack { frames: ours.to_vec(), cut: None, guessed_from };
        let (class, same) = compare(&stack, theirs);
        assert_eq!((class.verdict, class.is_explained(), same), expected);
    }

    #[test]
    fn where_stacks_part() {
        check(&[1, 2, 3], None, &[1, 2, 3], (Verdict::Equal, true, 3));
        check(&[1, 2], None, &[1, 2, 3], (Verdict::Shorter, false, 2));
        check(&[1, 2, 3], None, &[1, 2], (Verdict::Longer, false, 2));
        check(&[1, 2, 3], Some(2), &[1, 2], (Verdict::Longer, true, 2));
        check(&[1, 5, 3], None, &[1, 2, 3], (Verdict::Different, false, 1));
        check(&[1, 5, 3], Some(1), &[1, 2, 3], (Verdict::Different, true, 1));
        check(&[1, 5, 3], Some(2), &[1, 2, 3], (Verdict::Different, false, 1));
    }
}
