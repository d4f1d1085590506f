//! Figures of calls that `check` holds against limits: the busiest second, and the slowest call.

use heapscribe_analyze::busiest;
use heapscribe_analyze::calls::{Place, Question, StackCalls, calls};
use heapscribe_analyze::gathered::Gathered;
use heapscribe_analyze::input::{History, ProcessFacts, SessionFacts};
use heapscribe_views::check::subject::Subject;
use heapscribe_views::check::worst::Worst;
use heapscribe_views::check::{Culprit, Evidence};

/// The origin of a process's times: the begin of the recording, where that is known.
pub(super) fn origin_ns(session: &SessionFacts, process: &ProcessFacts) -> u64 {
    match session.begin_mono_ns {
        0 => process.begin_mono_ns,
        known => known.min(process.begin_mono_ns),
    }
}

/// The second with the most allocations, and the stacks that made them.
pub(super) fn the_busiest_second<H: History>(
    alone: &H,
    subject: &mut Subject,
    top: usize,
    gathered: &mut Gathered,
) {
    let mut found = busiest::busiest(alone);
    let blocks = |stack: &StackCalls| stack.kinds.allocations.saturating_add(stack.kinds.reallocs);
    subject.in_busiest = worst(alone, Place::During(found.from_ns, found.to_ns), blocks, 0, top, gathered).1;
    let begin_ns = alone.processes().first().map_or(0, |facts| origin_ns(&alone.session(), facts));
    found.from_ns = found.from_ns.saturating_sub(begin_ns);
    subject.busiest = Some(found);
}

/// The slowest call, and the stacks with a call over the limit.
pub(super) fn the_slowest_calls<H: History>(
    alone: &H,
    subject: &mut Subject,
    limit_ns: u64,
    top: usize,
    gathered: &mut Gathered,
) {
    let took_ns = |stack: &StackCalls| stack.worst_ns.unwrap_or(0);
    (subject.slowest_ns, subject.by_slowest) =
        worst(alone, Place::Anywhere, took_ns, limit_ns, top, gathered);
}

/// The largest value of a figure among all stacks at a place, and the stacks above a limit, the largest first.
fn worst<H: History>(
    alone: &H,
    place: Place<'_>,
    by: fn(&StackCalls) -> u64,
    limit: u64,
    top: usize,
    gathered: &mut Gathered,
) -> (Option<u64>, Worst) {
    let calls = calls(alone, &[Question { place, threads: &|_| true }]);
    let mut stacks = calls.processes.into_iter().flatten().flat_map(|found| found.stacks).collect::<Vec<_>>();
    let most = stacks.iter().map(by).max().filter(|most| *most > 0);
    stacks.retain(|stack| by(stack) > limit);
    stacks.sort_by_key(|stack| (std::cmp::Reverse(by(stack)), stack.node));
    let culprit = |stack: &StackCalls| Culprit {
        stack: gathered.stack(&calls.tree, stack.node),
        what: Evidence::Calls(*stack),
        is_estimated: false,
    };
    let culprits = stacks.iter().take(top).map(culprit).collect();
    (most, Worst { culprits, more: stacks.len().saturating_sub(top) })
}
