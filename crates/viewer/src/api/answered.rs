//! The figures of a question, on the calls of the recording.

use std::collections::BTreeSet;

use heapscribe_analyze::answer::{Amount, Stack};
use heapscribe_analyze::input::{Chosen, History};
use heapscribe_convert::ranges::{ByKey, Ranges};
use heapscribe_index::{Death, Key, KeyFilter, Question, SizeClass, Span};

use super::analysis::Analysis;
use super::ask::{At, Blocks, Show};
use super::stacks::Stacks;
use super::wanted::Wanted;
use crate::model::{Own, SizeRows, plain, sizes};

/// The figures.
pub(super) struct Answered {
    pub(super) own: Own,
    /// The same by stack, in the order of the tips: without those that are not known.
    pub(super) by_stack: Vec<Amount>,
    /// By size; none where sizes are not kept apart by question.
    pub(super) sizes: Option<SizeRows>,
    /// The moment of live blocks, ns from the start.
    pub(super) at_ns: Option<u64>,
}

/// Why there are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NoAnswer {
    /// All events have to be read first.
    NotYet,
    /// The question makes no sense here; why, in words.
    Refused(String),
}

/// Those of a question about a range.
pub(super) fn by_question<H: History>(
    ranges: &Ranges<'_, H>,
    peak_ns: impl Fn() -> Result<u64, NoAnswer>,
    stacks: &Stacks,
    blocks: &Blocks,
) -> Result<Answered, NoAnswer> {
    let (question, at_ns) = asked_for(ranges, peak_ns, blocks)?;
    let mut answer = match blocks.age_ns {
        None => asked(ranges, &question, blocks),
        Some(age_ns) => aged(ranges, &question, age_ns, blocks)?,
    };
    let wanted = Wanted::new(&stacks.calls, blocks).map_err(NoAnswer::Refused)?;
    answer.sums.retain(|(key, _)| wanted.has_key(key));
    let (mut by_stack, mut unknown) = (vec![Amount::default(); stacks.calls.tips().len()], Amount::default());
    for (key, amount) in answer.sums.iter().filter(|(key, _)| wanted.has_tip(|| stacks.tip(key))) {
        let sum = stacks.position(key).map_or(&mut unknown, |at| &mut by_stack[at]);
        sum.add(&plain(*amount));
    }
    let known = stacks.calls.tips().iter().copied().zip(by_stack.iter().copied());
    let own = Own::new(&stacks.calls, known.chain([(stacks.calls.unknown(), unknown)]));
    let chosen = answer.sums.iter().filter(|(key, _)| wanted.has_tip(|| stacks.tip(key)));
    let sizes = Some(sizes(chosen.map(|(key, amount)| (key.size, plain(*amount)))));
    Ok(Answered { own, by_stack, sizes, at_ns })
}

/// The question, and the moment of live blocks.
pub(super) fn asked_for<H: History>(
    ranges: &Ranges<'_, H>,
    peak_ns: impl Fn() -> Result<u64, NoAnswer>,
    blocks: &Blocks,
) -> Result<(Question, Option<u64>), NoAnswer> {
    let at_ns = match (blocks.show, blocks.at) {
        (Show::Live, At::Ns(ns)) => Some(ns),
        (Show::Live, At::Peak) => Some(peak_ns()?),
        _ => None,
    };
    reject_coarse(ranges, blocks)?;
    Ok((question(ranges, blocks, at_ns), at_ns))
}

/// The totals of questions about ranges that ask for the same blocks: what their figures, each by itself, add up to.
pub(super) fn totals<H: History>(
    ranges: &Ranges<'_, H>,
    stacks: &Stacks,
    questions: &[Blocks],
) -> Result<Vec<Amount>, NoAnswer> {
    let Some(blocks) = questions.first() else { return Ok(Vec::new()) };
    reject_coarse(ranges, blocks)?;
    let wanted = Wanted::new(&stacks.calls, blocks).map_err(NoAnswer::Refused)?;
    let asked: Vec<Question> = questions.iter().map(|blocks| question(ranges, blocks, None)).collect();
    let is_wanted = |key: &Key| wanted.has_key(key) && wanted.has_tip(|| stacks.tip(key));
    let filter: Option<KeyFilter<'_>> = if wanted.is_all() { None } else { Some(&is_wanted) };
    Ok(ranges.totals(&asked, filter).into_iter().map(plain).collect())
}

/// Sizes and threads that are not known cannot be asked for.
pub(super) fn reject_coarse<H: History>(ranges: &Ranges<'_, H>, blocks: &Blocks) -> Result<(), NoAnswer> {
    let is_coarse = ranges.index().is_some_and(heapscribe_index::Index::is_coarse);
    let is_by_size = blocks.size_bytes.is_some() || blocks.larger_bytes.is_some();
    match is_by_size && blocks.age_ns.is_none() && is_coarse {
        true => {
            Err(NoAnswer::Refused("the index does not keep sizes apart; use more --index-memory".to_owned()))
        }
        false => Ok(()),
    }
}

/// The answer for the process and the thread that are asked for.
fn asked<H: History>(ranges: &Ranges<'_, H>, question: &Question, blocks: &Blocks) -> ByKey {
    let Some(process) = blocks.process else { return ranges.ask(question) };
    let threads = blocks.thread.map(|thread| BTreeSet::from([thread]));
    ranges.ask_of(question, &Chosen { processes: vec![(process as usize, threads)] })
}

