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
//! it in part is decoded, and so is, for what is born and dies in it, each leaf of birth.

use std::ops::Range;

use super::leaves::{Leaves, in_leaves};
use crate::amount::Amount;
use crate::axis::Axis;
use crate::file::Kind;
use crate::question::{Death, Question, Span};

/// A part of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// A section by key.
    ByKey { kind: Kind, number: u32 },
    /// Of a section by birth and key, these leaves or steps of birth.
    ByBirth { kind: Kind, number: u32, births: Range<u32> },
    /// Of the survivors of a leaf those that were born in this time and died in these leaves, all of them later ones.
    Survivors { leaf: u32, born: Span, deaths: Range<u32> },
    /// Of the events of a leaf.
    Events { leaf: u32, edge: Edge },
}

/// What is taken of the events in a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edge {
    /// Blocks allocated in this time.
    Born(Span),
    /// Blocks freed in one time that were born in another.
    Died { born: Span, died: Span },
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
        Death::In(died) => vec![(Sign::Plus, Edge::Died { born, died })],
        Death::After(ns) | Death::NotUntil(ns) => {
            let died = Edge::Died { born, died: Span::until(ns) };
            vec![(Sign::Plus, Edge::Born(born)), (Sign::Minus, died)]
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

/// The parts of an answer.
pub(super) fn plan(question: &Question, axis: &Axis) -> Vec<(Sign, Part)> {
    let Question { born, death } = question;
    let signed = |sign, parts: Vec<Part>| parts.into_iter().map(move |part| (sign, part));
    match *death {
        Death::Any => signed(Sign::Plus, allocated(born, axis)).collect(),
        Death::In(died) => signed(Sign::Plus, freed(born, &died, axis)).collect(),
        Death::After(ns) | Death::NotUntil(ns) => {
            let until = freed(born, &Span::until(ns), axis);
            signed(Sign::Plus, allocated(born, axis)).chain(signed(Sign::Minus, until)).collect()
        }
    }
}

/// What was born in this time.
fn allocated(born: &Span, axis: &Axis) -> Vec<Part> {
    let leaves = Leaves::of(born, axis);
    let of_step = |number| Part::ByKey { kind: Kind::StepBorn, number };
    let of_leaf = |number| Part::ByKey { kind: Kind::Born, number };
    let steps = leaves.steps(axis).map(of_step);
    let strips = leaves.strips(axis).map(of_leaf);
    let edges = leaves.partial.iter().map(|leaf| Part::Events { leaf: *leaf, edge: Edge::Born(*born) });
    steps.chain(strips).chain(edges).collect()
}

/// What was born in one time and died in another.
fn freed(born: &Span, died: &Span, axis: &Axis) -> Vec<Part> {
    if born.is_empty() || died.is_empty() {
        return Vec::new();
    }
    let (births, deaths) = (Leaves::of(born, axis), Leaves::of(died, axis));
    let mut parts = freed_in_whole_leaves(&births, &deaths, axis);
    for leaf in births.partial {
        parts.push(Part::Survivors { leaf, born: *born, deaths: deaths.whole.clone() });
        if deaths.whole.contains(&leaf) {
            let edge = Edge::Died { born: born.and(&span(leaf, axis)), died: Span::ALL };
            parts.push(Part::Events { leaf, edge });
        }
    }
    let edge = Edge::Died { born: *born, died: *died };
    parts.extend(deaths.partial.into_iter().map(|leaf| Part::Events { leaf, edge }));
    parts.retain(has_any);
    parts
}

fn freed_in_whole_leaves(births: &Leaves, deaths: &Leaves, axis: &Axis) -> Vec<Part> {
    let by_birth = |kind, births: &Range<u32>| {
        let births = births.clone();
        move |number| Part::ByBirth { kind, number, births: births.clone() }
    };
    let steps = deaths.steps(axis);
    let in_steps = in_leaves(&steps, axis);
    let mut parts: Vec<Part> = deaths.strips(axis).map(by_birth(Kind::Died, &births.whole)).collect();
    parts.extend(steps.map(by_birth(Kind::StepDied, &births.steps(axis))));
    for leaf in births.strips(axis) {
        parts.push(Part::Survivors { leaf, born: Span::ALL, deaths: in_steps.clone() });
        if in_steps.contains(&leaf) {
            parts.push(Part::ByBirth { kind: Kind::Died, number: leaf, births: leaf..leaf + 1 });
        }
    }
    parts
}

/// Whether there can be any block in a part.
fn has_any(part: &Part) -> bool {
    match part {
        // None dies in a later leaf than that of its birth if none of the leaves is later.
        Part::Survivors { leaf, deaths, .. } => deaths.end > leaf + 1 && !deaths.is_empty(),
        // Nor before its birth.
        Part::ByBirth { kind: Kind::Died | Kind::StepDied, number, births } => {
            !births.is_empty() && births.start <= *number
        }
        Part::Events { edge: Edge::Died { born, died }, .. } => born.from_ns < died.to_ns,
        Part::ByBirth { .. } | Part::ByKey { .. } | Part::Events { .. } => true,
    }
}

/// A leaf as a stretch of time.
fn span(leaf: u32, axis: &Axis) -> Span {
    Span { from_ns: axis.begin_ns(leaf), to_ns: axis.end_ns(leaf).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_is_answered_by_its_steps() {
        let axis = Axis::new((0..256).map(|n| n * 10).collect());
        let count = |question: &Question| {
            let parts = plan(question, &axis);
            let of = |is_one: fn(&Part) -> bool| parts.iter().filter(|(_, part)| is_one(part)).count();
            (
                of(|part| matches!(part, Part::ByKey { .. })),
                of(|part| matches!(part, Part::ByBirth { .. })),
                of(|part| matches!(part, Part::Survivors { .. })),
                of(|part| matches!(part, Part::Events { .. })),
            )
        };
        let span = |from_ns, to_ns| Span { from_ns, to_ns };
        assert_eq!(count(&Question::allocated(Span::ALL)), (4, 0, 0, 0));
        assert_eq!(count(&Question::allocated(span(0, 655))), (2, 0, 0, 1)); // step 0, leaf 64, part of leaf 65
        assert_eq!(count(&Question::freed(span(0, 640))), (0, 1, 0, 0));
        assert_eq!(count(&Question::live_at(639)), (1, 1, 0, 0));
        assert_eq!(count(&Question { born: span(10, 20), death: Death::After(639) }), (1, 1, 1, 0));
        assert_eq!(count(&Question { born: span(50, 50), death: Death::In(Span::ALL) }), (0, 0, 0, 0));
    }
}
