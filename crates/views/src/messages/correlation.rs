//! Correlation of a message log with a heap trace of the same machine: what the heap did between one message
//! of a channel and the next.
//!
//! Both logs have CLOCK_MONOTONIC, so that their times compare without any matching, as long as both are of
//! one boot of one machine; that is checked by their wall clocks. A message is a mark at its event time:
//! when it was sent, or for one of another node when it arrived. Messages with another node's times are none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use heapscribe_analyze::Recording;
use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::findings;
use heapscribe_analyze::input::{Chosen, History};
use heapscribe_analyze::intervals::{self, Interval, Intervals};
use heapscribe_analyze::selection::Split;
use heapscribe_aos_log::layout::Kind;
use heapscribe_aos_log::read::{Message, Order, Policy};
use heapscribe_formats::{Source, Trace};
use serde::Serialize;

use heapscribe_convert::message_log::Log;
use heapscribe_diagnostics::Problem;

/// Messages that can be held against a trace at a time; 64 bytes each.
const MARKS_MAX: usize = 4_000_000;

/// Wall clocks are set now and then, but by more than this they differ only between boots or machines.
const APART_NS_MAX: u64 = 10_000_000_000;

/// Messages that are named one by one.
const HEAVIEST: usize = 20;

/// A message as a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Mark {
    ns: u64,
    channel_index: u32,
    queue_index: u32,
    size_bytes: u64,
}

/// What the heap did, with messages as marks.
#[derive(Debug, Serialize)]
pub struct MessageCorrelation {
    /// The processes that were asked for by pid; all when there is none.
    pub pids: Vec<u32>,
    /// What of the trace it is about, in words; empty for all.
    pub chosen: String,
    /// Messages within the time of the trace.
    pub messages: u64,
    /// Messages before and after it.
    pub messages_outside: u64,
    /// Records with times of other nodes, which are no marks.
    pub messages_of_other_clocks: u64,
    /// How far the two wall clocks are apart; none when one is not known.
    pub clocks_apart_ns: Option<u64>,
    /// Whether that is so little that both are of one boot of one machine.
    pub clocks_agree: bool,
    /// Before the first message.
    pub before: HeapActivity,
    /// Since the last message of all.
    pub after: HeapActivity,
    /// By number.
    pub channels: Vec<ChannelActivity>,
    /// The messages with most bytes until the next message of any channel.
    pub heaviest: Vec<HeavyMessage>,
    /// Messages each of which alone left much of what was never freed: of what was allocated until the next message of any
    /// channel.
    pub left: Vec<HoldingMessage>,
}

/// What the heap did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct HeapActivity {
    /// Allocated blocks.
    pub allocations: u64,
    /// Bytes of them.
    pub allocated_bytes: u64,
    /// Freed blocks.
    pub frees: u64,
    /// Bytes of them.
    pub freed_bytes: u64,
    /// Allocated blocks that were never freed.
    pub left: u64,
    /// Bytes of them.
    pub left_bytes: u64,
}

impl From<Interval> for HeapActivity {
    fn from(s: Interval) -> HeapActivity {
        let Interval { allocations, allocated_bytes, frees, freed_bytes, .. } = s;
        let Amount { blocks: left, bytes: left_bytes } = s.left();
        HeapActivity { allocations, allocated_bytes, frees, freed_bytes, left, left_bytes }
    }
}

/// What the heap did between the messages of one channel.
#[derive(Debug, Default, Serialize)]
pub struct ChannelActivity {
    /// Number of the channel in the log.
    pub channel_index: u32,
    /// Messages of it within the time of the trace.
    pub messages: u64,
    /// From one message of the channel to its next: every such time together.
    pub until_next: HeapActivity,
    /// How many such times there are.
    pub times: u64,
    /// How many of them had no allocation.
    pub quiet_times: u64,
    /// The one with most bytes.
    pub most: Option<HeavyMessage>,
    /// From its messages to the next message of any channel.
    pub alone: HeapActivity,
}

/// A message and what the heap did after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HeavyMessage {
    /// Number of the channel in the log.
    pub channel_index: u32,
    /// Number of the message in its channel.
    pub queue_index: u32,
    /// When, ns since the trace began.
    pub time_ns: u64,
    /// What the heap did until the next message.
    #[serde(flatten)]
    pub did: HeapActivity,
}

/// A message that left much.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HoldingMessage {
    /// Which.
    #[serde(flatten)]
    pub message: HeavyMessage,
    /// When the next message of any channel was, ns since the trace began; none for the last.
    pub until_ns: Option<u64>,
}

/// What of a log can be held against a trace.
#[derive(Default)]
struct Marks {
    marks: Vec<Mark>,
    outside: u64,
    of_other_clocks: u64,
    apart_ns: Option<u64>,
}

/// A part, and what is wrong with it.
pub type PartProblems = (PathBuf, Vec<String>);

