//! Reads all of a trace through the public functions, and checks what they promise of any bytes.

use std::hint::black_box;

use heapscribe_formats::{Scratch, Trace};
use heapscribe_wire::limits::STACKS_MAX;

/// Reads everything; errors are fine.
pub fn read_everything(bytes: &[u8]) {
    let Ok(trace) = Trace::open(bytes) else { return };
    let mut scratch = Scratch::default();
    black_box((trace.session(), trace.session_end(), trace.duration_ns()));
    for problem in trace.problems() {
        assert!(problem.offset <= bytes.len() as u64);
    }
    for process in trace.processes() {
        let mut last = 0;
        let problems = trace.definitions(process.index, &mut scratch, |id, definition| {
            assert!(id.0 >= last && id.0 <= STACKS_MAX);
            last = id.0;
            black_box(definition);
        });
        black_box(problems.expect("memory can be read"));
        let problems = trace.memory(process.index, &mut scratch, |sample| {
            black_box(sample);
        });
        black_box(problems.expect("memory can be read"));
        let problems = trace.heap(process.index, &mut scratch, |info, sample| {
            black_box((info, sample.counts.fragmentation_per_mille()));
        });
        black_box(problems.expect("memory can be read"));
    }
    let problems = trace.symbols(&mut scratch, |module| {
        black_box(module.addresses.iter().map(|address| address.frames.len()).sum::<usize>());
    });
    black_box(problems.expect("memory can be read"));
    for entry in trace.chunks() {
        assert!(entry.begin_ns <= entry.end_ns);
        let clock = trace.clock(entry.process);
        let Ok(chunk) = trace.load_chunk(entry, &mut scratch) else { continue };
        let _ = chunk.for_each(|ticks, event| {
            black_box((clock.time_ns(&entry.info, ticks), clock.age_ns(ticks), event));
        });
    }
}
