//! Findings by rule: one that hundreds of processes break is one thing to read, not hundreds. A shell script under
//! pyenv had 79 processes and its `check --max-leaked 0` some 2,000 lines.

use super::{Finding, Verdict};

/// The findings of a rule.
#[derive(Debug, Default)]
pub struct OfRule<'a> {
    /// Broken by these, the worst first.
    pub broken: Vec<&'a Finding>,
    /// Undecided in these, the highest first.
    pub undecided: Vec<&'a Finding>,
    /// Kept by these, as they come.
    pub holding: Vec<&'a Finding>,
}

/// The findings of each rule, in the order in which the rules come.
pub fn by_rule(findings: &[Finding]) -> Vec<OfRule<'_>> {
    let mut rules: Vec<(String, OfRule<'_>)> = Vec::new();
    for finding in findings {
        let name = finding.rule.shown();
        let n = rules.iter().position(|(of, _)| *of == name).unwrap_or_else(|| {
            rules.push((name, OfRule::default()));
            rules.len() - 1
        });
        let of_rule = &mut rules[n].1;
        match finding.verdict {
            Verdict::Broken => of_rule.broken.push(finding),
            Verdict::Undecided => of_rule.undecided.push(finding),
            Verdict::Holds => of_rule.holding.push(finding),
        }
    }
    for (_, of_rule) in &mut rules {
        of_rule.broken.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
        of_rule.undecided.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    }
    rules.into_iter().map(|(_, of_rule)| of_rule).collect()
}

/// By how much it is over its limit.
fn excess(finding: &Finding) -> f64 {
    finding.found.map_or(f64::NEG_INFINITY, |figure| figure.value - finding.limit)
}
