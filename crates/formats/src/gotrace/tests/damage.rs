//! Damaged and cut files: the problems that are reported, and what is read.

use proptest::prelude::*;

use super::super::{GoTraceError, Trace};
use super::{FIRST_GENERATION_BYTES, batch, lines, problems, sample_one, sample_two};

/// Every cut of a file: what is there is a part of the whole, in its order, and the cut is reported.
fn check_cuts(whole: &[u8]) {
    let all = lines(whole);
    for cut in 16..whole.len() {
        let part = &whole[..cut];
        let read = lines(part);
        let mut rest = all.iter().map(|line| bare(line));
        for line in &read {
            assert!(rest.any(|other| other == bare(line)), "{line} of a file cut at {cut}");
        }
        assert!(!problems(part).is_empty(), "a file cut at {cut}");
    }
}

/// A line without its stack, whose names come later in the file.
fn bare(line: &str) -> String {
    line.split(" at ").next().unwrap().to_owned()
}

#[test]
fn every_cut_of_layout_one_is_read_as_far_as_it_goes() {
    check_cuts(&sample_one());
}

#[test]
fn every_cut_of_layout_two_is_read_as_far_as_it_goes() {
    let whole = sample_two();
    let all = lines(&whole);
    for cut in 16..whole.len() {
        let read = lines(&whole[..cut]);
        assert!(read.iter().all(|line| all.iter().any(|other| bare(other) == bare(line))));
        // Only a cut between two generations leaves a whole file.
        assert_eq!(problems(&whole[..cut]).is_empty(), cut == FIRST_GENERATION_BYTES, "a file cut at {cut}");
    }
    assert_eq!(lines(&whole[..FIRST_GENERATION_BYTES]).len(), 8);
}

#[test]
fn a_killed_program_leaves_only_the_header() {
    let whole = sample_one();
    let trace = Trace::open(&whole[..16]).unwrap();
    assert_eq!((trace.events(), trace.ticks(), trace.frequency()), (0, None, None));
    assert_eq!(
        problems(&sample_one()[..16]),
        ["the file ends before the clock's rate, stacks and names at byte 16"]
    );
}

#[test]
fn other_files_are_refused() {
    let refused = |bytes: &[u8]| Trace::open(bytes).unwrap_err().to_string();
    assert_eq!(refused(b""), "not a Go trace at byte 0");
    assert_eq!(refused(&sample_one()[..15]), "not a Go trace at byte 0");
    assert_eq!(refused(b"go 1.99 trace\0\0\0"), "trace of go 1.99, known are go 1.11 to go 1.23 at byte 0");
}

#[test]
fn a_bad_event_costs_the_rest_of_its_batch() {
    let good = sample_two();
    let (head, tail) = good.split_at(16);
    let bad = batch(&[1, 9, 900], &[27, 1, 77, 1, 27, 1]);
    let bytes = [head, &bad, tail].concat();
    let offset = 16 + bad.len() - 4;
    assert_eq!(problems(&bytes), [format!("unknown event 77 at byte {offset}")]);
    assert_eq!(lines(&bytes).len(), 12);
}

#[test]
fn an_invalid_batch_ends_the_file() {
    let good = sample_two();
    let bytes = [&good[..], &[7, 0, 0]].concat();
    assert_eq!(problems(&bytes), [format!("unknown batch 7 at byte {}", good.len())]);
    assert_eq!(lines(&bytes).len(), 11);
    let large = [&good[..], &[1, 3, 1, 1, 0x81, 0x80, 4]].concat();
    assert_eq!(problems(&large), [format!("a batch of 65537 bytes, at most 65536 at byte {}", good.len())]);
}

/// Clocks of processors differ: a batch that begins before its lane's last event is merged by its times.
#[test]
fn batches_out_of_order_in_a_lane_are_merged() {
    let clock = [batch(&[1, u64::MAX, 9], &[8, 9]), batch(&[1, u64::MAX, 9], b"\x04\x05\x01\x01a")].concat();
    let (late, early) = (batch(&[1, 5, 100], &[27, 9, 27, 9]), batch(&[1, 5, 50], &[27, 0, 27, 60]));
    let bytes = [&sample_two()[..16], &late, &early, &clock].concat();
    assert_eq!(lines(&bytes), ["50 5 STWEnd", "109 5 STWEnd", "110 5 STWEnd", "118 5 STWEnd"]);
}

/// A source that fails somewhere.
#[derive(Debug)]
struct Broken(Vec<u8>, u64);

impl crate::Source for Broken {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> std::io::Result<usize> {
        if offset >= self.1 {
            Err(std::io::Error::other("broken"))
        } else {
            self.0.read_at(offset, &mut at[..1])
        }
    }
}

#[test]
fn read_errors_are_passed_on() {
    assert!(matches!(
        Trace::open(Broken(sample_one(), 40)).unwrap_err(),
        GoTraceError::Io { offset: 16, .. }
    ));
    assert!(Trace::open(Broken(sample_one(), u64::MAX)).is_ok(), "a byte at a time");
}

proptest! {
    /// Bytes changed anywhere: no panic, and an end.
    #[test]
    fn any_damage_is_survived(
        is_two in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
    ) {
        let mut bytes = if is_two { sample_two() } else { sample_one() };
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if Trace::open(&*bytes).is_ok() {
            prop_assert!(lines(&bytes).len() < bytes.len());
            prop_assert!(problems(&bytes).len() < bytes.len());
        }
    }
}
