//! Parts that are cut, or have bytes in them that nobody wrote.

use heapscribe_aos_log::read::{PartReader, Policy};
use proptest::prelude::*;

use super::{Outcome, header, message, read};
use crate::common::fixture;

const POLICIES: [Policy; 3] = [Policy::Stop, Policy::Skip, Policy::Fail];

/// A record whose offset leads out of it.
const BAD: [u8; 12] = [8, 0, 0, 0, 16, 0, 0, 0, 4, 0, 0, 0];

fn outcome(sent_ns: &[i64], problems: &[&str], error: Option<&str>) -> Outcome {
    Outcome {
        sent_ns: sent_ns.to_vec(),
        problems: problems.iter().map(|&p| p.to_owned()).collect(),
        error: error.map(str::to_owned),
    }
}

#[test]
fn a_bad_record_between_good_ones_meets_the_three_policies() {
    let start = [header(1, 0), message(0, 0, 2000)].concat();
    let bytes = [&start[..], &BAD, &message(0, 1, 2001), &BAD, &message(0, 2, 2002)].concat();
    let (at, next) = (start.len(), start.len() + BAD.len() + 72);
    let what = |at: usize| format!("an offset leads out of its record at byte {at}");
    let skipped = |at: usize| what(at) + ", 12 bytes skipped";
    assert_eq!(read(&bytes, Policy::Stop), outcome(&[2000], &[&what(at + 4)], None));
    assert_eq!(
        read(&bytes, Policy::Skip),
        outcome(&[2000, 2001, 2002], &[&skipped(at), &skipped(next)], None)
    );
    assert_eq!(read(&bytes, Policy::Fail), outcome(&[2000], &[], Some(&what(at + 4))));
}

/// The outcome of a part that ends in `tail`.
fn check_tail(tail: &[u8], what: &str) {
    let start = [header(1, 0), message(0, 0, 2000)].concat();
    let bytes = [&start[..], tail].concat();
    let what = format!("{what} at byte {}", start.len());
    for policy in [Policy::Stop, Policy::Skip] {
        assert_eq!(read(&bytes, policy), outcome(&[2000], &[&what], None), "{policy:?}");
    }
    assert_eq!(read(&bytes, Policy::Fail), outcome(&[2000], &[], Some(&what)));
}

#[test]
fn cut_ends_are_reported() {
    check_tail(&[0; 4096], "zeros where a record should be: the part was not finished");
    check_tail(&[68], "the part ends within the length of a record");
    check_tail(&[68, 0, 0], "the part ends within the length of a record");
    check_tail(&message(0, 1, 2001)[..71], "the part ends within a record");
    check_tail(&[0xff, 0xff, 0xff, 0xff, 1, 2, 3], "a record of an impossible size");
}

#[test]
fn a_record_longer_than_any_is_passed_over_when_it_is_there() {
    let len = u32::try_from(65 << 20).unwrap();
    let start = [header(1, 0), message(0, 0, 2000)].concat();
    let mut bytes = [&start[..], &len.to_le_bytes()].concat();
    bytes.resize(start.len() + 4 + len as usize, 7);
    bytes.extend_from_slice(&message(0, 1, 2001));
    let what = format!("a record of an impossible size at byte {}", start.len());
    let skipped = format!("{what}, {} bytes skipped", len + 4);
    assert_eq!(read(&bytes, Policy::Skip), outcome(&[2000, 2001], &[&skipped], None));
    assert_eq!(read(&bytes, Policy::Stop), outcome(&[2000], &[&what], None));
}

#[test]
fn without_a_first_record_there_is_no_part() {
    for (bytes, what) in [
        (&[][..], "a part without a record at byte 0"),
        (&[9, 9], "the part ends within the length of a record at byte 0"),
        (&[0; 100], "zeros where a record should be: the part was not finished at byte 0"),
        (&BAD, "an offset leads out of its record at byte 4"),
        (b"no part at all", "a record of an impossible size at byte 0"),
    ] {
        for policy in POLICIES {
            assert_eq!(read(bytes, policy), outcome(&[], &[], Some(what)), "{policy:?}");
        }
    }
}

