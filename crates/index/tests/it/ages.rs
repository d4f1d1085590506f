//! Lifetimes by the index, and by the events alone, against those of each block of a history.

use std::collections::BTreeMap;

use heapscribe_index::{AGES_NS, AgeMap, Amount, Bounds, Columns, Density, Events, Index, Key, Span};

use crate::histories::Random;

/// Ages are those of each block, whether they are asked for or added up by time.
pub(crate) fn check_ages(
    random: &Random,
    index: &Index<Vec<u8>>,
    events: &Events<'_, Random>,
    born: Span,
    died: Span,
) {
    let (begin_ns, leaves) = (born.from_ns.min(2_000), index.axis().begins_ns());
    let equal = (0..=9).map(|n| begin_ns + 37 * n).collect();
    let of_leaves = leaves.iter().copied().step_by(3).filter(|ns| born.contains(*ns)).collect();
    let of_steps = leaves.iter().copied().step_by(index.axis().leaves_per_step() as usize).chain([u64::MAX]);
    for moments in [equal, of_leaves, of_steps.collect(), vec![0, u64::MAX], vec![born.from_ns, born.to_ns]] {
        check_map(random, index, events, &Bounds::new(moments));
    }
    check_density(random, events, begin_ns);
    for age in [(3, 40), (0, u64::MAX), (0, 100), (100, 1_000), (300, u64::MAX), (3_000, 3_001)] {
        let age = Span { from_ns: age.0, to_ns: age.1 };
        check_aged(random, index, events, &born, &died, age);
    }
}

fn check_map(random: &Random, index: &Index<Vec<u8>>, events: &Events<'_, Random>, bounds: &Bounds) {
    let is_wanted = |key: &Key| key.thread != 2;
    let (all, some) = (expected_map(random, bounds, |_| true), expected_map(random, bounds, is_wanted));
    assert_eq!(events.age_map(bounds, Some(&is_wanted)), some, "{bounds:?}");
    assert_eq!(index.age_map(bounds, None, events).unwrap(), all, "{bounds:?} {:?}", index.axis());
    // Of an index that keeps no threads apart, none can be asked for.
    if !index.is_coarse() {
        let found = index.age_map(bounds, Some(&is_wanted), events).unwrap();
        assert_eq!(found, some, "{bounds:?} {:?}", index.axis());
    }
}

fn expected_map(random: &Random, bounds: &Bounds, is_wanted: impl Fn(&Key) -> bool) -> AgeMap {
    let none = || vec![Amount::default(); bounds.columns()];
    let mut expected = AgeMap { born: none(), freed: AGES_NS.iter().map(|_| none()).collect() };
    for (_, size, born_ns, died) in random.ages().filter(|(key, ..)| is_wanted(key)) {
        let column = bounds.moments_ns().windows(2).position(|of| of[0] <= born_ns && born_ns < of[1]);
        let (Some(column), amount) = (column, Amount::new(1, size)) else { continue };
        expected.born[column].add(amount);
        if let Some((_, age_ns)) = died {
            let age = AGES_NS.iter().rposition(|begin_ns| *begin_ns <= age_ns).unwrap();
            expected.freed[age][column].add(amount);
        }
    }
    expected
}

fn check_density(random: &Random, events: &Events<'_, Random>, begin_ns: u64) {
    let columns = Columns { begin_ns, step_ns: 37, count: 9 };
    let column = |ns: u64| ns.checked_sub(begin_ns).map(|ns| (ns / 37) as usize).filter(|at| *at < 9);
    for of in [Density::Allocated, Density::Freed] {
        let mut cells = vec![Amount::default(); 9];
        let within = Span { from_ns: begin_ns + 5, to_ns: begin_ns + 8 * 37 + 11 };
        for (key, size, born_ns, died) in random.ages() {
            let ns = if of == Density::Allocated { Some(born_ns) } else { died.map(|(ns, _)| ns) };
            let ns = ns.filter(|ns| within.contains(*ns));
            if let Some(at) = ns.and_then(column).filter(|_| key.stack.0 != 1) {
                cells[at].add(Amount::new(1, size));
            }
        }
        assert_eq!(
            events.density(&columns, &within, of, Some(&|key: &Key| key.stack.0 != 1)),
            cells,
            "{of:?}"
        );
    }
}

/// An index has the lifetimes between ends of classes, and no others.
fn check_aged(
    random: &Random,
    index: &Index<Vec<u8>>,
    events: &Events<'_, Random>,
    born: &Span,
    died: &Span,
    age: Span,
) {
    let mut expected = BTreeMap::<Key, Amount>::new();
    for (key, size, born_ns, died_ns) in random.ages() {
        let Some((ns, age_ns)) = died_ns else { continue };
        if born.contains(born_ns) && died.contains(ns) && age.contains(age_ns) {
            expected.entry(key).or_default().add(Amount::new(1, size));
        }
    }
    let by_pass: BTreeMap<Key, Amount> = events.aged(born, died, &age).into_iter().collect();
    assert_eq!(by_pass, expected, "{born:?} {died:?} {age:?}");
    let Some(sums) = index.aged(born, died, &age, events).unwrap() else {
        let is_end = |ns| ns == u64::MAX || AGES_NS.contains(&ns);
        assert!(!is_end(age.from_ns) || !is_end(age.to_ns), "{age:?}");
        return;
    };
    let mut total = Amount::default();
    expected.values().for_each(|amount| total.add(*amount));
    assert_eq!(sums.total(), total, "{born:?} {died:?} {age:?} {:?}", index.axis());
    if !index.is_coarse() {
        let found: BTreeMap<Key, Amount> =
            sums.iter().map(|(key, amount)| (index.keys()[key.0 as usize], amount)).collect();
        assert_eq!(found, expected, "{born:?} {died:?} {age:?} {:?}", index.axis());
    }
}
