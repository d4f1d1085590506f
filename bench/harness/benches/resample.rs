//! Samples a full trace again and again and says how often the ranges of the estimates hold the truth:
//! `cargo bench -p heapscribe-bench --bench resample -- FULL.hst [RUNS [MEAN_BYTES [SAMPLED.hst...]]]`. What is sampled
//! is the events of the full trace, by the rules that the recorder follows; traces of the same program
//! that a recorder sampled can be named behind.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use heapscribe_analyze::answer::{Answer, NodeId, Stack};
use heapscribe_analyze::estimate::{Estimate, Figure, StackEstimates};
use heapscribe_analyze::input::{ChunkFacts, EventsInOrder, History, ProcessFacts, SessionFacts};
use heapscribe_analyze::{Options, Recording, analyze};
use heapscribe_formats::{Scratch, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{RateId, StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Event, Events};
use heapscribe_wire::sampler::Sampler;

const RATE: RateId = RateId(1);
/// Stacks of fewer expected samples are counted by themselves.
const OFTEN: f64 = 5.0;

type Full<'a> = Recording<'a, Vec<u8>>;

/// A full recording, sampled.
struct Resampled<'a> {
    full: &'a Full<'a>,
    mean_bytes: u64,
    chunks: Vec<(ChunkFacts, Vec<u8>)>,
}

/// One thread of the recording that is made.
struct Thread {
    sampler: Sampler,
    gap: u64,
}

/// A block's process, thread and birth.
type Name = (usize, u32, u64);

/// The chunk that is being written.
struct Pen {
    bytes: Vec<u8>,
    ticks: u64,
    rate: RateId,
    facts: ChunkFacts,
}

impl Pen {
    fn put(&mut self, dt: u64, event: &Event) {
        let mut at = [0; EVENT_BYTES_MAX];
        let len = event.encode(dt, &mut at);
        self.bytes.extend_from_slice(&at[..len]);
    }

    fn tell(&mut self, ticks: u64, event: &Event, rate: RateId) {
        if rate != self.rate {
            self.put(0, &Event::Rate { rate });
            self.rate = rate;
        }
        self.put(ticks - self.ticks, event);
        (self.ticks, self.facts.last_ticks) = (ticks, ticks);
        self.facts.events += 1;
    }
}

impl<'a> Resampled<'a> {
    /// `chunks` are the full recording's, those of each thread in their order.
    fn new(
        full: &'a Full<'a>,
        chunks: &[(ChunkFacts, Vec<(u64, Event)>)],
        mean_bytes: u64,
        seed: u64,
    ) -> Self {
        let mut threads = HashMap::new();
        let mut sampled = HashSet::new();
        let mut written: Vec<(ChunkFacts, Vec<u8>)> = Vec::new();
        // First who comes, of all threads: a block may go on another.
        for (chunk, events) in chunks {
            let thread = threads.entry((chunk.process, chunk.thread)).or_insert_with(|| {
                let stream = (chunk.process as u64) << 32 | u64::from(chunk.thread);
                let mut sampler = Sampler::new(seed, stream);
                Thread { gap: sampler.next_gap(mean_bytes), sampler }
            });
            for (ticks, event) in events {
                if let Some(size_bytes) = came(event) {
                    let name = (chunk.process, chunk.thread, *ticks);
                    if thread.gap > size_bytes {
                        thread.gap -= size_bytes + 1;
                    } else {
                        thread.gap = thread.sampler.next_gap(mean_bytes);
                        sampled.insert(name);
                    }
                }
            }
        }
        for (chunk, events) in chunks {
            written.push(write(chunk, events, &sampled));
        }
        Resampled { full, mean_bytes, chunks: written }
    }
}

/// The size of the block that an event hands out.
fn came(event: &Event) -> Option<u64> {
    match *event {
        Event::Alloc { size_bytes, .. }
        | Event::Realloc { size_bytes, .. }
        | Event::UnknownRealloc { size_bytes, .. } => Some(size_bytes),
        _ => None,
    }
}

