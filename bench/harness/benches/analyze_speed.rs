//! How many events a second the analysis takes, events being in memory already:
//! `cargo bench -p heapscribe-bench --bench analyze_speed -- [threads] [M events] [script]`. The program repeats a script of
//! so many operations as loops do; without one it does something else each time, which no processor can
//! foresee. `-- FILE` measures a trace, and counts how often its chunks are read.

#[path = "../../../crates/analyze-tests/tests/it/common/counting.rs"]
#[allow(unreachable_pub, reason = "tests use it, too")]
mod counting;

use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

use heapscribe_analyze::answer::Ended;
use heapscribe_analyze::input::{ChunkFacts, Clock, EventsInOrder, History, ProcessFacts, SessionFacts};
use heapscribe_analyze::{Options, Recording, analyze};
use heapscribe_formats::Trace;
use heapscribe_wire::definitions::{Definition, Node};
use heapscribe_wire::ids::{CodeAddress, StackId};
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, EVENT_BYTES_MAX};
use heapscribe_wire::record::{Block, Call, Event, Events};

const STACKS: u64 = 5000;

/// Chunks of several threads; the bytes of one thread's are everybody's.
struct Busy {
    facts: Vec<ChunkFacts>,
    payloads: Vec<Vec<u8>>,
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// One thread's chunks: their begin, last allocation before, last ticks, number of events, bytes.
fn write_thread(events: u64, script: u64) -> Vec<(ChunkFacts, Vec<u8>)> {
    let (mut seed, mut ticks, mut last_alloc) = (88_172_645_463_325_252, 1000, 0);
    let (mut chunks, mut live) =
        (Vec::<(ChunkFacts, Vec<u8>)>::new(), VecDeque::<(u64, u64, StackId)>::new());
    for number in 0..events {
        if script != 0 && number % script == 0 {
            seed = 88_172_645_463_325_252;
        }
        let r = random(&mut seed);
        if chunks.last().is_none_or(|(_, bytes)| bytes.len() + EVENT_BYTES_MAX > CHUNK_PAYLOAD_BYTES) {
            let begin =
                ChunkFacts { begin_ticks: ticks, last_alloc_ticks: last_alloc, ..ChunkFacts::default() };
            chunks.push((begin, Vec::new()));
        }
        let dt = 1 + r % 40;
        ticks += dt;
        let event = if r >> 60 >= 8 && live.len() > 10 {
            let old = if r & 1 == 0 { live.pop_back() } else { live.pop_front() };
            let (born, size_bytes, stack) = old.unwrap_or_default();
            let block = Block { size_bytes, stack, age_ticks: ticks - born, birth_thread: None };
            Event::Free { call: Call::Free, block }
        } else {
            // Few stacks do most of the work.
            let stack = StackId(1 + ((r >> 8) % STACKS * ((r >> 24) % STACKS) / STACKS) as u32);
            let size_bytes = 16 + (r >> 40) % 300;
            live.push_back((ticks, size_bytes, stack));
            last_alloc = ticks;
            Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 }
        };
        let mut at = [0; EVENT_BYTES_MAX];
        let len = event.encode(dt, &mut at);
        if let Some((facts, bytes)) = chunks.last_mut() {
            bytes.extend_from_slice(&at[..len]);
            facts.events += 1;
            facts.last_ticks = ticks;
        }
    }
    chunks
}

impl Busy {
    fn new(threads: u32, events: u64, script: u64) -> Busy {
        let chunks = write_thread(events / u64::from(threads), script);
        let of_thread = |thread| chunks.iter().map(move |(facts, _)| ChunkFacts { thread, ..*facts });
        let facts = (1..=threads).flat_map(of_thread).collect();
        Busy { facts, payloads: chunks.iter().map(|(_, bytes)| bytes.clone()).collect() }
    }
}

impl History for Busy {
    type Scratch = ();

    fn session(&self) -> SessionFacts {
        SessionFacts::default()
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        let clock = Clock { ns_per_tick_q32: 16 << 32, ..Clock::default() };
        vec![ProcessFacts { clock, ended: Ended::Exited, ..ProcessFacts::default() }]
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.facts.clone()
    }

    fn events<'a>(&'a self, chunk: usize, (): &'a mut ()) -> Result<impl EventsInOrder + 'a, String> {
        Ok(Events::new(&self.payloads[chunk % self.payloads.len()]))
    }

    fn definitions(&self, _: usize, take: &mut dyn FnMut(StackId, &Definition<'_>)) -> Result<(), String> {
        for number in 1..=STACKS as u32 {
            let (parent, pc) = (StackId(number / 2), CodeAddress(u64::from(number)));
            take(StackId(number), &Definition::Node(Node { parent, pc, guesses: false, exact: false }));
        }
        Ok(())
    }
}

/// How long a trace takes, and how often its chunks are read.
fn measure(path: &Path) {
    let bytes = std::fs::read(path).expect("the trace can be read");
    let trace = Trace::open(&bytes[..]).expect("a trace");
    let recording = Recording::new(&trace);
    let begin = Instant::now();
    let answer = analyze(&recording, &Options::default());
    let all = begin.elapsed().as_secs_f64();
    let events: u64 = recording.chunks().iter().map(|chunk| chunk.events).sum();
    let counting = counting::Counting::new(&recording);
    analyze(&counting, &Options::default());
    let (loads, decoded) = (counting.loads(), counting.events_decoded());
    let (sum, most) = (loads.iter().sum::<u64>(), loads.iter().max().copied().unwrap_or(0));
    println!("{:.1} M events/s, peak {} bytes", events as f64 / 1e6 / all, answer.peak.bytes);
    println!(
        "{} chunks of {events} events: {sum} loads ({:.2} each, at most {most}), {:.2} of each event decoded",
        loads.len(),
        sum as f64 / loads.len().max(1) as f64,
        decoded as f64 / events.max(1) as f64
    );
}

fn main() {
    if let Some(path) = std::env::args().nth(1).filter(|path| Path::new(path).is_file()) {
        return measure(Path::new(&path));
    }
    let argument = |n, default| std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (threads, events) = (argument(1, 1), argument(2, 20) * 1_000_000);
    let busy = Busy::new(threads as u32, events, argument(3, 0));
    let bytes: usize = busy.payloads.iter().map(Vec::len).sum::<usize>() * threads as usize;
    let events: u64 = busy.facts.iter().map(|chunk| chunk.events).sum();
    let begin = Instant::now();
    let decoded: u64 = (0..busy.facts.len())
        .map(|chunk| busy.events(chunk, &mut ()).map_or(0, |events| events.flatten().map(|(dt, _)| dt).sum()))
        .sum();
    let decoding = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let answer = analyze(&busy, &Options::default());
    let all = begin.elapsed().as_secs_f64();
    println!(
        "{threads} threads, {:.1} M events, {:.1} bytes each",
        events as f64 / 1e6,
        bytes as f64 / events as f64
    );
    println!("decode alone, one core: {:.1} M events/s ({decoded} ticks)", events as f64 / 1e6 / decoding);
    println!("whole analysis: {:.1} M events/s, peak {} bytes", events as f64 / 1e6 / all, answer.peak.bytes);
}
