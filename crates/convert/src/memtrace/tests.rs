//! Damaged and changed files through both conversions: nothing of it panics or takes long, and what comes
//! out is a whole file that says what the one before it said.
//!
//! `HEAPSCRIBE_CONVERSIONS` says how many files are made; CI makes more than a test run.

use std::ops::ControlFlow;
use std::path::PathBuf;

use heapscribe_formats::Trace;
use heapscribe_formats::memtrace::{Event, ReadOptions, Reader};
use proptest::prelude::*;

use super::from::{self, Sizes};
use super::to;
use crate::one_process::{OneProcess, choose};
use heapscribe_symbols::Resolver;

fn fixtures(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/fixtures").join(folder);
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// What is done to a file.
#[derive(Clone, Debug)]
enum Change {
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    /// A piece of it is put in once more, elsewhere.
    Repeat(prop::sample::Index, prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        6 => (index(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => index().prop_map(Change::Cut),
        1 => (index(), index(), 0usize..4000).prop_map(|(from, to, len)| Change::Repeat(from, to, len)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
        let len = bytes.len().max(1);
        match change {
            Change::Set(at, byte) => bytes.iter_mut().skip(at.index(len)).take(1).for_each(|b| *b = *byte),
            Change::Cut(at) => bytes.truncate(at.index(len)),
            Change::Repeat(from, to, n) => {
                let piece: Vec<u8> = bytes.iter().skip(from.index(len)).take(*n).copied().collect();
                let to = to.index(len).min(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

/// Ours from theirs; `None` when nothing of it can be read.
fn to_native(file: &[u8]) -> Option<(u64, Vec<u8>)> {
    let mut reader = Reader::open(file, ReadOptions { stacks: true, salvage: true }).ok()?;
    let mut out = Vec::new();
    let (tally, _) = from::convert(&mut reader, &mut out, Sizes::AsAsked).unwrap();
    Some((tally.all.objects, out))
}

/// Theirs from ours, of the process with most events.
fn to_theirs(trace: &[u8]) -> Option<Vec<u8>> {
    let trace = Trace::open(trace).ok()?;
    let resolver = Resolver::new("/nonexistent");
    let mut out = Vec::new();
    let (process, _) = choose(&trace, OneProcess::default()).ok()?;
    to::convert(&trace, process, &resolver, &mut out).ok()?;
    Some(out)
}

/// Objects in a file that must be whole.
fn objects(file: &[u8]) -> u64 {
    let mut reader = Reader::open(file, ReadOptions { stacks: true, salvage: false }).unwrap();
    let mut objects = 0;
    let read: Result<Option<()>, _> = reader.for_each(|_, event| {
        objects += u64::from(matches!(event, Event::Alloc(_)));
        ControlFlow::Continue(())
    });
    assert_eq!(read.map_err(|e| e.to_string()), Ok(None));
    objects
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("HEAPSCRIBE_CONVERSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(32);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn theirs_to_ours_and_back(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 0..6),
    ) {
        let files = fixtures("memtrace", "ctf");
        let file = changed(files[which.index(files.len())].clone(), &changes);
        if let Some((found, ours)) = to_native(&file) {
            let back = to_theirs(&ours).unwrap();
            prop_assert_eq!(objects(&back), found);
            let (roundtrip, ours) = to_native(&back).unwrap();
            prop_assert_eq!(roundtrip, found);
            prop_assert_eq!(objects(&to_theirs(&ours).unwrap()), found);
        }
    }

    #[test]
    fn ours_to_theirs(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 0..3),
    ) {
        let files = fixtures("", "trace");
        let file = changed(files[which.index(files.len())].clone(), &changes);
        if let Some(theirs) = to_theirs(&file) {
            let found = objects(&theirs);
            prop_assert_eq!(to_native(&theirs).unwrap().0, found);
        }
    }
}
