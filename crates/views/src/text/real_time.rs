//! Rules of real time that a recording was given, and the call for which a program was stopped.

use std::io;

use heapscribe_analyze::answer::{Answer, BrokenRule, NodeId};
use heapscribe_formats::{RealTimeRules, Why};

use super::annotations::kinds;
use super::latency::thread;
use super::layout::{Line, folded};
use super::out::Out;
use super::stack_list::{LINES_SHOWN, StackPrinter, WIDTH};
use crate::check::calls::RuleOutcome;
use crate::check::rule::{Forbidden, Rule};
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_units::{bytes, counted, duration};

/// The stacks that are printed.
pub fn wanted(answer: &Answer) -> impl Iterator<Item = NodeId> {
    answer.broken.iter().map(|broken| broken.node)
}

/// The section; nothing when the recording was given no rules.
pub fn print(
    out: Out<'_>,
    answer: &Answer,
    outcomes: &[RuleOutcome],
    trace: &str,
    stacks: &mut StackPrinter<'_>,
) -> io::Result<()> {
    if answer.rules.is_empty() {
        return Ok(());
    }
    stacks.list(out, "Real-time rules")?;
    writeln!(out, "  {}", rules(&answer.rules))?;
    for outcome in outcomes {
        writeln!(out, "    {}", rule_line(outcome))?;
    }
    for (i, broken) in answer.broken.iter().enumerate() {
        stacks.entry(out, i + 1, &format!("stopped at {}", sentence(answer, broken)), broken.node)?;
    }
    writeln!(out, "  Show the calls that broke them, by stack: heapscribe check {trace}")
}

/// A rule, and how many calls broke it.
fn rule_line(outcome: &RuleOutcome) -> String {
    let Rule::NoCalls(place, _) = &outcome.rule else { return String::new() };
    let (place, never_entered) = match place {
        Forbidden::In(name) => (format!("inside `{name}`"), "this section never began"),
        Forbidden::After(name) => (format!("after `{name}`"), "this mark was never set"),
        Forbidden::By(name) => (format!("by `{name}`"), "no matching thread made a call"),
    };
    match (outcome.calls.all(), outcome.entered) {
        (0, 0) => format!("{place}: {never_entered}"),
        (0, _) => format!("{place}: no calls"),
        (all, _) => format!("{place}: {} ({})", counted(all, "call"), kinds(&outcome.calls)),
    }
}

/// The rules as a sentence.
pub fn rules(rules: &RealTimeRules) -> String {
    let quoted = |names: &[Vec<u8>], between: &str| {
        names.iter().map(|name| format!("`{}`", lossy(name))).collect::<Vec<_>>().join(between)
    };
    let who = match rules.threads.len() {
        0 => "No thread".to_owned(),
        _ => format!("No thread named {}", quoted(&rules.threads, " or ")),
    };
    let inside = (!rules.sections.is_empty()).then(|| format!("inside {}", quoted(&rules.sections, " or ")));
    let after = rules.after_mark.as_ref().map(|mark| format!("after the mark `{}`", lossy(mark)));
    let places: Vec<_> = inside.into_iter().chain(after).collect();
    let space = if places.is_empty() { "" } else { " " };
    format!("{who} may call the heap{space}{}.", places.join(", nor "))
}

/// Which call broke which rule.
fn sentence(answer: &Answer, broken: &BrokenRule) -> String {
    let name = lossy(&broken.name);
    let place = match broken.why {
        Why::Section => format!("inside section `{name}`"),
        Why::Mark => format!("after mark `{name}`"),
        Why::Thread => "on a thread that must not call the heap".to_owned(),
    };
    format!(
        "{} of {} {place}, {}, {} after the start",
        broken.call.name(),
        bytes(broken.size_bytes),
        thread(answer, broken.process, broken.thread),
        duration(broken.time_ns)
    )
}

/// The same with the stack, for the end of a recording.
pub fn explained(answer: &Answer, broken: &BrokenRule, names: &NamedStacks<'_>) -> String {
    let mut text = format!("a real-time rule was broken: {}", sentence(answer, broken));
    let lines = folded(names.frames(broken.node).into_iter().map(Line::from).collect());
    for line in lines.iter().take(LINES_SHOWN) {
        text.push_str(&format!("\n      {}", line.text(WIDTH)));
    }
    text
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::calls::CallCounts;

    use super::*;

    #[test]
    fn a_rule_has_a_line() {
        let check = |place: Forbidden, entered: u64, allocations: u64, frees: u64, expected: &str| {
            let calls = CallCounts { allocations, frees, ..CallCounts::default() };
            assert_eq!(
                rule_line(&RuleOutcome { rule: Rule::NoCalls(place, Vec::new()), entered, calls }),
                expected
            );
        };
        let inside = || Forbidden::In("loop".to_owned());
        check(inside(), 9, 2, 1, "inside `loop`: 3 calls (2 allocations, 1 free)");
        check(inside(), 9, 0, 0, "inside `loop`: no calls");
        check(inside(), 0, 0, 0, "inside `loop`: this section never began");
        check(Forbidden::After("ready".to_owned()), 0, 0, 0, "after `ready`: this mark was never set");
        check(Forbidden::By("rt_*".to_owned()), 1, 1, 0, "by `rt_*`: 1 call (1 allocation)");
    }

    #[test]
    fn rules_are_a_sentence() {
        let names = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
        let check = |sections: &[&str], mark: Option<&str>, threads: &[&str], expected: &str| {
            let after_mark = mark.map(|mark| mark.as_bytes().to_vec());
            let of = RealTimeRules { sections: names(sections), after_mark, threads: names(threads) };
            assert_eq!(rules(&of), expected);
        };
        check(&["loop"], None, &[], "No thread may call the heap inside `loop`.");
        check(
            &[],
            Some("ready"),
            &["rt_*"],
            "No thread named `rt_*` may call the heap after the mark `ready`.",
        );
        check(&[], None, &["a", "b"], "No thread named `a` or `b` may call the heap.");
        let both = "No thread may call the heap inside `x` or `y`, nor after the mark `z`.";
        check(&["x", "y"], Some("z"), &[], both);
    }
}
