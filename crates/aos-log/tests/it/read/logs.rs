//! Several parts as one log.

use std::io;

use heapscribe_aos_log::read::{Order, Parts, Policy};
use proptest::prelude::*;

use super::{header, message};

/// The messages of these files as (channel, number, time), and what was wrong, by file.
fn read(files: &[Vec<u8>], policy: Policy, order: Order) -> (Vec<(u32, u32, i64)>, Vec<String>) {
    let open = |file: usize| io::Result::Ok(&files[file][..]);
    let mut messages = Vec::new();
    let mut wrong = Vec::new();
    match Parts::open(files.len(), open, policy, order) {
        Ok(mut parts) => {
            loop {
                match parts.next_message() {
                    Ok(Some(owned)) => {
                        let m = owned.message();
                        assert_eq!(m.data, Some(&m.monotonic_sent_time.to_le_bytes()[..]));
                        messages.push((m.channel_index, m.queue_index, m.monotonic_sent_time));
                    }
                    Ok(None) => break,
                    Err(e) => {
                        wrong.push(format!("{}: error: {e}", e.file));
                        break;
                    }
                }
            }
            wrong.extend(parts.problems().iter().map(|p| format!("{}: {p}", p.file)));
        }
        Err(e) => wrong.push(format!("{}: error: {e}", e.file)),
    }
    (messages, wrong)
}

fn times(messages: &[(u32, u32, i64)]) -> Vec<i64> {
    messages.iter().map(|m| m.2).collect()
}

/// A part with messages of these times.
fn part(sequence: u128, index: i32, sent_ns: &[i64]) -> Vec<u8> {
    let messages = sent_ns.iter().flat_map(|&ns| message(0, u32::try_from(ns).unwrap(), ns));
    header(sequence, index).into_iter().chain(messages).collect()
}

#[test]
fn parts_come_in_their_order_whatever_order_they_are_named_in() {
    let files = [part(1, 2, &[3000]), part(1, 0, &[1100, 1200]), part(1, 1, &[1150, 2000])];
    let (messages, wrong) = read(&files, Policy::Fail, Order::Time);
    assert_eq!((times(&messages), wrong.len()), (vec![1100, 1150, 1200, 2000, 3000], 0));
    let (messages, _) = read(&files, Policy::Fail, Order::File);
    assert_eq!(times(&messages), [1100, 1200, 1150, 2000, 3000]);
}

#[test]
fn sequences_are_merged_by_time() {
    let files = [part(1, 0, &[1100, 1300, 5000]), part(2, 0, &[1200, 1400]), part(1, 1, &[5001])];
    let (messages, wrong) = read(&files, Policy::Fail, Order::Time);
    assert_eq!((times(&messages), wrong.len()), (vec![1100, 1200, 1300, 1400, 5000, 5001], 0));
    assert_eq!(times(&read(&files, Policy::Fail, Order::File).0), [1100, 1300, 5000, 5001, 1200, 1400]);
}

#[test]
fn messages_older_than_the_log_allows_under_each_policy() {
    let files = [part(1, 0, &[2000, 2200, 2099, 2101]), part(1, 1, &[2300])];
    let at = header(1, 0).len() + 2 * 72;
    let what = format!("a message that is older than the log allows at byte {at}");
    let (messages, wrong) = read(&files, Policy::Skip, Order::Time);
    assert_eq!(
        (times(&messages), wrong),
        (vec![2000, 2101, 2200, 2300], vec![format!("0: {what}, 72 bytes skipped")])
    );
    let (messages, wrong) = read(&files, Policy::Stop, Order::Time);
    assert_eq!((times(&messages), wrong), (vec![2000, 2200], vec![format!("0: {what}")]));
    let (_, wrong) = read(&files, Policy::Fail, Order::Time);
    assert_eq!(wrong, [format!("0: error: {what}")]);
}

#[test]
fn before_the_start_messages_may_have_any_age() {
    let (messages, wrong) = read(&[part(1, 0, &[900, 5, 1099, 300, 1100])], Policy::Fail, Order::Time);
    assert_eq!((times(&messages), wrong.len()), (vec![5, 300, 900, 1099, 1100], 0));
}

#[test]
fn empty_and_unreadable_parts_are_listed_and_left_out() {
    let files = [Vec::new(), part(1, 0, &[1100]), b"what is this".to_vec(), part(1, 1, &[1200])];
    let (messages, wrong) = read(&files, Policy::Skip, Order::Time);
    assert_eq!(times(&messages), [1100, 1200]);
    assert_eq!(
        wrong,
        ["0: a part without a record at byte 0", "2: a record of an impossible size at byte 0"]
    );
    assert_eq!(read(&files, Policy::Fail, Order::Time).1, ["0: error: a part without a record at byte 0"]);
}

#[test]
fn a_cut_part_loses_only_its_own_end() {
    let mut files = [part(1, 0, &[1100, 1150, 1200]), part(1, 1, &[1250, 1300])];
    let cut = files[0].len() - 100;
    files[0].truncate(cut);
    let (messages, wrong) = read(&files, Policy::Skip, Order::Time);
    assert_eq!(times(&messages), [1100, 1250, 1300]);
    assert_eq!(wrong, [format!("0: the part ends within a record at byte {}", header(1, 0).len() + 72)]);
}

#[test]
fn a_missing_part_is_reported() {
    let (messages, wrong) = read(&[part(1, 0, &[1100]), part(1, 2, &[1300])], Policy::Skip, Order::Time);
    assert_eq!(times(&messages), [1100, 1300]);
    assert_eq!(wrong, ["1: a part before this one is missing: its number leaps, by the header at byte 0"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Messages of several channels, out of order as far as their log allows, cut into parts anywhere: all
    /// come, by time, those of a channel by their number.
    #[test]
    fn order_is_restored(
        steps in prop::collection::vec((0u32..4, 0i64..40, 0i64..100), 1..200),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut now = 2000;
        let mut arrivals = Vec::new();
        for (n, (channel, step, late)) in (0..).zip(&steps) {
            now += step;
            arrivals.push((now + late, (*channel, n, now)));
        }
        arrivals.sort_by_key(|(arrived, _)| *arrived);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(arrivals.len())).collect();
        cuts.sort_unstable();
        let mut files = vec![header(1, 0)];
        for (n, (_, (channel, number, sent_ns))) in arrivals.iter().enumerate() {
            for _ in cuts.iter().filter(|cut| **cut == n) {
                files.push(header(1, i32::try_from(files.len()).unwrap()));
            }
            files.last_mut().unwrap().extend_from_slice(&message(*channel, *number, *sent_ns));
        }
        let (messages, wrong) = read(&files, Policy::Fail, Order::Time);
        let mut expected: Vec<_> = arrivals.iter().map(|(_, message)| *message).collect();
        expected.sort_by_key(|m| (m.2, m.0, m.1));
        prop_assert_eq!(messages, expected);
        prop_assert!(wrong.is_empty());
    }
}
