//! How fast the drainer makes blocks of a trace from chunks: the events of a trace, in the bytes that the recorder writes.
//!
//! `cargo bench -p heapscribe-formats --bench encode_speed -- FILE.hst ...`

use std::path::Path;
use std::time::Instant;

use heapscribe_formats::{ChunkInfo, ProcessInfo, Scratch, SessionInfo, Trace, Writer};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Event, put_alloc, put_alloc_of_many, put_free, put_free_of_many};

/// That of the drainer.
const LEVEL: i32 = 1;
const TURNS: usize = 7;

/// Chunks as the recorder has them, and how many events they hold.
struct Recorded {
    chunks: Vec<(ChunkInfo, Vec<u8>)>,
    events: u64,
}

impl Recorded {
    fn read(path: &Path) -> Recorded {
        let bytes = std::fs::read(path).expect("a file");
        let trace = Trace::open(&bytes[..]).expect("a trace");
        let (mut scratch, mut recorded) = (Scratch::default(), Recorded { chunks: Vec::new(), events: 0 });
        for entry in trace.chunks() {
            let (mut now, mut payload) = (entry.info.begin_ticks, Vec::new());
            let chunk = trace.load_chunk(entry, &mut scratch).expect("a chunk");
            let add = |ticks: u64, event: &Event| {
                let mut at = [0; EVENT_BYTES_MAX];
                let len = put(&mut at, ticks.wrapping_sub(now), event);
                payload.extend_from_slice(&at[..len]);
                (now, recorded.events) = (ticks, recorded.events + 1);
            };
            chunk.for_each(add).expect("events");
            recorded.chunks.push((entry.info, payload));
        }
        recorded
    }

    /// Seconds, and bytes of the file.
    fn write(&self, level: i32) -> (f64, usize) {
        let (mut writer, mut out, mut bytes) = (Writer::new(), Vec::new(), 0);
        writer.set_level(level);
        writer.start(&SessionInfo::default(), &mut out);
        let process = writer.process(&ProcessInfo::default(), &mut out);
        let start = Instant::now();
        for (info, payload) in &self.chunks {
            writer.events(process, info, payload, &mut out);
            bytes += out.len();
            out.clear();
        }
        (start.elapsed().as_secs_f64(), bytes)
    }
}

/// Writes an event as the recorder does.
fn put(at: &mut [u8; EVENT_BYTES_MAX], dt: u64, event: &Event) -> usize {
    let short = match *event {
        Event::Alloc { call, size_bytes, stack, .. } => put_alloc(at, call, dt, size_bytes, stack)
            .or_else(|| put_alloc_of_many(at, call, dt, size_bytes, stack)),
        Event::Free { call, block } if block.birth_thread.is_none() => {
            let (age, size, stack) = (block.age_ticks, block.size_bytes, block.stack);
            put_free(at, call, dt, age, size, stack)
                .or_else(|| put_free_of_many(at, call, dt, age, size, stack))
        }
        _ => None,
    };
    short.unwrap_or_else(|| event.encode(dt, at))
}

fn main() {
    for path in std::env::args_os().skip(1).filter(|path| path != "--bench") {
        let recorded = Recorded::read(Path::new(&path));
        let payload: usize = recorded.chunks.iter().map(|(_, payload)| payload.len()).sum();
        print!("{}: {} events", path.display(), recorded.events);
        for (what, level) in [("columns", 0), ("with zstd", LEVEL)] {
            let mut turns: Vec<_> = (0..TURNS).map(|_| recorded.write(level)).collect();
            turns.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (seconds, bytes) = turns[TURNS / 2];
            let ns = seconds * 1e9 / recorded.events as f64;
            print!(", {what} {ns:.1} ns and {:.2} bytes each", bytes as f64 / recorded.events as f64);
        }
        println!(" ({:.2} bytes in the log)", payload as f64 / recorded.events as f64);
    }
}