/// The answer of those that lived so long.
fn aged<H: History>(
    ranges: &Ranges<'_, H>,
    question: &Question,
    (from_ns, to_ns): (u64, u64),
    blocks: &Blocks,
) -> Result<ByKey, NoAnswer> {
    let died = match (blocks.show, question.death) {
        (Show::Allocated, _) => Span::ALL,
        (Show::Freed | Show::Within, Death::In(died)) => died,
        _ => {
            let why = "only what was freed has a lifetime: choose blocks allocated or freed in the range";
            return Err(NoAnswer::Refused(why.to_owned()));
        }
    };
    Ok(ranges.aged(&question.born, &died, &Span { from_ns, to_ns }))
}

/// The question, with moments as the recording's clock has them.
fn question<H: History>(ranges: &Ranges<'_, H>, blocks: &Blocks, at_ns: Option<u64>) -> Question {
    let mut range = span(ranges, blocks.from_ns, blocks.to_ns);
    if let (Some(at_ns), Some(older_ns)) = (at_ns, blocks.older_ns) {
        let at_ns = at_ns.min(ranges.extent().duration_ns);
        let born = at_ns.checked_sub(older_ns).map_or(Span { from_ns: 0, to_ns: 0 }, |ns| {
            Span::until(ranges.extent().begin_ns.saturating_add(ns))
        });
        range = range.and(&born);
    }
    let last_ns = if range.to_ns == u64::MAX { u64::MAX } else { range.to_ns - 1 };
    match blocks.show {
        Show::Live => {
            let extent = ranges.extent();
            let ns = match at_ns.unwrap_or(0) {
                ns if ns >= extent.duration_ns => Question::END,
                ns => extent.begin_ns.saturating_add(ns),
            };
            Question::generation(range, ns)
        }
        Show::Allocated => Question::allocated(range),
        Show::Freed => {
            let born =
                blocks.born_ns.map_or(Span::ALL, |(from_ns, to_ns)| span(ranges, Some(from_ns), Some(to_ns)));
            Question { born, death: Death::In(range) }
        }
        Show::Retained => Question { born: range, death: Death::NotUntil(last_ns) },
        Show::Within => Question { born: range, death: Death::In(range) },
        Show::Left => Question::never_freed(range),
    }
}

/// A range, ns from the start, as the recording's clock has it: its end is not in it, but the end of the recording is.
pub(super) fn span<H: History>(ranges: &Ranges<'_, H>, from_ns: Option<u64>, to_ns: Option<u64>) -> Span {
    let to_ns = to_ns.filter(|ns| *ns < ranges.extent().duration_ns);
    ranges.span(from_ns.filter(|ns| *ns != 0), to_ns)
}

/// Those of a whole recording, where nothing is known of ranges.
pub(super) fn of_whole(analysis: &Analysis, stacks: &Stacks, blocks: &Blocks) -> Result<Answered, NoAnswer> {
    let refused = |what: &str| Err(NoAnswer::Refused(what.to_owned()));
    let is_ranged = blocks.from_ns.is_some() || blocks.to_ns.is_some() || blocks.born_ns.is_some();
    if is_ranged || blocks.at != At::Peak {
        return refused(
            "a snapshot, a profile, a trace of Go, or a ring that has lost its first events, has no ranges",
        );
    }
    if !analysis.has_stacks {
        return refused("it has only the heap over time");
    }
    let is_by_life = blocks.age_ns.is_some() || blocks.older_ns.is_some();
    let is_by_size = blocks.size_bytes.is_some() || blocks.larger_bytes.is_some();
    if blocks.process.is_some() || is_by_size || is_by_life {
        return refused("processes, threads, sizes and lifetimes are not kept apart here");
    }
    let amount: fn(&Stack) -> Amount = match (blocks.show, analysis.is_snapshot) {
        (Show::Live, true) => |stack| stack.leaked,
        (Show::Live, false) => |stack| stack.at_peak,
        (Show::Left, false) => |stack| stack.leaked,
        (Show::Allocated, _) if analysis.has_allocated => |stack| stack.allocated,
        (Show::Freed, false) => |stack| stack.freed,
        _ => return refused("it has only what is live"),
    };
    let wanted = Wanted::new(&stacks.calls, blocks).map_err(NoAnswer::Refused)?;
    let tips = stacks.calls.tips().iter().copied();
    let shown = |(tip, stack)| if wanted.has_tip(|| tip) { amount(stack) } else { Amount::default() };
    let by_stack: Vec<Amount> = tips.clone().zip(&analysis.answer.stacks).map(shown).collect();
    let own = Own::new(&stacks.calls, tips.zip(by_stack.iter().copied()));
    let of_sizes = |class: &heapscribe_analyze::answer::SizeClass| {
        (SizeClass::of(class.from_bytes), Amount { blocks: class.count, bytes: class.bytes })
    };
    let has_sizes = !analysis.sizes.is_empty();
    let is_of_sizes =
        has_sizes && wanted.is_any_name() && (analysis.is_snapshot || blocks.show == Show::Allocated);
    Ok(Answered {
        own,
        by_stack,
        sizes: is_of_sizes.then(|| sizes(analysis.sizes.iter().map(of_sizes))),
        at_ns: (blocks.show == Show::Live && !analysis.is_snapshot).then_some(analysis.answer.peak.time_ns),
    })
}