/// What of a trace is held against a log: nothing for all.
pub struct Asked {
    /// The processes and threads.
    pub chosen: Option<Chosen>,
    /// By pid.
    pub pids: Vec<u32>,
    /// In words.
    pub in_words: String,
}

/// Reads a log and holds it against a trace. With what of the log cannot be read, by file.
pub fn compare<S: Source + Sync>(
    trace: &Trace<S>,
    paths: &[PathBuf],
    policy: Policy,
    asked: Asked,
) -> Result<(MessageCorrelation, Vec<PartProblems>)> {
    let begin_ns = trace.start_mono_ns();
    let mut log = Log::open(paths, policy, Order::Time)?;
    let (found, cut) = cut(trace, &mut log, asked.chosen)?;
    let after = cut.intervals.last().copied().unwrap_or_default();
    let correlation = MessageCorrelation {
        pids: asked.pids,
        chosen: asked.in_words,
        messages: found.marks.len() as u64,
        messages_outside: found.outside,
        messages_of_other_clocks: found.of_other_clocks,
        clocks_apart_ns: found.apart_ns,
        clocks_agree: agree(found.apart_ns),
        before: cut.before.into(),
        after: after.into(),
        channels: channels(&found.marks, &cut.intervals, begin_ns),
        heaviest: heaviest(&found.marks, &cut.intervals, begin_ns),
        left: left(&found.marks, &cut, begin_ns),
    };
    Ok((correlation, problems(&log)))
}

/// The messages of a log one by one, with what the heap of a trace did after each.
pub struct EachMessage {
    /// In the order of their times. What the heap did after the last one has no end.
    pub messages: Vec<(HeavyMessage, u64)>,
    /// Name and type of channels, by number, as far as the log has them.
    pub channels: Vec<(String, String)>,
    /// How far the two wall clocks are apart; none when one is not known.
    pub clocks_apart_ns: Option<u64>,
    /// Whether that is so little that both are of one boot of one machine.
    pub clocks_agree: bool,
}

/// Reads a log and holds it against a trace, message by message, each with the bytes that it has. With what of the log
/// cannot be read, by file.
pub fn each<S: Source + Sync>(
    trace: &Trace<S>,
    paths: &[PathBuf],
    policy: Policy,
) -> Result<(EachMessage, Vec<PartProblems>)> {
    let begin_ns = trace.start_mono_ns();
    let mut log = Log::open(paths, policy, Order::Time)?;
    let (found, cut) = cut(trace, &mut log, None)?;
    let held = found.marks.iter().zip(&cut.intervals);
    let named = log.configurations().into_iter().find(|of| !of.channels.is_empty()).unwrap_or_default();
    let each = EachMessage {
        messages: held.map(|(mark, did)| (heavy(mark, begin_ns, *did), mark.size_bytes)).collect(),
        channels: named.channels.into_iter().map(|channel| (channel.name, channel.type_name)).collect(),
        clocks_apart_ns: found.apart_ns,
        clocks_agree: agree(found.apart_ns),
    };
    Ok((each, problems(&log)))
}

/// The messages within the time of a trace, and what was done between them.
fn cut<S: Source + Sync>(
    trace: &Trace<S>,
    log: &mut Log<'_>,
    chosen: Option<Chosen>,
) -> Result<(Marks, Intervals)> {
    let recording = Recording::new(trace);
    let begin_ns = trace.start_mono_ns();
    let found = read(log, &recording, begin_ns..=begin_ns.saturating_add(trace.duration_ns()))?;
    let times: Vec<u64> = found.marks.iter().map(|mark| mark.ns).collect();
    // The report of the trace names chunks that cannot be read.
    let cut = match chosen {
        None => intervals::cut(&recording, &times),
        Some(chosen) => intervals::cut(&Split::new(&recording).chosen(chosen), &times),
    };
    Ok((found, cut))
}

fn agree(clocks_apart_ns: Option<u64>) -> bool {
    clocks_apart_ns.is_none_or(|ns| ns <= APART_NS_MAX)
}

fn problems(log: &Log<'_>) -> Vec<PartProblems> {
    log.problems().into_iter().map(|(path, problems)| (path.to_owned(), problems)).collect()
}

/// Reads the marks that lie within the time of the trace, in their order.
fn read(
    log: &mut Log<'_>,
    history: &impl History,
    within_ns: std::ops::RangeInclusive<u64>,
) -> Result<Marks> {
    let session = history.session();
    let trace_offset = i128::from(session.begin_real_ns) - i128::from(session.begin_mono_ns);
    let is_known = session.begin_real_ns != 0 && session.begin_mono_ns != 0;
    let mut found = Marks::default();
    while let Some(owned) = log.next_message()? {
        let message = owned.message();
        let Some(mark) = mark(&message).filter(|_| !log.is_remote(owned.file)) else {
            found.of_other_clocks += 1;
            continue;
        };
        if is_known {
            let offset = i128::from(message.realtime_sent_time) - i128::from(message.monotonic_sent_time);
            let apart = u64::try_from((offset - trace_offset).unsigned_abs()).unwrap_or(u64::MAX);
            found.apart_ns = Some(found.apart_ns.map_or(apart, |other| other.max(apart)));
        }
        if !within_ns.contains(&mark.ns) {
            found.outside += 1;
        } else if found.marks.len() < MARKS_MAX {
            found.marks.push(mark);
        } else {
            let what = format!("the recording covers more than {MARKS_MAX} messages");
            return Err(Problem::new(what, "pass fewer parts of the log").into());
        }
    }
    // Each sequence is in order; that of several is not certain.
    found.marks.sort_unstable();
    Ok(found)
}

