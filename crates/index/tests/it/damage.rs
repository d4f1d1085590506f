//! Damaged and hostile indices: they are refused, or answered with what they hold, and nothing panics.

use crate::histories::{Random, Step, alloc, free, mark};
use crate::resealed::index_of;
use heapscribe_index::{
    Bounds, BuildOptions, Death, Events, Index, IndexError, Key, Question, Span, TraceId, build,
};

const TRACE: TraceId = TraceId { bytes: 0, checksum: 0 };

fn steps() -> Vec<Step> {
    (0..60).flat_map(|n| [alloc(n, 24 + u64::from(n), 1 + n % 3), free(n, 3), mark(1 + n % 2)]).collect()
}

fn index(of: &Random) -> Vec<u8> {
    let (options, mut file) = (BuildOptions { events_per_leaf: 10, ..BuildOptions::default() }, Vec::new());
    build(of, &TRACE, &options, &mut file, &mut |_, _| {}).unwrap();
    file
}

/// Asks about everything there is.
fn ask_all(file: Vec<u8>, of: &Random) -> Result<Vec<i64>, IndexError> {
    let index = Index::open(file, &TRACE)?;
    let span = Span { from_ns: 105, to_ns: 290 };
    let questions =
        [Question::live_at(200), Question::freed(span), Question { born: span, death: Death::After(300) }];
    let events = Events::new(of);
    let heap = index.heap()?;
    let peak = [heap.peak.bytes, heap.peak.time_ns].map(|n| n as i64);
    let noted = index.note_names()?.unwrap_or_default().into_iter().map(|name| index.notes(&name));
    let noted = noted.map(|notes| Ok(notes?.map_or(0, |notes| notes.len()) as i64)).collect::<Vec<_>>();
    let figures = peak.into_iter().map(Ok).chain(noted);
    let answers = questions.iter().map(|question| Ok(index.ask(question, &events)?.total().bytes));
    figures.chain(answers).chain(lifetimes(&index, &questions, &events)?.into_iter().map(Ok)).collect()
}

/// Totals and lifetimes, from each kind of section that has any.
fn lifetimes(
    index: &Index<Vec<u8>>,
    questions: &[Question],
    events: &Events<'_, Random>,
) -> Result<Vec<i64>, IndexError> {
    let is_wanted = |key: &Key| key.thread != 9;
    let mut all: Vec<i64> = index.totals(questions, None, events)?.iter().map(|total| total.bytes).collect();
    for moments in [vec![0, u64::MAX], vec![0, 150, 290]] {
        for is_wanted in [None, Some(&is_wanted as &(dyn Fn(&Key) -> bool + Sync))] {
            let map = index.age_map(&Bounds::new(moments.clone()), is_wanted, events)?;
            all.extend(map.born.iter().chain(map.freed.iter().flatten()).map(|amount| amount.bytes));
        }
    }
    let age = Span { from_ns: 0, to_ns: 100 };
    for born in [Span::ALL, Span { from_ns: 105, to_ns: 290 }] {
        all.extend(index.aged(&born, &Span::ALL, &age, events)?.map(|sums| sums.total().bytes));
    }
    Ok(all)
}

#[test]
fn no_damaged_byte_changes_an_answer() {
    let random = Random::new(&steps(), 0);
    let whole = index(&random);
    let answers = ask_all(whole.clone(), &random).unwrap();
    assert!(answers.iter().any(|bytes| *bytes != 0), "{answers:?}");
    for at in 0..whole.len() {
        for bit in [1, 0x80] {
            let mut damaged = whole.clone();
            damaged[at] ^= bit;
            if let Ok(found) = ask_all(damaged, &random) {
                assert_eq!(found, answers, "byte {at}");
            }
        }
        assert!(ask_all(whole[..at].to_vec(), &random).is_err(), "cut at {at}");
    }
}

#[test]
fn hostile_sections_are_refused_or_answered() {
    let random = Random::new(&steps(), 0);
    let rows = |count: u64, widths: &[u8], values: &[u8]| [&count.to_le_bytes()[..], widths, values].concat();
    let section = |kind: u8, raw: &[u8]| [&[kind, 0, raw.len() as u8, 0], raw].concat();
    let trace = section(0, &rows(1, &[1, 0], &[0]));
    let axis = section(1, &rows(2, &[1], &[0, 150]));
    let peak = section(4, &rows(1, &[1, 0, 0, 0], &[9]));
    let keys = section(3, &rows(1, &[1, 1, 1, 1], &[0, 1, 1, 1]));
    let begin = [&trace[..], &axis, &peak, &keys].concat();
    // Keys that there are not, births after deaths, moments that wrap around, other widths, too many rows.
    let hostile = [
        section(9, &rows(1, &[8, 1, 8], &[0xff; 17])),
        section(6, &rows(2, &[4, 8, 1, 1], &[0xff; 28])),
        section(7, &rows(1, &[8, 8, 8, 8, 8, 8], &[0xff; 48])),
        section(8, &rows(1, &[8, 8, 8, 8], &[0xff; 32])),
        section(17, &rows(2, &[8, 1, 8, 8], &[0xff; 50])),
        section(17, &rows(2, &[1, 1, 1, 1], &[30, 5, 0, 0, 1, 1, 9, 9])),
        section(18, &rows(1, &[8, 8, 8, 8], &[0xff; 32])),
        section(19, &rows(4, &[8, 8], &[0xff; 64])),
        section(20, &rows(1, &[8, 8, 8, 8], &[0xff; 32])),
        section(5, &rows(u64::MAX, &[1, 0, 0], &[0])),
        section(8, &rows(2, &[1, 1, 1, 1], &[30, 5, 0, 0, 1, 1, 9, 9])),
        section(12, &rows(1, &[4, 4, 8, 8, 8, 8, 8], &[0xff; 48])),
        section(13, &rows(2, &[8], &[0xff; 16])),
        section(14, &rows(1, &[8, 8, 8, 8], &[0xff; 32])),
    ];
    for (n, section) in hostile.iter().enumerate() {
        // That a section of a leaf is damaged is seen when it is asked for.
        let _ = ask_all(index_of(&[&begin[..], section].concat()), &random);
        assert!(ask_all(index_of(section), &random).is_err(), "{n}: there is no axis");
    }
    assert!(ask_all(index_of(&begin), &random).is_ok());
    let hostile_keys = section(3, &rows(1, &[8, 8, 8, 8], &[0xff; 32]));
    assert!(
        ask_all(index_of(&[&begin[..begin.len() - keys.len()], &hostile_keys].concat()), &random).is_err()
    );
}
