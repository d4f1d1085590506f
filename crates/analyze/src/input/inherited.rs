//! What a forked child has of its parent's memory: the kernel counts pages that both have in each of them. What the child
//! has more when it is first looked at is its own, as it is first looked at when it first calls the heap: children that had
//! mapped 60 MiB of their own before that were said to have inherited it.

use super::facts::ProcessFacts;

/// How much of its first sample each process has from its parent, of anonymous memory.
pub(super) fn inherit(processes: &mut [ProcessFacts]) {
    for number in 0..processes.len() {
        processes[number].inherited_bytes = inherited_bytes(&processes[number], processes);
    }
}

/// No more than the parent was ever seen to have before; the sample after that counts, too, as the parent may have forked
/// between two. Of a parent that is not known the child has all from it.
fn inherited_bytes(child: &ProcessFacts, processes: &[ProcessFacts]) -> u64 {
    let Some(first) = child.rss.first().filter(|_| child.is_fork) else { return 0 };
    let parent = child.parent.and_then(|parent| processes.get(parent));
    let before = parent.map(|parent| {
        let known = parent.rss.partition_point(|rss| rss.mono_ns <= first.mono_ns);
        &parent.rss[..parent.rss.len().min(known + 1)]
    });
    let most = before.and_then(|samples| samples.iter().map(|rss| rss.anonymous_bytes).max());
    most.map_or(first.anonymous_bytes, |most| most.min(first.anonymous_bytes))
}

#[cfg(test)]
mod tests {
    use super::super::facts::RssSample;
    use super::*;

    /// Of samples each millisecond, of a parent and of what it forked, of which the first is taken at `at`.
    fn check(of_parent: &[u64], (at, first): (u64, u64), parent: Option<usize>, expected: u64) {
        let sample = |(ms, bytes): (usize, &u64)| RssSample {
            mono_ns: ms as u64,
            anonymous_bytes: *bytes,
            ..RssSample::default()
        };
        let rss = of_parent.iter().enumerate().map(sample).collect();
        let of_child = RssSample { mono_ns: at, anonymous_bytes: first, ..RssSample::default() };
        let mut processes = [
            ProcessFacts { rss, ..ProcessFacts::default() },
            ProcessFacts { rss: vec![of_child], is_fork: true, parent, ..ProcessFacts::default() },
        ];
        inherit(&mut processes);
        assert_eq!(processes.map(|process| process.inherited_bytes), [0, expected]);
    }

    #[test]
    fn what_a_child_has_more_than_its_parent_is_its_own() {
        check(&[5, 5, 5], (1, 65), Some(0), 5);
        check(&[40, 40, 40], (1, 40), Some(0), 40);
        // It forked before the next sample, or has freed since.
        check(&[5, 5, 40], (1, 40), Some(0), 40);
        check(&[40, 5, 5, 5], (2, 40), Some(0), 40);
        check(&[5, 5, 5, 60], (1, 65), Some(0), 5);
        check(&[5, 5, 5], (1, 65), None, 65);
        check(&[], (1, 65), Some(0), 65);
    }
}
