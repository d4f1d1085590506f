//! Findings that a program must not have: all from a severity on, or all of a kind.

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::findings::{Finding, Kind, Level, bytes_min};
use heapscribe_units::short_bytes;

use crate::open_end::OpenEnd;

/// Which findings are forbidden.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unwanted {
    /// Those that are as severe as this, and more severe ones.
    Severity(Level),
    /// Those of a kind.
    Kind(Kind),
}

impl Unwanted {
    /// The flag, without its dashes.
    pub fn flag(self) -> &'static str {
        match self {
            Unwanted::Severity(_) => "no-findings",
            Unwanted::Kind(_) => "no-finding",
        }
    }

    /// The severity or the kind.
    pub fn name(self) -> &'static str {
        match self {
            Unwanted::Severity(level) => level.name(),
            Unwanted::Kind(kind) => kind.name(),
        }
    }

    /// Whether it forbids this finding.
    pub fn forbids(self, finding: &Finding) -> bool {
        match self {
            // The most severe is the least.
            Unwanted::Severity(level) => finding.severity <= level,
            Unwanted::Kind(kind) => finding.kind == kind,
        }
    }

    fn is_about(self, kinds: &[Kind]) -> bool {
        match self {
            Unwanted::Severity(_) => true,
            Unwanted::Kind(kind) => kinds.contains(&kind),
        }
    }

    /// Why the recording cannot show such a finding although nothing is missing from it.
    pub(crate) fn gaps(self, answer: &Answer, has_times: bool) -> Vec<String> {
        let by_time = [Kind::Growth, Kind::Burst, Kind::LateFree];
        let at_end = [Kind::Growth, Kind::Leak, Kind::LateFree];
        let open = OpenEnd::of_any(answer);
        let known = [
            (self.is_about(&by_time) && !has_times, "the recording has no times"),
            (self.is_about(&at_end) && open.is_some(), open.map_or("", OpenEnd::gap)),
            // That a short program was never sampled is no reason to doubt the rest.
            (
                self == Unwanted::Kind(Kind::ResidentExcess) && answer.resident.is_none(),
                match open {
                    Some(OpenEnd::Unfinished | OpenEnd::Damaged) => {
                        "no sample of resident memory is in what can be read of the trace"
                    }
                    _ => "resident memory was never sampled",
                },
            ),
        ];
        let known = known.into_iter().filter(|(is_gap, _)| *is_gap).map(|(_, why)| why.to_owned());
        known.chain(self.unseen(answer)).collect()
    }

    /// That blocks of such a finding may all have gone without a sample.
    fn unseen(self, answer: &Answer) -> Option<String> {
        let sampling = answer.sampling.as_ref().filter(|sampling| sampling.has_estimates())?;
        let least = match self {
            Unwanted::Severity(level) => bytes_min(level, answer),
            Unwanted::Kind(kind) => kind.bytes_min(),
        };
        let unseen = sampling.unseen_below_bytes();
        (unseen > least).then(|| format!("less than {} may have gone without a sample", short_bytes(unseen)))
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Ended, Peak, Process};
    use heapscribe_analyze::estimate::Sampling;
    use heapscribe_analyze::findings::Evidence;

    use super::*;

    fn check(unwanted: Unwanted, kind: Kind, severity: Level, expected: bool) {
        let finding = Finding {
            kind,
            severity,
            confidence: Level::Low,
            evidence: Evidence::ForeignFree { freed: 1, by_others: 1 },
            culprits: Vec::new(),
            more: 0,
        };
        assert_eq!(unwanted.forbids(&finding), expected, "{unwanted:?} {kind:?} {severity:?}");
    }

    #[test]
    fn a_severity_forbids_what_is_worse() {
        check(Unwanted::Severity(Level::Medium), Kind::Leak, Level::High, true);
        check(Unwanted::Severity(Level::Medium), Kind::Leak, Level::Medium, true);
        check(Unwanted::Severity(Level::Medium), Kind::Leak, Level::Low, false);
        check(Unwanted::Kind(Kind::Leak), Kind::Leak, Level::Low, true);
        check(Unwanted::Kind(Kind::Leak), Kind::Burst, Level::High, false);
    }

    #[test]
    fn what_never_ended_may_still_free() {
        let abandoned = Process { ended: Ended::Abandoned, ..Process::default() };
        let answer = Answer { processes: vec![abandoned], ..Answer::default() };
        let ended = "the recording ended before the process did, so live blocks may have been freed later";
        assert_eq!(Unwanted::Kind(Kind::Leak).gaps(&answer, false), [ended]);
        assert_eq!(Unwanted::Kind(Kind::Burst).gaps(&answer, true), [""; 0]);
        assert_eq!(Unwanted::Kind(Kind::Growth).gaps(&answer, true), [ended]);
        assert_eq!(
            Unwanted::Severity(Level::High).gaps(&answer, false),
            ["the recording has no times", ended]
        );
    }

    /// 60 leaked blocks of 1,000 bytes of which none was sampled: "holds: no findings".
    #[test]
    fn what_may_have_no_sample_is_not_excluded() {
        let check = |unwanted: Unwanted, mean_bytes: u64, peak_bytes: u64, expected: &[&str]| {
            let sampling = Sampling { mean_bytes: vec![mean_bytes], ..Sampling::default() };
            let peak = Peak { bytes: peak_bytes, ..Peak::default() };
            let answer = Answer { complete: true, sampling: Some(sampling), peak, ..Answer::default() };
            assert_eq!(unwanted.gaps(&answer, true), expected, "{unwanted:?}");
        };
        let unseen = ["less than 1.50 MiB may have gone without a sample"];
        check(Unwanted::Kind(Kind::Leak), 512 << 10, 0, &unseen);
        check(Unwanted::Severity(Level::Low), 512 << 10, 1 << 40, &unseen);
        check(Unwanted::Severity(Level::High), 512 << 10, 4 << 20, &unseen);
        check(Unwanted::Severity(Level::High), 512 << 10, 8 << 20, &[]);
        check(Unwanted::Kind(Kind::LateFree), 512, 0, &[]);
    }
}
