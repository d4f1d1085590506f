//! Any bytes as a profile of another program: they are refused or read, and what is read is a tree with its sums.
#![no_main]

use heapscribe_convert::profile_sums::sums;
use heapscribe_formats::profile::Profile;
use heapscribe_formats::{heaptext, pprof};

fn check(profile: Profile) {
    assert!(profile.calls.iter().enumerate().skip(1).all(|(n, call)| (call.parent.0 as usize) < n));
    let live: u64 = profile.stacks.iter().map(|stack| stack.live.bytes).sum();
    assert_eq!(live, profile.about.whole.live.bytes);
    let sums = sums(profile);
    let own: Vec<i64> = vec![1; sums.answer.tree.nodes.len()];
    assert_eq!(sums.answer.tree.inclusive(&own)[0], own.len() as i64);
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pprof::read(bytes).into_iter().chain(heaptext::read(bytes)).for_each(check);
});