fn write(chunk: &ChunkFacts, events: &[(u64, Event)], sampled: &HashSet<Name>) -> (ChunkFacts, Vec<u8>) {
    let facts = ChunkFacts { events: 0, last_ticks: chunk.begin_ticks, ..*chunk };
    let mut pen = Pen { bytes: Vec::new(), ticks: chunk.begin_ticks, rate: RateId::FULL, facts };
    // The newest block of the thread, and the newest of those that are told.
    let (mut newest, mut told) = (chunk.last_alloc_ticks, chunk.last_alloc_ticks);
    let of = |block: &Block, ticks: u64| {
        let ThreadId(thread) = block.birth_thread.unwrap_or(ThreadId(chunk.thread));
        sampled.contains(&(chunk.process, thread, ticks.wrapping_sub(block.age_ticks)))
    };
    for &(ticks, ref event) in events {
        let is_hit = came(event).is_some() && sampled.contains(&(chunk.process, chunk.thread, ticks));
        let went = match event {
            Event::Free { block, .. } | Event::Realloc { old: block, .. } => Some((block, of(block, ticks))),
            _ => None,
        };
        if let Some((block, true)) = went
            && ticks.wrapping_sub(block.age_ticks) == told
            && told != newest
        {
            // Told again: the thread was given blocks that were not sampled.
            if pen.rate != RATE {
                pen.put(0, &Event::Rate { rate: RATE });
            }
            pen.put(0, &Event::Rate { rate: RATE });
            pen.rate = RATE;
        }
        if let Some(event) = what_is_told(event, went.is_some_and(|(_, hit)| hit), is_hit) {
            pen.tell(ticks, &event, RATE);
        } else if matches!(event, Event::Failed { .. } | Event::Lost { .. } | Event::Note { .. }) {
            pen.tell(ticks, event, RateId::FULL);
        }
        if came(event).is_some() {
            newest = ticks;
            told = if is_hit { ticks } else { told };
        }
    }
    (pen.facts, pen.bytes)
}

/// What is left of an event when the block that went, the one that came, both or none were sampled.
fn what_is_told(event: &Event, went: bool, came: bool) -> Option<Event> {
    match *event {
        Event::Alloc { .. } if came => Some(*event),
        Event::Free { .. } if went => Some(*event),
        Event::Realloc { .. } if went && came => Some(*event),
        Event::Realloc { call, old, .. } if went => Some(Event::Free { call, block: old }),
        Event::Realloc { call, size_bytes, stack, .. }
        | Event::UnknownRealloc { call, size_bytes, stack }
            if came =>
        {
            Some(Event::Alloc { call, size_bytes, stack, align_log2: 0 })
        }
        _ => None,
    }
}

impl History for Resampled<'_> {
    type Scratch = Scratch;

    fn session(&self) -> SessionFacts {
        self.full.session()
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        self.full.processes()
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.chunks.iter().map(|(facts, _)| *facts).collect()
    }

    fn events<'a>(&'a self, chunk: usize, _: &'a mut Scratch) -> Result<impl EventsInOrder + 'a, String> {
        Ok(Events::new(&self.chunks[chunk].1))
    }

    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String> {
        take(StackId::UNKNOWN, &Definition::Rate { id: RATE, mean_bytes: self.mean_bytes });
        self.full.definitions(process, take)
    }
}

/// How often ranges of one figure held the truth, and what the estimates were in all.
#[derive(Clone, Copy, Default)]
struct Tally {
    held: u32,
    seen: u32,
    samples: u64,
    sum: f64,
    variance: f64,
}

impl Tally {
    fn add(&mut self, figure: &Figure, samples: u64, truth: f64) {
        self.samples += samples;
        self.sum += figure.value;
        self.variance += figure.variance;
        self.seen += u32::from(samples > 0);
        self.held += u32::from(samples > 0 && figure.low <= truth && truth <= figure.high);
    }
}

type OfStack = (fn(&StackEstimates) -> &Estimate, fn(&Stack) -> heapscribe_analyze::answer::Amount);
/// Name, and where it stands in estimates and in the truth.
const FIGURES: [(&str, OfStack); 5] = [
    ("allocated", (|e| &e.allocated, |s| s.allocated)),
    ("freed", (|e| &e.freed, |s| s.freed)),
    ("peak", (|e| &e.at_peak, |s| s.at_peak)),
    ("leaked", (|e| &e.leaked, |s| s.leaked)),
    ("temporary", (|e| &e.temporary, |s| s.temporary)),
];

/// Names a stack in any recording of the program.
fn key(answer: &Answer, node: NodeId) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (_, frame) in answer.tree.frames(node) {
        frame.module.map(|module| &answer.tree.modules[module as usize].path).hash(&mut hasher);
        frame.address.hash(&mut hasher);
    }
    hasher.finish()
}

