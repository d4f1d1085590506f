//! What only all events together say: the peak, the heap over time, findings.

use heapscribe_analyze::answer::{Answer, SizeClass};
use heapscribe_analyze::{Options, snapshot};
use heapscribe_convert::Opened;
use heapscribe_symbols::{NamedStacks, Resolver, Unnamed};
use heapscribe_views::json::findings;
use heapscribe_views::losses;
use heapscribe_views::own::Folded;
use serde_json::Value;

/// The whole recording, explained.
pub(super) struct Analysis {
    pub(super) answer: Answer,
    pub(super) is_snapshot: bool,
    pub(super) sizes: Vec<SizeClass>,
    /// As `report --json` has them.
    pub(super) findings: Vec<Value>,
    /// What has to be known to read the figures, in sentences.
    pub(super) caveats: Vec<String>,
}

impl Analysis {
    /// Reads all events.
    pub(super) fn of(trace: &Opened, shown: &str, resolver: &Resolver) -> Analysis {
        let first =
            snapshot::is_one(&**trace).then(|| snapshot::analyze(&**trace)).into_iter().flatten().next();
        if let Some(snapshot) = first {
            let answer = snapshot.to_answer();
            let caveats = caveats(&answer, &[]);
            return Analysis {
                answer,
                is_snapshot: true,
                sizes: snapshot.sizes,
                findings: Vec::new(),
                caveats,
            };
        }
        let options = Options { splits_processes: false, ..Options::default() };
        let mut answer = heapscribe_analyze::analyze(&trace.recording(), &options);
        answer.problems.extend_from_slice(&trace.problems);
        let names = NamedStacks::look_up(&answer.tree, findings::wanted(&answer), resolver);
        let found = findings::findings(&answer, &names, shown, &Folded::default());
        let findings = found.iter().filter_map(|finding| serde_json::to_value(finding).ok()).collect();
        let caveats = caveats(&answer, &names.unnamed());
        Analysis { is_snapshot: false, sizes: answer.sizes.clone(), findings, caveats, answer }
    }
}

fn caveats(answer: &Answer, unnamed: &[Unnamed]) -> Vec<String> {
    let mut caveats = answer.problems.clone();
    let causes = losses::causes(answer);
    if !causes.is_empty() {
        caveats.push(format!("Figures may be too low or too high: {}.", causes.join("; ")));
    }
    if answer.sampling.is_some() {
        caveats.push("Blocks were sampled: all figures are estimates.".to_owned());
    }
    if !answer.complete {
        caveats.push(
            "Not every process was seen to its end: what was never freed may have been freed later."
                .to_owned(),
        );
    }
    if answer.counts_calls {
        caveats.push("Nothing is known of times: a nanosecond stands for a call.".to_owned());
    }
    let modules: Vec<&str> = unnamed.iter().map(|unnamed| unnamed.module.as_str()).collect();
    if !modules.is_empty() {
        caveats.push(format!("Functions without names lie in {}.", modules.join(", ")));
    }
    caveats
}
