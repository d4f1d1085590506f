//! A ring and the trace that is made of it never take more room than the ring may, whatever it was given.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use heapscribe_convert::native::thread_chunk::ThreadChunk;
use heapscribe_convert::ring::{Limits, RING_BYTES_MIN, directory_of, gather};
use heapscribe_formats::Trace;
use heapscribe_formats::model::{EndedImages, MemorySample, ProcessEnd, ProcessInfo, SessionInfo};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Call, Event};

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
