//! Makes plans: adds the parts of each question.

use std::ops::Range;

use super::leaves::{Leaves, in_leaves};
use super::plan::{Edge, Part, Plan, Sign, Use};
use crate::axis::Axis;
use crate::file::Kind;
use crate::question::{Death, Question, Span};

impl Plan {
    /// Of the answers to these questions, by key.
    pub(super) fn new(questions: &[Question], axis: &Axis) -> Plan {
        Plan::of(questions, axis, &From::Keys)
    }

    /// Of the totals of these answers, over all keys.
    pub(super) fn totals(questions: &[Question], axis: &Axis) -> Plan {
        Plan::of(questions, axis, &From::Totals)
    }

    fn of(questions: &[Question], axis: &Axis, from: &From) -> Plan {
        let mut plan = Plan::default();
        for (question, Question { born, death }) in questions.iter().enumerate() {
            let mut add = Adding { plan: &mut plan, axis, question, sign: Sign::Plus, from };
            match *death {
                Death::Any => add.allocated(born),
                Death::In(died) => add.freed(born, &died),
                Death::After(ns) | Death::NotUntil(ns) => {
                    add.allocated(born);
                    add.sign = Sign::Minus;
                    add.freed(born, &Span::until(ns));
                }
            }
        }
        plan
    }

    /// Of the answer to a question about blocks that lived so long: some classes of lifetimes, and the same, ns.
    pub(super) fn aged(born: &Span, died: &Span, (classes, age): (Range<u64>, Span), axis: &Axis) -> Plan {
        let (mut plan, from) = (Plan::default(), From::Ages { classes, age });
        let mut add = Adding { plan: &mut plan, axis, question: 0, sign: Sign::Plus, from: &from };
        add.freed(born, died);
        plan
    }
}

/// Which sections whole leaves and steps are taken from.
enum From {
    /// Those by key.
    Keys,
    /// Those by class of lifetimes and key: these classes, and the same, ns.
    Ages { classes: Range<u64>, age: Span },
    /// Those of all keys together.
    Totals,
}

/// A plan to which a question is added.
struct Adding<'a> {
    plan: &'a mut Plan,
    axis: &'a Axis,
    question: usize,
    sign: Sign,
    from: &'a From,
}

/// Any class of lifetimes.
const ANY_AGE: Range<u64> = 0..u64::MAX;

impl Adding<'_> {
    /// What was born in this time.
    fn allocated(&mut self, born: &Span) {
        let leaves = Leaves::of(born, self.axis);
        match self.from {
            From::Totals => self.take(Kind::Allocated, 0, Part::Leaves(leaves.whole.clone())),
            From::Keys | From::Ages { .. } => {
                for step in leaves.steps(self.axis) {
                    self.take(Kind::StepBorn, step, Part::ByKey);
                }
                for leaf in leaves.strips(self.axis) {
                    self.take(Kind::Born, leaf, Part::ByKey);
                }
            }
        }
        for leaf in leaves.partial {
            self.read(leaf, Edge::Born(*born));
        }
    }

    /// What was born in one time and died in another.
    fn freed(&mut self, born: &Span, died: &Span) {
        if born.is_empty() || died.is_empty() {
            return;
        }
        let (births, deaths) = (Leaves::of(born, self.axis), Leaves::of(died, self.axis));
        let (ages, age) = match self.from {
            From::Ages { classes, age } => (classes.clone(), *age),
            From::Keys | From::Totals => (ANY_AGE, Span::ALL),
        };
        match self.from {
            From::Keys => self.freed_in_whole_leaves(&births, &deaths),
            From::Ages { classes, .. } => self.aged_in_whole_leaves(&births, &deaths, classes),
            From::Totals => self.totals_of_whole_leaves(&births, &deaths),
        }
        for leaf in births.partial {
            let survivors = Part::Survivors { born: *born, deaths: deaths.whole.clone(), ages: ages.clone() };
            self.take(Kind::Survivors, leaf, survivors);
            if deaths.whole.contains(&leaf) {
                self.read(leaf, Edge::Died { born: born.and(&span(leaf, self.axis)), died: Span::ALL, age });
            }
        }
        for leaf in deaths.partial {
            self.read(leaf, Edge::Died { born: *born, died: *died, age });
        }
    }

    fn totals_of_whole_leaves(&mut self, births: &Leaves, deaths: &Leaves) {
        if deaths.whole == (0..self.axis.leaves()) {
            return self.take(Kind::Ages, 0, Part::Leaves(births.whole.clone()));
        }
        // Nothing dies before its birth.
        let deaths = deaths.whole.start.max(births.whole.start)..deaths.whole.end;
        let per_step = self.axis.leaves_per_step();
        if !births.whole.is_empty() && !deaths.is_empty() {
            for step in deaths.start / per_step..deaths.end.div_ceil(per_step) {
                let (births, deaths) = (births.whole.clone(), deaths.clone());
                self.take(Kind::Deaths, step, Part::Deaths { births, deaths });
            }
        }
    }

    fn freed_in_whole_leaves(&mut self, births: &Leaves, deaths: &Leaves) {
        let steps = deaths.steps(self.axis);
        let in_steps = in_leaves(&steps, self.axis);
        for leaf in deaths.strips(self.axis) {
            self.take(Kind::Died, leaf, Part::ByBirth(births.whole.clone()));
        }
        for step in steps {
            self.take(Kind::StepDied, step, Part::ByBirth(births.steps(self.axis)));
        }
        for leaf in births.strips(self.axis) {
            let survivors = Part::Survivors { born: Span::ALL, deaths: in_steps.clone(), ages: ANY_AGE };
            self.take(Kind::Survivors, leaf, survivors);
            if in_steps.contains(&leaf) {
                self.take(Kind::Died, leaf, Part::ByBirth(leaf..leaf + 1));
            }
        }
    }

    fn aged_in_whole_leaves(&mut self, births: &Leaves, deaths: &Leaves, ages: &Range<u64>) {
        let is_any_death = deaths.whole == (0..self.axis.leaves());
        let steps = if is_any_death { births.steps(self.axis) } else { 0..0 };
        let in_steps = in_leaves(&steps, self.axis);
        for step in steps {
            self.take(Kind::StepAges, step, Part::ByAge(ages.clone()));
        }
        for leaf in births.whole.clone().filter(|leaf| !in_steps.contains(leaf)) {
            if deaths.whole.contains(&leaf) {
                self.take(Kind::Young, leaf, Part::ByAge(ages.clone()));
            }
            let deaths = deaths.whole.clone();
            self.take(Kind::Survivors, leaf, Part::Survivors { born: Span::ALL, deaths, ages: ages.clone() });
        }
    }

    fn take(&mut self, kind: Kind, number: u32, part: Part) {
        if has_any(number, &part) {
            let uses = self.plan.sections.entry((kind, number)).or_default();
            Use::add(uses, part, (self.question, self.sign));
        }
    }

    fn read(&mut self, leaf: u32, edge: Edge) {
        // Nothing dies before its birth.
        if !matches!(edge, Edge::Died { born, died, .. } if born.from_ns >= died.to_ns) {
            let uses = self.plan.events.entry(leaf).or_default();
            Use::add(uses, edge, (self.question, self.sign));
        }
    }
}

