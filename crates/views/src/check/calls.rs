//! Places where there must be no call of the heap.

use heapscribe_analyze::answer::{Amount, CallTree};
use heapscribe_analyze::calls::{
    CallCounts, CallsByProcess, MatchingCalls, Place, Question, StackCalls, calls,
};
use heapscribe_analyze::gathered::Gathered;
use heapscribe_analyze::input::History;

use heapscribe_formats::RealTimeRules;
use heapscribe_wire::real_time_rules::fits;

use super::rule::{Forbidden, Rule, recorded};

/// The calls that a rule forbids, of one process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ForbiddenCalls {
    /// How often the place was entered.
    pub entered: u64,
    /// By stack, the one with most calls first, and the suppression that lets them pass.
    pub stacks: Vec<(StackCalls, Option<usize>)>,
}

/// Looks for the calls that rules forbid: of each rule the calls of each process. Rules that forbid none have
/// nothing. Also what could not be read.
pub fn forbidden<H: History>(
    history: &H,
    rules: &[Rule],
    gathered: &mut Gathered,
) -> (Vec<Vec<ForbiddenCalls>>, Vec<String>) {
    let no_calls = |rule: &Rule| matches!(rule, Rule::NoCalls(..));
    if !rules.iter().any(no_calls) {
        return (vec![Vec::new(); rules.len()], Vec::new());
    }
    let CallsByProcess { tree, processes, problems } = asked(history, rules);
    let mut answers = 0..;
    let mut of_rule = |rule: &Rule| {
        let Some(number) = no_calls(rule).then(|| answers.next()).flatten() else { return Vec::new() };
        processes.iter().map(|found| forbidden_calls(&found[number], &tree, gathered)).collect()
    };
    (rules.iter().map(&mut of_rule).collect(), problems)
}

/// The outcome of a rule that a recording was made with, in all its processes together.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: Rule,
    /// How often the place was entered.
    pub entered: u64,
    /// The calls that broke it.
    pub calls: CallCounts,
}

/// The outcome of each of these rules. Reads all events.
pub fn of_recording<H: History>(history: &H, rules: &RealTimeRules) -> Vec<RuleOutcome> {
    let rules = recorded(rules);
    let found = asked(history, &rules).processes;
    let outcome = |(number, rule): (usize, &Rule)| {
        let mut outcome = RuleOutcome { rule: rule.clone(), entered: 0, calls: CallCounts::default() };
        for of_process in found.iter().filter_map(|process| process.get(number)) {
            outcome.entered = outcome.entered.saturating_add(of_process.entered);
            outcome.calls.add(&of_process.kinds());
        }
        outcome
    };
    rules.iter().enumerate().map(outcome).collect()
}

/// The calls of each process, for those of the rules that forbid any, in their order.
fn asked<H: History>(history: &H, rules: &[Rule]) -> CallsByProcess {
    let threads: Vec<_> = rules.iter().map(threads).collect();
    let questions: Vec<_> = rules.iter().zip(&threads).filter_map(|(rule, of)| question(rule, of)).collect();
    calls(history, &questions)
}

fn forbidden_calls(found: &MatchingCalls, tree: &CallTree, gathered: &mut Gathered) -> ForbiddenCalls {
    let mut stack =
        |calls: &StackCalls| (StackCalls { node: gathered.stack(tree, calls.node), ..*calls }, None);
    ForbiddenCalls { entered: found.entered, stacks: found.stacks.iter().map(&mut stack).collect() }
}

type Threads<'a> = Box<dyn Fn(&[u8]) -> bool + Sync + 'a>;

fn threads(rule: &Rule) -> Threads<'_> {
    match rule {
        Rule::NoCalls(Forbidden::By(pattern), _) => Box::new(|name| fits(pattern.as_bytes(), name)),
        Rule::NoCalls(_, patterns) if !patterns.is_empty() => {
            Box::new(|name| patterns.iter().any(|pattern| fits(pattern.as_bytes(), name)))
        }
        _ => Box::new(|_| true),
    }
}

fn question<'a>(rule: &'a Rule, threads: &'a Threads<'a>) -> Option<Question<'a>> {
    let Rule::NoCalls(forbidden, _) = rule else { return None };
    let place = match forbidden {
        Forbidden::In(name) => Place::Section(name.as_bytes()),
        Forbidden::After(name) => Place::After(name.as_bytes()),
        Forbidden::By(_) => Place::Anywhere,
    };
    Some(Question { place, threads })
}

/// Calls as an amount of them.
pub fn amount(calls: &StackCalls) -> Amount {
    Amount { blocks: calls.kinds.all(), bytes: calls.bytes }
}
