//! Any bytes as a profile of another program: they are refused or read, and what is read is a tree with its sums.
#![no_main]

use heapscribe_convert::profile_sums::sums;
use heapscribe_formats::profile::Profile;
use heapscribe_formats::{heaptext, pprof, valgrind};

fn check(profile: Profile) {
    assert!(profile.calls.iter().enumerate().skip(1).all(|(n, call)| (call.parent.0 as usize) < n));
    let live: u64 = profile.stacks.iter().map(|stack| stack.live.bytes).sum();
    assert_eq!(live, profile.about.whole.live.bytes);
    let peak: u64 = profile.stacks.iter().map(|stack| stack.at_peak.bytes).sum();
    assert_eq!(peak, profile.about.whole.at_peak.bytes);
    let sums = sums(profile);
    let own: Vec<i64> = vec![1; sums.answer.tree.nodes.len()];
    assert_eq!(sums.answer.tree.inclusive(&own)[0], own.len() as i64);
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let all = [pprof::read(bytes), heaptext::read(bytes), valgrind::read_dhat(bytes), valgrind::read_massif(bytes)];
    all.into_iter().flatten().for_each(check);
});
