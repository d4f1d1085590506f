//! Which sections and which events an answer is made of.
//!
//! Of a rectangle of birth and death, with D the leaves of death that lie in it as a whole and B those of birth:
//!
//! ```text
//!           death    | D: leaf by leaf | D: in whole steps | D: leaf by leaf
//!  birth             +-----------------+-------------------+----------------
//!  B: leaf by leaf   |  Died of the    |  Survivors of the |  Died of the
//!  B: whole steps    |  leaf of death  |  StepDied         |  leaf of death
//!  B: leaf by leaf   |                 |  leaf of birth    |
//! ```
//! A leaf of birth that lies in it in part gives the survivors that were born in that part; one of death that lies in
//! it in part is decoded, and so is, for what is born and dies in it, each leaf of birth. A leaf is decoded once,
//! whatever is taken of it.
//!
//! Of blocks of some classes of lifetimes, whole leaves of birth give those that died in them (Young), and their
//! survivors; where any death is asked for, whole steps of birth give both (StepAges).
//!
//! Totals over all keys need neither: what died in each leaf is known by leaf of birth (Deaths).

use std::collections::BTreeMap;
use std::ops::Range;

use super::adding::{Adding, From};
use crate::amount::Amount;
use crate::axis::Axis;
use crate::file::Kind;
use crate::question::{Death, Question, Span};

/// What answers to some questions are made of: each section, and the events of each leaf, are read once.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) sections: BTreeMap<(Kind, u32), Vec<Use<Part>>>,
    /// By leaf.
    pub(super) events: BTreeMap<u32, Vec<Use<Edge>>>,
}

/// What is taken, and for which answers: several questions often want the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Use<T> {
    pub(super) what: T,
    takers: Vec<(usize, Sign)>,
}

impl<T: PartialEq> Use<T> {
    /// Adds one to those of a section or a leaf.
    pub(super) fn add(uses: &mut Vec<Use<T>>, what: T, taker: (usize, Sign)) {
        match uses.iter_mut().find(|of| of.what == what) {
            Some(same) => same.takers.push(taker),
            None => uses.push(Use { what, takers: vec![taker] }),
        }
    }

    /// Gives an amount to each answer, by the number of its question.
    #[inline(always)]
    pub(super) fn give(&self, amount: Amount, mut give: impl FnMut(usize, Amount)) {
        self.takers.iter().for_each(|(question, sign)| give(*question, sign.of(amount)));
    }
}

/// What is taken of a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// All of one by key.
    ByKey,
    /// Of one by birth and key, these leaves or steps of birth.
    ByBirth(Range<u32>),
    /// Of one by class of lifetimes and key, these classes.
    ByAge(Range<u64>),
    /// Of one by leaf, these leaves.
    Leaves(Range<u32>),
    /// Of one by leaf of death and leaf of birth, these of either.
    Deaths { births: Range<u32>, deaths: Range<u32> },
    /// Of the survivors of a leaf those that were born in this time and died in these leaves, all of them later ones, at
    /// an age of these classes.
    Survivors { born: Span, deaths: Range<u32>, ages: Range<u64> },
}

/// What is taken of the events in a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edge {
    /// Blocks allocated in this time.
    Born(Span),
    /// Blocks freed in one time that were born in another, and lived so long, ns.
    Died { born: Span, died: Span, age: Span },
}

/// Whether a part is added or taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Plus,
    Minus,
}

/// An answer from events alone.
pub(super) fn edges(question: &Question) -> Vec<(Sign, Edge)> {
    let Question { born, death } = *question;
    match death {
        Death::Any => vec![(Sign::Plus, Edge::Born(born))],
        Death::In(died) => vec![(Sign::Plus, Edge::Died { born, died, age: Span::ALL })],
        Death::After(ns) | Death::NotUntil(ns) => {
            let died = Edge::Died { born, died: Span::until(ns), age: Span::ALL };
            vec![(Sign::Plus, Edge::Born(born)), (Sign::Minus, died)]
        }
    }
}

impl Edge {
    /// When the events are of which it takes any. Nothing dies before its birth.
    pub(super) fn time(&self) -> Span {
        match *self {
            Edge::Born(born) => born,
            Edge::Died { born, died, .. } => died.and(&Span { from_ns: born.from_ns, to_ns: u64::MAX }),
        }
    }
}

impl Sign {
    /// An amount with this sign.
    pub(super) fn of(self, amount: Amount) -> Amount {
        match self {
            Sign::Plus => amount,
            Sign::Minus => -amount,
        }
    }
}

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
