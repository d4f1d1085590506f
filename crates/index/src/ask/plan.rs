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

use crate::amount::Amount;
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
