//! A ring and the trace that is made of it never take more room than the ring may, whatever it was given. Whenever the
//! drainer is killed, or the trace cannot be written any further, each event is in one place.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use heapscribe_convert::native::thread_chunk::ThreadChunk;
use heapscribe_convert::ring::{Held, Limits, RING_BYTES_MIN, directory_of, gather, gather_with};
use heapscribe_formats::Trace;
use heapscribe_formats::model::{
    ChunkInfo, EndedImages, MemorySample, ProcessEnd, ProcessIndex, ProcessInfo, SessionInfo,
};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Call, Event};
use proptest::prelude::*;

use crate::sink::Sink;

/// What a trace adds to a chunk, about.
const BLOCK_BYTES: u64 = 100;

/// A trace in the making beside the ring; what both take at most.
struct Measured {
    ring: PathBuf,
    trace: Vec<u8>,
    most_bytes: u64,
}

impl Write for Measured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.trace.extend_from_slice(bytes);
        self.most_bytes = self.most_bytes.max(bytes_in(&self.ring) + self.trace.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn bytes_in(dir: &Path) -> u64 {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

/// Chunks of so many events each, one after the other, four times what the ring may take, so many in
/// a pass of the drainer.
fn check(events_per_chunk: u64, chunks_per_pass: usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.hst");
    let limits = Limits { bytes: RING_BYTES_MIN, age_ns: u64::MAX };
    let mut sink = Sink::create(&path, 0, &SessionInfo::default(), Some(limits)).unwrap();
    let process = sink.write(|writer, out| writer.process(&ProcessInfo::default(), out));
    let (mut thread, mut ticks, mut given, mut most_bytes) = (ThreadChunk::new(1, 0), 0u64, 0, 0);
    let ring = directory_of(&path);
    // All of its events are evicted, its last memory sample is not.
    let ended = sink.write(|writer, out| writer.process(&ProcessInfo::default(), out));
    thread.put(ticks, &Event::UnknownFree { call: Call::Free });
    let (info, payload) = thread.seal();
    sink.events(ended, &info, &payload);
    let mut has_ended = false;
    for number in 1.. {
        for event in 0..events_per_chunk {
            ticks += 1;
            let size_bytes = ticks.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (event % 64);
            let event = Event::Alloc { call: Call::Malloc, size_bytes, stack: StackId(1), align_log2: 0 };
            thread.put(ticks, &event);
        }
        let (info, payload) = thread.seal();
        sink.events(process, &info, &payload);
        given += payload.len() as u64 + BLOCK_BYTES;
        if number % chunks_per_pass == 0 {
            sink.flush();
            most_bytes = bytes_in(&ring).max(most_bytes);
        }
        if given > limits.bytes / 4 * 15 && !std::mem::replace(&mut has_ended, true) {
            sink.write(|writer, out| writer.memory(ended, &[MemorySample::default()], out));
            sink.process_end(ended, &ProcessEnd::default(), false, &EndedImages::default());
        }
        if given > 4 * limits.bytes {
            break;
        }
    }
    sink.flush();
    let mut beside = Measured { ring: ring.clone(), trace: Vec::new(), most_bytes };
    let gathered = gather(&ring, &mut beside, true, None).unwrap();
    assert_eq!(gathered.problems, Vec::<String>::new());
    let most_bytes = beside.most_bytes;
    assert!(most_bytes <= limits.bytes, "{events_per_chunk} events a chunk: {most_bytes} bytes");
    // Not so careful that little is kept.
    assert!(most_bytes > limits.bytes / 2, "{events_per_chunk} events a chunk: {most_bytes} bytes");
    let trace = Trace::open(beside.trace.as_slice()).unwrap();
    assert!(trace.is_complete());
    assert_eq!(trace.processes().len(), 1, "the one that has ended is evicted");
}

#[test]
fn chunks_of_every_size() {
    check(4, 1000);
    check(300, 50);
    check(3_000, 1);
    check(5_000, 7);
    check(6_000, 2);
}

/// A process did something at first and ended last; another filled the ring meanwhile. What is left of that one began
/// after what was evicted, however late the first one ended. (It began with that end, 1 ns before that of the recording.)
#[test]
fn a_ring_does_not_begin_with_the_end_of_who_did_nothing_in_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run.hst");
    let limits = Limits { bytes: RING_BYTES_MIN, age_ns: u64::MAX };
    let mut sink = Sink::create(&path, 0, &SessionInfo::default(), Some(limits)).unwrap();
    let [idle, busy] =
        [1, 2].map(|pid| sink.write(|w, out| w.process(&ProcessInfo { pid, ..ProcessInfo::default() }, out)));
    let chunk = |sink: &mut Sink, process, mono_ns: u64| {
        let mut thread = ThreadChunk::new(1, 0);
        for ticks in 0..3000 {
            let (size_bytes, stack) =
                (mono_ns.wrapping_mul(ticks).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16, StackId(1));
            thread.put(ticks, &Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 });
        }
        let (info, payload) = thread.seal();
        let info = ChunkInfo { begin_mono_ns: mono_ns, end_mono_ns: mono_ns + 1, ..info };
        sink.events(process, &info, &payload);
        sink.flush();
    };
    chunk(&mut sink, idle, 10);
    (1..=60).for_each(|n| chunk(&mut sink, busy, 1000 * n));
    let ended = ProcessEnd { ended_mono_ns: 200_000, ..ProcessEnd::default() };
    sink.process_end(idle, &ended, false, &EndedImages::default());
    (61..=120).for_each(|n| chunk(&mut sink, busy, 1000 * n));
    let mut out = Vec::new();
    gather(&directory_of(&path), &mut out, false, None).unwrap();
    let trace = Trace::open(out.as_slice()).unwrap();
    let evicted = trace.processes().iter().map(|process| process.evicted.until_mono_ns);
    let until = evicted.fold(trace.evicted().until_mono_ns, u64::max);
    let first = trace.chunks().iter().map(|chunk| chunk.info.begin_mono_ns).min().unwrap();
    assert!(10_000 < until && until < first, "{until} {first}");
    assert_eq!(trace.processes().len(), 2);
}

