//! All findings of an answer, the worst first.

use super::finding::{Finding, Kind, Level};
use super::limits::FINDINGS_OF_KIND;
use super::owners::Owners;
use super::{
    arenas, burst, foreign_free, growth, late_free, leak, realloc_growth, resident_excess, rounding,
    sampling, section, temporary,
};
use crate::answer::Answer;

/// What looks for findings of one kind.
type Search = fn(&Answer, &Owners) -> Vec<Finding>;

const SEARCHES: [Search; 12] = [
    sampling::find,
    growth::find,
    leak::find,
    burst::find,
    arenas::find,
    resident_excess::find,
    section::find,
    late_free::find,
    rounding::find,
    temporary::find,
    realloc_growth::find,
    foreign_free::find,
];

/// Looks for all of them: the most severe first, of equal ones in the order of their kinds, the surest first.
pub fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let of_kind = |search: &Search| {
        let mut findings = search(answer, owners);
        findings.sort_by_key(rank);
        findings.truncate(FINDINGS_OF_KIND as usize);
        findings
    };
    let mut findings: Vec<Finding> = SEARCHES.iter().flat_map(of_kind).collect();
    findings.sort_by_key(rank);
    findings
}

fn rank(finding: &Finding) -> (Level, Kind, Level) {
    (finding.severity, finding.kind, finding.confidence)
}