fn mark(m: &Message<'_>) -> Option<Mark> {
    let ns = u64::try_from(m.monotonic_sent_time).ok().filter(|_| m.kind != Kind::RemoteTimestamp)?;
    let size_bytes = m.data.map_or(0, |data| data.len() as u64);
    Some(Mark { ns, channel_index: m.channel_index, queue_index: m.queue_index, size_bytes })
}

fn heavy(mark: &Mark, begin_ns: u64, did: Interval) -> HeavyMessage {
    HeavyMessage {
        channel_index: mark.channel_index,
        queue_index: mark.queue_index,
        time_ns: mark.ns - begin_ns,
        did: did.into(),
    }
}

/// The difference of two sums, of which `from` is a part of `to`.
fn between(from: &Interval, to: &Interval) -> Interval {
    Interval {
        allocations: to.allocations.saturating_sub(from.allocations),
        allocated_bytes: to.allocated_bytes.saturating_sub(from.allocated_bytes),
        frees: to.frees.saturating_sub(from.frees),
        freed_bytes: to.freed_bytes.saturating_sub(from.freed_bytes),
        ended: to.ended.saturating_sub(from.ended),
        ended_bytes: to.ended_bytes.saturating_sub(from.ended_bytes),
    }
}

/// Sums by channel. The time from a message to the next of its channel is the difference of two sums over
/// all marks; that of the last message has no end and is in none.
fn channels(marks: &[Mark], stretches: &[Interval], begin_ns: u64) -> Vec<ChannelActivity> {
    #[derive(Default)]
    struct Open {
        sums: ChannelActivity,
        until_next: Interval,
        alone: Interval,
        last: Option<(Mark, Interval)>,
    }
    let mut by_channel: BTreeMap<u32, Open> = BTreeMap::new();
    let mut so_far = Interval::default();
    for (mark, stretch) in marks.iter().zip(stretches) {
        let open = by_channel.entry(mark.channel_index).or_default();
        open.sums.messages += 1;
        open.alone.add(stretch);
        if let Some((last, then)) = &open.last {
            let did = between(then, &so_far);
            open.until_next.add(&did);
            open.sums.times += 1;
            open.sums.quiet_times += u64::from(did.allocations == 0);
            if open.sums.most.is_none_or(|most| did.allocated_bytes > most.did.allocated_bytes) {
                open.sums.most = Some(heavy(last, begin_ns, did));
            }
        }
        open.last = Some((*mark, so_far));
        so_far.add(stretch);
    }
    let done = |(channel_index, open): (u32, Open)| ChannelActivity {
        channel_index,
        until_next: open.until_next.into(),
        alone: open.alone.into(),
        ..open.sums
    };
    by_channel.into_iter().map(done).collect()
}

/// The last message is not among them: what follows it has no end.
fn heaviest(marks: &[Mark], stretches: &[Interval], begin_ns: u64) -> Vec<HeavyMessage> {
    let with_end = marks.len().saturating_sub(1);
    let mut order: Vec<usize> = (0..with_end).filter(|n| stretches[*n].allocations > 0).collect();
    order.sort_by_key(|n| (std::cmp::Reverse(stretches[*n].allocated_bytes), *n));
    order.into_iter().take(HEAVIEST).map(|n| heavy(&marks[n], begin_ns, stretches[n])).collect()
}

/// Those that hold as much as a section has to for a finding.
fn left(marks: &[Mark], cut: &Intervals, begin_ns: u64) -> Vec<HoldingMessage> {
    let all =
        cut.intervals.iter().chain([&cut.before]).map(|of| of.left().bytes).fold(0, u64::saturating_add);
    let holds = |(n, did): (usize, &Interval)| HoldingMessage {
        message: heavy(&marks[n], begin_ns, *did),
        until_ns: marks.get(n + 1).map(|next| next.ns - begin_ns),
    };
    let intervals = cut.intervals.iter().enumerate();
    let much = intervals.filter(|(_, did)| findings::is_much_of_one(did.left().bytes, all));
    let mut left: Vec<_> = much.map(holds).collect();
    left.sort_by_key(|of| std::cmp::Reverse(of.message.did.left_bytes));
    left
}

#[cfg(test)]
mod tests;