/// Compares sampled recordings with the full one, figure by figure.
fn compare(name: &str, truth: &Answer, runs: u32, answers: impl Iterator<Item = Answer>) {
    let truths: BTreeMap<u64, &Stack> = truth.stacks.iter().map(|s| (key(truth, s.node), s)).collect();
    let mut tallies: BTreeMap<u64, [[Tally; 2]; 5]> =
        truths.keys().map(|&key| (key, Default::default())).collect();
    let mut totals = [[0u32; 2]; 2];
    for answer in answers {
        let Some(sampling) = &answer.sampling else {
            println!("{name}: a recording has no samples");
            return;
        };
        let (t, peak) = (&truth.totals, &truth.peak);
        let true_of = [[t.allocations, t.allocated_bytes], [peak.blocks, peak.bytes]];
        for ((estimate, truth), held) in
            [&sampling.allocated, &sampling.peak].iter().zip(true_of).zip(&mut totals)
        {
            for ((figure, truth), held) in [estimate.blocks, estimate.bytes].iter().zip(truth).zip(held) {
                *held += u32::from((figure.low..=figure.high).contains(&(truth as f64)));
            }
        }
        for (stack, estimates) in answer.stacks.iter().zip(&sampling.stacks) {
            let key = key(&answer, stack.node);
            let (Some(truth), Some(tallies)) = (truths.get(&key), tallies.get_mut(&key)) else { continue };
            for ((_, (estimate, amount)), [blocks, bytes]) in FIGURES.iter().zip(tallies) {
                let (found, truth) = (estimate(estimates), amount(truth));
                blocks.add(&found.blocks, found.samples, truth.blocks as f64);
                bytes.add(&found.bytes, found.samples, truth.bytes as f64);
            }
        }
    }
    let [of_total, of_peak] = totals;
    println!(
        "{name}: {runs} runs, {} stacks; the total's range held in {} (blocks) and {} (bytes) of them, the peak's in {} and {}",
        truths.len(),
        of_total[0],
        of_total[1],
        of_peak[0],
        of_peak[1]
    );
    for (figure, (of, (_, amount))) in FIGURES.iter().enumerate() {
        for (unit, what) in ["blocks", "bytes"].iter().enumerate() {
            let of_truth = |stack: &Stack| if unit == 0 { amount(stack).blocks } else { amount(stack).bytes };
            tell(
                &format!("{name}: {of} {what}"),
                runs,
                tallies.iter().map(|(key, t)| (t[figure][unit], of_truth(truths[key]))),
            );
        }
    }
}

fn tell(name: &str, runs: u32, stacks: impl Iterator<Item = (Tally, u64)>) {
    let (mut often, mut rare, mut worst, mut stacks_often) = (Tally::default(), Tally::default(), 0f64, 0);
    for (tally, truth) in stacks {
        let is_often = tally.samples as f64 >= OFTEN * f64::from(runs);
        let sum = if is_often { &mut often } else { &mut rare };
        sum.held += tally.held;
        sum.seen += tally.seen;
        if is_often && tally.variance > 0.0 {
            stacks_often += 1;
            worst = worst.max(((tally.sum - f64::from(runs) * truth as f64) / tally.variance.sqrt()).abs());
        }
    }
    let percent = |t: &Tally| 100.0 * f64::from(t.held) / f64::from(t.seen.max(1));
    println!(
        "{name}: {:.1} % of {} ranges hold the truth ({stacks_often} stacks, mean at most {worst:.1} standard errors off); rarer ones {:.1} % of {}",
        percent(&often),
        often.seen,
        percent(&rare),
        rare.seen
    );
}

fn open(path: &str) -> Trace<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    Trace::open(bytes).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |n: usize, default| arguments.get(n).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (runs, mean_bytes) = (number(1, 200), number(2, 64 << 10));
    let trace = open(arguments.first().map_or("run.hst", String::as_str));
    let full = Recording::new(&trace);
    let truth = analyze(&full, &Options::default());
    assert!(truth.sampling.is_none(), "this trace is sampled already");
    let mut chunks: Vec<(ChunkFacts, Vec<(u64, Event)>)> = Vec::new();
    for (number, facts) in full.chunks().into_iter().enumerate() {
        let mut ticks = facts.begin_ticks;
        let mut scratch = Scratch::default();
        let events = full.events(number, &mut scratch).unwrap_or_else(|e| panic!("{e}"));
        let timed = events.flatten().map(|(dt, event)| {
            ticks += dt;
            (ticks, event)
        });
        chunks.push((facts, timed.collect()));
    }
    chunks.sort_by_key(|(facts, _)| (facts.process, facts.thread, facts.begin_ticks));
    let replayed = (1..=runs)
        .map(|seed| analyze(&Resampled::new(&full, &chunks, mean_bytes, seed), &Options::default()));
    compare("sample: replayed", &truth, runs as u32, replayed);
    if let Some(recorded) = arguments.get(3..).filter(|rest| !rest.is_empty()) {
        let answers = recorded.iter().map(|path| {
            let trace = open(path);
            analyze(&Recording::new(&trace), &Options::default())
        });
        compare("sample: recorded", &truth, recorded.len() as u32, answers);
    }
}