/// A drainer with a ring, the log of two processes, and how many events they made.
struct Model {
    place: tempfile::TempDir,
    sink: Sink,
    processes: Vec<(ProcessInfo, ProcessIndex)>,
    threads: Vec<(ThreadChunk, u64)>,
    /// Chunks that are not freed: of which process, and their events.
    log: Vec<(usize, ChunkInfo, u32)>,
    events: u64,
}

const THREADS: usize = 3;

impl Model {
    fn new() -> Model {
        let place = tempfile::tempdir().unwrap();
        let limits = Limits { bytes: RING_BYTES_MIN, age_ns: u64::MAX };
        let path = place.path().join("run.hst");
        let mut sink = Sink::create(&path, 0, &SessionInfo::default(), Some(limits)).unwrap();
        let info = |pid| ProcessInfo { pid, created_mono_ns: 7, ..ProcessInfo::default() };
        let mut process = |pid| (info(pid), sink.write(|writer, out| writer.process(&info(pid), out)));
        let processes = vec![process(100), process(101)];
        let threads = (0..2 * THREADS).map(|n| (ThreadChunk::new((n % THREADS) as u32 + 1, 0), 0)).collect();
        Model { place, sink, processes, threads, log: Vec::new(), events: 0 }
    }

    fn ring(&self) -> PathBuf {
        directory_of(&self.place.path().join("run.hst"))
    }

    /// The drainer takes so many chunks of each thread of a process; killed, it frees none of them.
    fn pass(&mut self, of: usize, chunks: usize, events: u32, is_killed: bool) {
        for thread in of * THREADS..(of + 1) * THREADS {
            for _ in 0..chunks {
                let (chunk, ticks) = &mut self.threads[thread];
                for _ in 0..events {
                    *ticks += 1;
                    let size_bytes = ticks.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
                    let stack = StackId(1);
                    chunk.put(*ticks, &Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 });
                }
                let (info, payload) = chunk.seal();
                self.log.push((of, info, events));
                self.events += u64::from(events);
                self.sink.events(self.processes[of].1, &info, &payload);
            }
        }
        if !is_killed {
            self.sink.flush();
            self.log.retain(|(process, ..)| *process != of);
            self.sink.freed(self.processes[of].1);
        }
    }
}

/// Events that a trace has, and those that it counts as evicted.
fn events_of(trace: &[u8]) -> (u64, u64) {
    let trace = Trace::open(trace).unwrap();
    let events = trace.chunks().iter().map(|chunk| u64::from(chunk.sums.events)).sum();
    let evicted = trace.processes().iter().map(|process| process.evicted.events).sum::<u64>();
    (events, evicted + trace.evicted().events)
}

/// A sink that has room for so many bytes.
struct Room(Vec<u8>, usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.1 - self.0.len());
        self.0.extend_from_slice(&bytes[..n]);
        if n == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(n) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn each_event_is_in_one_place_after_a_kill(
        passes in prop::collection::vec((0..2usize, 1..12usize, 1..6000u32), 1..5),
        flushes in any::<bool>(),
        room in 0.0..1.0f64,
    ) {
        let mut model = Model::new();
        let last = passes.len() - 1;
        for (n, (of, chunks, events)) in passes.into_iter().enumerate() {
            model.pass(of, chunks, events, n == last);
        }
        if flushes {
            model.sink.flush();
        }
        let ring = model.ring();
        let held = Held::of_ring(&ring).unwrap();
        prop_assert_eq!(&Held::from_bytes(&held.to_bytes()), &held);
        let is_left = |(of, info, events): &&(usize, ChunkInfo, u32)| {
            let process = &model.processes[*of].0;
            !held.has((process.pid, process.created_mono_ns), info, || *events)
        };
        let rest: u64 = model.log.iter().filter(is_left).map(|(.., events)| u64::from(*events)).sum();
        let mut whole = Vec::new();
        gather(&ring, &mut whole, false, None).unwrap();
        let (taken, evicted) = events_of(&whole);
        prop_assert_eq!(taken + evicted + rest, model.events);

        // A disk that fills up while the trace is made: what is in it is not in the rest, and counted there.
        let mut full = Room(Vec::new(), (whole.len() as f64 * room) as usize);
        let mut whole_bytes = 0;
        prop_assert!(gather_with(&ring, &mut full, true, None, &mut whole_bytes).is_err());
        full.0.truncate(whole_bytes as usize);
        let first = if full.0.is_empty() { 0 } else { events_of(&full.0).0 };
        let mut other = Vec::new();
        gather(&ring, &mut other, true, None).unwrap();
        prop_assert_eq!(events_of(&other), (taken - first, evicted + first));
    }
}
