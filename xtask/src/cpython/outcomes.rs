//! What came of each test of a module, from the file in JUnit's form that `python -m test --junit-xml` writes, and what
//! differs between runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::programs::End;

/// What came of a test. Of several with the same name (those of documentation) the worst counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Outcome {
    Passed,
    Skipped,
    Failed,
    Error,
    /// Other runs had it.
    Missing,
}

impl Outcome {
    fn of(case: &str) -> Outcome {
        // What tests print is escaped, so that these can be nothing but elements.
        let elements =
            [("<error", Outcome::Error), ("<failure", Outcome::Failed), ("<skipped", Outcome::Skipped)];
        let element = elements.iter().find(|(element, _)| case.contains(element));
        element.map_or(Outcome::Passed, |(_, outcome)| *outcome)
    }

    fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Skipped => "skipped",
            Outcome::Failed => "failed",
            Outcome::Error => "error",
            Outcome::Missing => "missing",
        }
    }
}

/// What a difference of how runs end is called, beside those of tests.
pub(super) const END: &str = "the end";

/// How a run of a module ended, and what came of its tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ran {
    pub(super) end: End,
    pub(super) tests: BTreeMap<String, Outcome>,
}

impl Ran {
    /// Reads the file; a run that crashed has none.
    pub(super) fn read(end: End, xml: &str) -> Ran {
        let mut tests = BTreeMap::new();
        for case in xml.split("<testcase ").skip(1) {
            let case = case.split("</testcase>").next().unwrap_or_default();
            let name = case.split_once("name=\"").and_then(|(_, rest)| rest.split('"').next());
            let outcome = tests.entry(without_addresses(name.unwrap_or_default())).or_insert(Outcome::Passed);
            *outcome = Outcome::of(case).max(*outcome);
        }
        Ran { end, tests }
    }

    fn outcome(&self, test: &str) -> Outcome {
        self.tests.get(test).copied().unwrap_or(Outcome::Missing)
    }
}

/// Subtests may be named after an object: `<function f at 0x7f..>`.
fn without_addresses(name: &str) -> String {
    let mut parts = name.split("0x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("0x");
        plain.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    plain
}

/// What never came of a test plain and always does under recording: the test and both outcomes, in words.
pub(super) fn differences(plain: &[Ran], recorded: &[Ran]) -> Vec<(String, String)> {
    let mut differences = Vec::new();
    let ends = |runs: &[Ran]| runs.iter().map(|run| run.end).collect::<Vec<_>>();
    let (plain_ends, recorded_ends) = (ends(plain), ends(recorded));
    if !recorded_ends.iter().any(|end| plain_ends.contains(end)) {
        differences.push((END.to_owned(), format!("{:?}, plain {:?}", recorded_ends[0], plain_ends[0])));
    }
    let tests: BTreeSet<&String> = plain.iter().chain(recorded).flat_map(|run| run.tests.keys()).collect();
    for test in tests {
        let all = |runs: &[Ran]| runs.iter().map(|run| run.outcome(test)).collect::<BTreeSet<_>>();
        let (plain, recorded) = (all(plain), all(recorded));
        if plain.is_disjoint(&recorded) {
            let names =
                |all: BTreeSet<Outcome>| all.into_iter().map(Outcome::name).collect::<Vec<_>>().join("/");
            differences.push((test.clone(), format!("{}, plain {}", names(recorded), names(plain))));
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = r#"<testsuites tests="4"><testsuite><testcase name="a" status="run" time="1" />
        <testcase name="b.&lt;f at 0x7f01&gt;"><failure type="x">&lt;error&gt;</failure></testcase>
        <testcase name="c"><skipped>why</skipped></testcase><testcase name="a"><error>x</error></testcase>
        <testcase name="d" status="run" /></testsuite></testsuites>"#;

    #[test]
    fn outcomes_are_read() {
        let ran = Ran::read(End::Code(2), XML);
        let tests: Vec<_> = ran.tests.iter().map(|(name, outcome)| (name.as_str(), *outcome)).collect();
        let expected = [
            ("a", Outcome::Error),
            ("b.&lt;f at 0x&gt;", Outcome::Failed),
            ("c", Outcome::Skipped),
            ("d", Outcome::Passed),
        ];
        assert_eq!(tests, expected);
    }

    fn ran(code: i32, tests: &[(&str, Outcome)]) -> Ran {
        let tests = tests.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect();
        Ran { end: End::Code(code), tests }
    }

    #[test]
    fn what_is_never_so_plain_differs() {
        use Outcome::{Error, Failed, Passed};
        let good = ran(0, &[("a", Passed), ("b", Passed)]);
        let flaky = ran(2, &[("a", Failed), ("b", Passed)]);
        let bad = ran(2, &[("a", Error), ("b", Passed)]);
        let crash = ran(139, &[]);
        let check = |plain: &[&Ran], recorded: &[&Ran], expected: &[(&str, &str)]| {
            let owned = |runs: &[&Ran]| runs.iter().map(|run| (*run).clone()).collect::<Vec<_>>();
            let found = differences(&owned(plain), &owned(recorded));
            let found: Vec<_> = found.iter().map(|(test, what)| (test.as_str(), what.as_str())).collect();
            assert_eq!(found, expected);
        };
        check(&[&good], &[&good], &[]);
        check(&[&good, &flaky], &[&flaky], &[]);
        check(&[&good], &[&bad, &good], &[]);
        let end = ("the end", "Code(2), plain Code(0)");
        check(&[&good], &[&bad, &flaky], &[end, ("a", "failed/error, plain passed")]);
        let end = ("the end", "Code(139), plain Code(0)");
        let missing = "missing, plain passed";
        check(&[&good], &[&crash], &[end, ("a", missing), ("b", missing)]);
    }
}