/// Whether there can be any block in a part of a section with this number.
fn has_any(number: u32, part: &Part) -> bool {
    match part {
        // None dies in a later leaf than that of its birth if none of the leaves is later.
        Part::Survivors { deaths, .. } => deaths.end > number + 1 && !deaths.is_empty(),
        // Nor before its birth.
        Part::ByBirth(births) => !births.is_empty() && births.start <= number,
        Part::Leaves(leaves) => !leaves.is_empty(),
        Part::ByKey | Part::ByAge(_) | Part::Deaths { .. } => true,
    }
}

/// A leaf as a stretch of time.
fn span(leaf: u32, axis: &Axis) -> Span {
    Span { from_ns: axis.begin_ns(leaf), to_ns: axis.end_ns(leaf).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many sections by key, by birth and of survivors are read for these questions, and of how many leaves the
    /// events.
    fn read(questions: &[Question]) -> [usize; 4] {
        let axis = Axis::new((0..256).map(|n| n * 10).collect());
        let plan = Plan::new(questions, &axis);
        let of = |kinds: &[Kind]| plan.sections.keys().filter(|(kind, _)| kinds.contains(kind)).count();
        [
            of(&[Kind::Born, Kind::StepBorn]),
            of(&[Kind::Died, Kind::StepDied]),
            of(&[Kind::Survivors]),
            plan.events.len(),
        ]
    }

    fn span(from_ns: u64, to_ns: u64) -> Span {
        Span { from_ns, to_ns }
    }

    #[test]
    fn a_long_time_is_answered_by_its_steps() {
        let check = |question: Question, expected: [usize; 4]| {
            assert_eq!(read(&[question]), expected, "{question:?}");
        };
        check(Question::allocated(Span::ALL), [4, 0, 0, 0]);
        check(Question::allocated(span(0, 655)), [2, 0, 0, 1]); // step 0, leaf 64, part of leaf 65
        check(Question::freed(span(0, 640)), [0, 1, 0, 0]);
        check(Question::live_at(639), [1, 1, 0, 0]);
        check(Question::live_at(635), [63, 63, 0, 1]); // one leaf is decoded, once
        check(Question { born: span(10, 20), death: Death::After(639) }, [1, 1, 1, 0]);
        check(Question { born: span(50, 50), death: Death::In(Span::ALL) }, [0, 0, 0, 0]);
    }

    #[test]
    fn what_questions_share_is_read_once() {
        let generations = |from_ns, to_ns| {
            let born = span(from_ns, to_ns);
            [Question::allocated(born), Question::never_freed(born)]
        };
        let (first, second) = (generations(5, 1_285), generations(1_285, 2_555));
        assert_eq!(read(&first), [63 + 1, 63 + 3, 63 + 2, 2]);
        assert_eq!(read(&second), [126, 126, 126 + 1, 2]);
        // They meet in a leaf.
        assert_eq!(read(&[first, second].concat()), [64 + 126, 66 + 126, 65 + 126, 3]);
    }
}
