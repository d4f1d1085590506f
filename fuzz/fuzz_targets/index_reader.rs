//! Any bytes as an index of an empty trace: as they are, and as its sections, behind checksums that are right.
#![no_main]

#[path = "../../crates/index/tests/it/resealed/mod.rs"]
mod resealed;

use heapscribe_analyze::Recording;
use heapscribe_formats::{Trace, Writer};
use heapscribe_index::{Bounds, Death, Events, Index, Key, Question, Span, TraceId};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ask(bytes.to_vec());
    ask(resealed::index_of(bytes));
});

/// Opens it and asks for ranges whose edges lie in its leaves and between them.
fn ask(file: Vec<u8>) {
    let Ok(index) = Index::open(file, &TraceId::default()) else { return };
    let _ = index.heap();
    for name in index.note_names().ok().flatten().unwrap_or_default().iter().take(9) {
        let _ = index.notes(name);
    }
    let mut empty = Vec::new();
    Writer::new().finish(&mut empty);
    let Ok(trace) = Trace::open(empty) else { return };
    let recording = Recording::new(&trace);
    let events = Events::new(&recording);
    let moments: Vec<u64> = index.axis().begins_ns().iter().step_by(7).take(5).map(|ns| ns + 1).collect();
    for (from_ns, to_ns) in moments.iter().flat_map(|from| moments.iter().map(move |to| (*from, *to))) {
        let span = Span { from_ns, to_ns };
        for death in [Death::Any, Death::In(span), Death::In(Span::ALL), Death::After(to_ns)] {
            if let Ok(sums) = index.ask(&Question { born: span, death }, &events) {
                assert!(sums.iter().count() <= index.keys().len());
            }
            let _ = index.totals(&[Question { born: span, death }], None, &events);
        }
        let _ = index.aged(&span, &Span::ALL, &Span { from_ns: 0, to_ns: 300 }, &events);
    }
    let bounds = Bounds::new([0, u64::MAX].into_iter().chain(moments).collect());
    let is_even = |key: &Key| key.stack.0 % 2 == 0;
    let _ = (index.age_map(&bounds, None, &events), index.age_map(&bounds, Some(&is_even), &events));
}
