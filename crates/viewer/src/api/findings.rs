//! Findings in the words of `report`, each with the functions that it is about as the other views name them.

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::findings::Culprit;
use heapscribe_symbols::NamedStacks;
use heapscribe_views::own::Folded;
use heapscribe_views::text::findings::{Described, Who, describe, describe_long_lived};
use serde::Serialize;

/// A finding.
#[derive(Serialize)]
pub(super) struct FindingRow {
    kind: &'static str,
    severity: &'static str,
    confidence: &'static str,
    /// Which blocks it is about, as questions say it.
    show: &'static str,
    summary: String,
    r#try: String,
    /// How many functions more it is about.
    more: u64,
    culprits: Vec<CulpritRow>,
}

/// A function that it is about.
#[derive(Serialize)]
struct CulpritRow {
    /// Its name, shortened.
    function: String,
    /// The whole of it, as flame graphs have it.
    name: String,
    file: Option<String>,
    line: Option<u32>,
    blocks: u64,
    bytes: u64,
}

/// What lives long and is large, in the words of `report`.
#[derive(Serialize)]
pub(super) struct LongLivedRow {
    summary: String,
    more: u64,
    culprits: Vec<CulpritRow>,
}

/// Of an answer of which all stacks have names; `None` where that is not known.
pub(super) fn long_lived(answer: &Answer, names: &NamedStacks<'_>) -> Option<LongLivedRow> {
    let described = describe_long_lived(answer, names, &Folded::default())?;
    let culprits = described.owners.into_iter().map(|(culprit, _, who)| culprit_row(&culprit, who)).collect();
    Some(LongLivedRow { summary: described.sentence, more: described.more, culprits })
}

/// All findings of an answer, of which all stacks have names.
pub(super) fn findings(answer: &Answer, names: &NamedStacks<'_>, trace: &str) -> Vec<FindingRow> {
    describe(answer, names, trace, &Folded::default()).into_iter().map(row).collect()
}

fn row(described: Described) -> FindingRow {
    let Described { finding, summary, culprits, remedy } = described;
    FindingRow {
        kind: finding.kind.name(),
        severity: finding.severity.name(),
        confidence: finding.confidence.name(),
        show: show(finding.kind.name()),
        summary,
        r#try: remedy,
        more: finding.more,
        culprits: culprits.into_iter().map(|(culprit, who)| culprit_row(&culprit, who)).collect(),
    }
}

/// Which blocks a kind of finding is about.
fn show(kind: &str) -> &'static str {
    match kind {
        "growth" | "leak" => "left",
        "late-free" | "temporary" | "realloc-growth" => "allocated",
        "foreign-free" => "freed",
        _ => "live",
    }
}

fn culprit_row(culprit: &Culprit, who: Who) -> CulpritRow {
    CulpritRow {
        name: who.frame.name(),
        function: who.name,
        file: who.frame.file,
        line: who.frame.line,
        blocks: culprit.amount.blocks,
        bytes: culprit.amount.bytes,
    }
}
