//! How small and how fast the levels of zstd make a plausible stream of events, and how fast it is read.
//!
//! `cargo bench -p heapscribe-formats --bench levels`

use std::hint::black_box;
use std::time::Instant;

use heapscribe_formats::{ChunkInfo, ProcessInfo, Scratch, SessionInfo, Trace, Writer};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, EVENT_BYTES_MAX};
use heapscribe_wire::record::{Block, Call, Event};

const CHUNKS: usize = 400;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Small numbers often, large ones seldom.
    fn skewed(&mut self, bits: u32) -> u64 {
        let width = self.next() % u64::from(bits) + 1;
        self.next() & ((1 << width) - 1)
    }
}

/// A program with some hundreds of allocation sites, each with sizes of its own, whose blocks die young
/// or late.
struct Program {
    rng: Rng,
    live: Vec<(u64, u64, u32)>,
    now: u64,
}

impl Program {
    fn event(&mut self) -> (u64, Event) {
        let dt = 3 + self.rng.skewed(7);
        self.now += dt;
        if self.live.len() > 200 && self.rng.next() % 1000 < 500 {
            let young = self.rng.next() & 3 != 0;
            let last = self.live.len() - 1;
            let back = if young { self.rng.skewed(3) } else { self.rng.next() % 200 };
            let (birth, size_bytes, stack) = self.live.swap_remove(last - back as usize);
            let age_ticks = self.now - birth;
            let block = Block { size_bytes, stack: StackId(stack), age_ticks, birth_thread: None };
            return (dt, Event::Free { call: Call::Free, block });
        }
        let site = self.rng.skewed(9) as u32;
        let size_bytes = match site % 4 {
            0 => 16 + self.rng.skewed(8),
            n => u64::from(n) * 24 + u64::from(site),
        };
        let stack = 100 + site * 37;
        self.live.push((self.now, size_bytes, stack));
        (dt, Event::Alloc { call: Call::Malloc, size_bytes, stack: StackId(stack), align_log2: 0 })
    }

    fn chunk(&mut self) -> (u64, u64, Vec<u8>) {
        let (begin, mut events, mut out) = (self.now, 0, Vec::with_capacity(CHUNK_PAYLOAD_BYTES));
        while out.len() + EVENT_BYTES_MAX <= CHUNK_PAYLOAD_BYTES {
            let mut at = [0; EVENT_BYTES_MAX];
            let (dt, event) = self.event();
            let n = event.encode(dt, &mut at);
            out.extend_from_slice(&at[..n]);
            events += 1;
        }
        (begin, events, out)
    }
}

fn main() {
    let mut program = Program { rng: Rng(88172645463325252), live: Vec::new(), now: 1 << 30 };
    let chunks: Vec<_> = (0..CHUNKS).map(|_| program.chunk()).collect();
    let events: u64 = chunks.iter().map(|c| c.1).sum();
    let raw: usize = chunks.iter().map(|c| c.2.len()).sum();
    println!("{events} events, {raw} bytes, {:.2} bytes an event", raw as f64 / events as f64);
    for level in [0, -5, -1, 1, 2, 3, 5, 9] {
        let (mut writer, mut file, mut out) = (Writer::new(), Vec::with_capacity(raw), Vec::new());
        writer.set_level(level);
        writer.start(&SessionInfo::default(), &mut out);
        let process = writer.process(&ProcessInfo::default(), &mut out);
        let start = Instant::now();
        for (sequence, (begin_ticks, _, payload)) in (0..).zip(&chunks) {
            let info = ChunkInfo { thread: 1, sequence, begin_ticks: *begin_ticks, ..ChunkInfo::default() };
            writer.events(process, &info, payload, &mut out);
            file.append(&mut out);
        }
        let writing = start.elapsed().as_secs_f64();
        writer.finish(&mut out);
        file.append(&mut out);
        let bytes = file.len() as f64 / events as f64;
        println!(
            "level {level:2}: {bytes:.3} bytes an event, written {:.0} MB/s, {:.1} M events/s",
            raw as f64 / writing / 1e6,
            events as f64 / writing / 1e6
        );
        read(&file, events);
    }
}

fn read(file: &[u8], events: u64) {
    let start = Instant::now();
    let trace = Trace::open(file).expect("a trace");
    let opening = start.elapsed().as_secs_f64();
    let (mut scratch, mut bytes) = (Scratch::default(), 0u64);
    for entry in trace.chunks() {
        let chunk = trace.load_chunk(entry, &mut scratch).expect("a chunk");
        let add = |_, event: &Event| {
            if let Event::Alloc { size_bytes, .. } = event {
                bytes += size_bytes;
            }
        };
        chunk.for_each(add).expect("events");
    }
    black_box(bytes);
    let rate = events as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("          opened in {:.2} ms, loaded and decoded {rate:.1} M events/s", opening * 1e3);
}
