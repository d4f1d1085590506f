//! Chooses one of the snapshots that programs took of themselves. A name may have been given to several of them, and a
//! trace of several processes has several of each number: then nobody but the user knows which one is meant.

use heapscribe_diagnostics::Problem;
use heapscribe_units::{count, date};

/// Candidates that are listed.
const LISTED: usize = 10;

/// What tells a snapshot from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Named<'a> {
    pub(super) pid: u32,
    pub(super) id: u32,
    pub(super) name: &'a str,
    pub(super) taken_real_ns: u64,
}

/// The position of the one that is wanted, by its id, its process and id (`PID:ID`) or its name; `place` is where they
/// are, and `hint` is for one that is not there.
pub(super) fn choose(all: &[Named<'_>], wanted: &str, place: &str, hint: &str) -> Result<usize, Problem> {
    let positions = |is_it: &dyn Fn(&Named<'_>) -> bool| -> Vec<usize> {
        (0..).zip(all).filter(|(_, named)| is_it(named)).map(|(at, _)| at).collect()
    };
    let by_id = positions(&|of| of.id.to_string() == wanted || format!("{}:{}", of.pid, of.id) == wanted);
    let matching = if by_id.is_empty() { positions(&|of| of.name == wanted) } else { by_id };
    match matching[..] {
        [] => Err(Problem::new(format!("there is no snapshot {wanted} in {place}"), hint)),
        [at] => Ok(at),
        _ => {
            let n = count(matching.len() as u64);
            let candidates: Vec<_> = matching.iter().map(|at| all[*at]).collect();
            let what = format!("snapshot {wanted} is ambiguous: {place} has {n} of them");
            Err(Problem::new(what, choices(all, &candidates)))
        }
    }
}

/// How each of the candidates is chosen, by its id alone where that is enough.
fn choices(all: &[Named<'_>], candidates: &[Named<'_>]) -> String {
    let is_of_one = all.iter().all(|of| of.pid == all[0].pid);
    let shown = candidates.iter().take(LISTED).map(|of| {
        let id = if is_of_one { of.id.to_string() } else { format!("{}:{}", of.pid, of.id) };
        format!("{id} ({}, taken {})", of.name, date(of.taken_real_ns))
    });
    let more = candidates.len().saturating_sub(LISTED);
    let more = (more > 0).then(|| format!("{} more", count(more as u64)));
    let listed: Vec<_> = shown.chain(more).collect();
    let by = if is_of_one { "ID" } else { "PID:ID" };
    format!("pass its {by} to --download: {}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_diagnostics::hint_of;

    /// Snapshots as pid, id and name; the position of the one that is chosen, or the error and its hint.
    fn check(all: &[(u32, u32, &str)], wanted: &str, expected: Result<usize, (&str, &str)>) {
        let named = all.iter().map(|&(pid, id, name)| Named { pid, id, name, taken_real_ns: 0 });
        let all: Vec<_> = named.collect();
        let chosen = choose(&all, wanted, "run.hst", "list them").map_err(anyhow::Error::from);
        let shown = chosen.as_ref().map_err(|e| (e.to_string(), hint_of(e).unwrap_or_default().to_owned()));
        let shown = shown.map_err(|(what, hint)| (what, hint.replace(", taken 1970-01-01 00:00:00 UTC", "")));
        let expected = expected.map_err(|(what, hint)| (what.to_owned(), hint.to_owned()));
        assert_eq!(shown.copied(), expected, "{wanted}");
    }

    #[test]
    fn one_is_chosen_and_no_other_taken_for_it() {
        let of_one = [(5, 1, "one"), (5, 2, "two"), (5, 3, "one"), (5, 4, "2")];
        check(&of_one, "two", Ok(1));
        check(&of_one, "2", Ok(1));
        check(&of_one, "5:3", Ok(2));
        check(&of_one, "three", Err(("there is no snapshot three in run.hst", "list them")));
        let hint = "pass its ID to --download: 1 (one), 3 (one)";
        check(&of_one, "one", Err(("snapshot one is ambiguous: run.hst has 2 of them", hint)));
        let of_two = [(5, 1, "one"), (6, 1, "one"), (6, 2, "two")];
        check(&of_two, "2", Ok(2));
        check(&of_two, "6:1", Ok(1));
        for wanted in ["1", "one"] {
            let what = format!("snapshot {wanted} is ambiguous: run.hst has 2 of them");
            check(&of_two, wanted, Err((&what, "pass its PID:ID to --download: 5:1 (one), 6:1 (one)")));
        }
        let many: Vec<_> = (1..=12).map(|id| (5, id, "a")).collect();
        let hint = "pass its ID to --download: 1 (a), 2 (a), 3 (a), 4 (a), 5 (a), 6 (a), 7 (a), 8 (a), 9 (a), \
                    10 (a), 2 more";
        check(&many, "a", Err(("snapshot a is ambiguous: run.hst has 12 of them", hint)));
    }
}