#[test]
fn old_loggers_wrote_two_headers() {
    let with_commit = std::fs::read(fixture("aos/header.2022.bin")).unwrap();
    let mut old = with_commit.clone();
    // Field 32 of the vtable, which begins at byte 8.
    let entry = 8 + 4 + 2 * 32;
    old[entry..entry + 2].fill(0);
    let bytes = [&old[..], &with_commit, &message(0, 0, 2000)].concat();
    let part = PartReader::open(&bytes[..], Policy::Fail).unwrap();
    assert!(format!("{:?}", part.header()).contains("48d10d6b"));
    assert_eq!(read(&bytes, Policy::Fail), outcome(&[2000], &[], None));
}

#[test]
fn a_cut_of_100_bytes_loses_what_was_in_them() {
    for (name, least) in [("part0.2022.bfbs.sz", 0), ("part0.2022.bfbs.4k.sz", 60), ("part0.2022.bfbs.xz", 1)]
    {
        let bytes = std::fs::read(fixture("aos").join(name)).unwrap();
        let cut = read(&bytes[..bytes.len() - 100], Policy::Skip);
        let whole = read(&bytes, Policy::Fail);
        assert!(whole.sent_ns.starts_with(&cut.sent_ns) && cut.sent_ns.len() >= least, "{name}: {cut:?}");
        let Some(problem) = cut.problems.first().or(cut.error.as_ref()) else { panic!("{name}: no error") };
        assert!(problem.contains(" at byte "), "{name}: {problem}");
    }
}

#[test]
fn a_damaged_chunk_of_snappy_loses_its_records_alone() {
    let mut bytes = std::fs::read(fixture("aos/part0.2022.bfbs.4k.sz")).unwrap();
    let whole = read(&bytes, Policy::Fail).sent_ns;
    let len = |at: usize| 4 + u32::from_le_bytes([bytes[at + 1], bytes[at + 2], bytes[at + 3], 0]) as usize;
    let (first, second) = (10, 10 + len(10));
    assert!(second + len(second) < bytes.len() && first < second);
    bytes[second + 4] ^= 1;
    let skipped = read(&bytes, Policy::Skip);
    assert!(skipped.sent_ns.len() < whole.len() && skipped.sent_ns.last() == whole.last());
    assert_eq!(skipped.problems.len(), 1);
    assert!(skipped.problems[0].starts_with(&format!("a chunk whose checksum is wrong at byte {second}, ")));
    let stopped = read(&bytes, Policy::Stop);
    assert!(skipped.sent_ns.starts_with(&stopped.sent_ns) && stopped.sent_ns.len() < skipped.sent_ns.len());
    assert_eq!(stopped.problems, [format!("a chunk whose checksum is wrong at byte {second}")]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is changed: reading ends, and messages are not more than there is room for.
    #[test]
    fn no_bytes_lead_astray(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        name in prop::sample::select(vec!["", "part0.2022.bfbs.4k.sz", "part0.2022.bfbs.xz"]),
    ) {
        let mut bytes = match name {
            "" => (0..20).fold(header(1, 0), |mut part, n| {
                part.extend_from_slice(&message(n % 3, n, 2000 + i64::from(n)));
                part
            }),
            name => std::fs::read(fixture("aos").join(name)).unwrap(),
        };
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        for policy in POLICIES {
            let outcome = read(&bytes, policy);
            // A changed byte of xz can repeat earlier bytes: 93 messages became 110 once. Records have
            // 64 bytes and more, and the part 226,136.
            prop_assert!(outcome.sent_ns.len() <= 226_136 / 64);
            prop_assert!(outcome.error.iter().chain(&outcome.problems).all(|what| what.contains(" at byte ")));
        }
    }
}
