//! How fast an index of a trace is made, and how fast it answers: a real trace is repeated until it has as many events
//! as are asked for, an index of it is made, and random questions are asked of it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use heapscribe_analyze::Recording;
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::header::HEADER_BYTES;
use heapscribe_formats::native::splice::Pieces;
use heapscribe_formats::{ChunkInfo, ProcessIndex, Scratch, SessionEnd, SessionInfo, Source, Trace, Writer};
use heapscribe_index::{BuildOptions, Death, Events, Index, Question, Span, TraceId, build};
use heapscribe_wire::limits::EVENT_BYTES_MAX;

use crate::cli::RangesArgs;

/// A file that is read at offsets.
struct OnDisk {
    file: File,
    bytes: u64,
}

impl OnDisk {
    fn open(path: &Path) -> Result<OnDisk> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(OnDisk { bytes: file.metadata()?.len(), file })
    }
}

impl Source for OnDisk {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> std::io::Result<usize> {
        self.file.read_at(at, offset)
    }
}

/// Runs it, and prints what it found.
pub(crate) fn run(args: &RangesArgs) -> Result<()> {
    if !args.trace.exists() {
        let (took, events) = (Instant::now(), repeat(&args.from, args.events, &args.trace)?);
        println!("made {} of {events} events ({:.1} s)", args.trace.display(), took.elapsed().as_secs_f64());
    }
    let trace = Trace::open(OnDisk::open(&args.trace)?)?;
    let recording = Recording::new(&trace);
    // It is the index that `heapscribe view` opens then.
    let (path, id) = (beside(&args.trace), TraceId::of(&OnDisk::open(&args.trace)?)?);
    let (began, cpu) = (Instant::now(), cpu());
    let options = BuildOptions::within(args.memory_mib << 20);
    let out = BufWriter::new(File::create(&path)?);
    let built = build(&recording, &id, &options, out, &mut |_, _| {})?;
    let (wall, cpu) = (began.elapsed().as_secs_f64(), self::cpu() - cpu);
    let million = built.events as f64 / 1e6;
    println!(
        "index: {million:.1} M events, {:.1} M/s of wall time, {:.1} M/s/core",
        million / wall,
        million / cpu
    );
    println!(
        "       {wall:.1} s, {cpu:.1} s of CPU, {} bytes of a trace of {}",
        built.bytes,
        trace_bytes(args)?
    );
    println!("       at most {} MiB resident", peak_mib());

    let index = Index::open(OnDisk::open(&path)?, &id)?;
    let events = Events::new(&recording);
    println!(
        "       {} leaves, {} keys, coarse: {}",
        index.axis().leaves(),
        index.keys().len(),
        index.is_coarse()
    );
    let (mut times, mut cpu_ms) = (Vec::<(Duration, Question)>::new(), Vec::new());
    let mut by_kind: [Vec<f64>; KINDS.len()] = Default::default();
    for (n, question) in questions(index.axis().begins_ns(), args.questions).into_iter().enumerate() {
        let (began, cpu) = (Instant::now(), self::cpu());
        index.ask(&question, &events)?;
        times.push((began.elapsed(), question));
        let ms = (self::cpu() - cpu) * 1e3;
        cpu_ms.push(ms);
        by_kind[n % KINDS.len()].push(ms);
    }
    times.sort_by_key(|(time, _)| *time);
    cpu_ms.sort_by(f64::total_cmp);
    let wall_ms: Vec<f64> = times.iter().map(|(time, _)| time.as_secs_f64() * 1e3).collect();
    println!("ask:   {} questions, {}", times.len(), spread(&wall_ms));
    println!("       CPU: {}", spread(&cpu_ms));
    for (name, mut ms) in KINDS.into_iter().zip(by_kind) {
        ms.sort_by(f64::total_cmp);
        println!("       CPU of {} {name}: {}", ms.len(), spread(&ms));
    }
    println!("       worst: {:?}", times.last());
    println!("       at most {} MiB resident", peak_mib());
    Ok(())
}

/// Where the index of a trace is.
fn beside(trace: &Path) -> PathBuf {
    let mut path = OsString::from(trace);
    path.push(".idx");
    path.into()
}

/// Median, 95 % and worst of sorted times.
fn spread(ms: &[f64]) -> String {
    let at = |part: usize| ms.get((ms.len() * part / 100).min(ms.len().saturating_sub(1))).unwrap_or(&0.0);
    format!("median {:.1} ms, 95 % {:.1} ms, worst {:.1} ms", at(50), at(95), at(100))
}

fn trace_bytes(args: &RangesArgs) -> Result<u64> {
    Ok(std::fs::metadata(&args.trace)?.len())
}

/// What [`questions`] asks, by turns.
const KINDS: [&str; 5] =
    ["live at", "allocated in", "freed in", "born in and alive after", "born in and freed in"];

/// Questions of five kinds, with edges anywhere.
fn questions(begins_ns: &[u64], count: usize) -> Vec<Question> {
    let (low, high) = (begins_ns.get(1).copied().unwrap_or(0), begins_ns.last().copied().unwrap_or(0));
    let mut random = 88_172_645_463_325_252u64;
    let mut moment = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        low + random % (high - low + 1)
    };
    let question = |n: usize| {
        let mut span = || {
            let (a, b) = (moment(), moment());
            Span { from_ns: a.min(b), to_ns: a.max(b) }
        };
        let born = span();
        match n % KINDS.len() {
            0 => Question::live_at(born.from_ns),
            1 => Question::allocated(born),
            2 => Question::freed(born),
            3 => Question { born, death: Death::After(born.to_ns) },
            _ => Question { born, death: Death::In(span()) },
        }
    };
    (0..count).map(question).collect()
}

/// Writes the events of a trace again and again, each time later: how many.
fn repeat(from: &Path, events_min: u64, to: &Path) -> Result<u64> {
    let base = Trace::open(OnDisk::open(from)?)?;
    let (mut writer, mut bytes) = (Writer::new(), Vec::new());
    let mut out = BufWriter::new(File::create(to)?);
    writer.set_level(1);
    writer.start(base.session().unwrap_or(&SessionInfo::default()), &mut bytes);
    let mut pieces = Pieces::new(OnDisk::open(from)?, HEADER_BYTES as u64);
    // What follows the last block, the footer, is none.
    while let Ok(Some(piece)) = pieces.next_piece() {
        if matches!(piece.kind, Kind::Process | Kind::Definitions) {
            writer.splice(ProcessIndex(piece.process), &piece, &mut bytes);
        }
    }
    let chunks = payloads(&base)?;
    let begin = chunks.iter().map(|(_, info, ..)| info.begin_ticks).min().unwrap_or(0);
    let last = chunks.iter().map(|(.., last)| *last).max().unwrap_or(0);
    let (mut events, mut shift) = (0, 0);
    while events < events_min {
        for (process, info, payload, _) in &chunks {
            let later = |at: u64, by: u64| if at == 0 { 0 } else { at + by };
            let shift_ns = base.clock(*process).age_ns(shift);
            let info = ChunkInfo {
                begin_ticks: info.begin_ticks + shift,
                begin_mono_ns: later(info.begin_mono_ns, shift_ns),
                end_ticks: later(info.end_ticks, shift),
                end_mono_ns: later(info.end_mono_ns, shift_ns),
                last_alloc_ticks: later(info.last_alloc_ticks, shift),
                ..*info
            };
            events += u64::from(writer.events(*process, &info, payload, &mut bytes).events);
        }
        out.write_all(&bytes)?;
        bytes.clear();
        shift += last - begin + 1;
    }
    writer.session_end(&SessionEnd::default(), &mut bytes);
    writer.finish(&mut bytes);
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(events)
}

/// A chunk as it was recorded: process, facts, bytes, last ticks.
type Payload = (ProcessIndex, ChunkInfo, Vec<u8>, u64);

fn payloads(base: &Trace<OnDisk>) -> Result<Vec<Payload>> {
    let mut scratch = Scratch::default();
    let mut chunks = Vec::new();
    for entry in base.chunks() {
        let chunk = base.load_chunk(entry, &mut scratch)?;
        let (info, mut payload, mut last) = (chunk.info, Vec::new(), chunk.info.begin_ticks);
        chunk.for_each(|ticks, event| {
            let mut at = [0; EVENT_BYTES_MAX];
            let n = event.encode(ticks.wrapping_sub(last), &mut at);
            payload.extend_from_slice(&at[..n]);
            last = ticks;
        })?;
        chunks.push((entry.process, info, payload, last));
    }
    Ok(chunks)
}

/// CPU time of the threads of this process, seconds, which all live as long as it does.
fn cpu() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_thread = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0)
    };
    threads.map(of_thread).sum::<u64>() as f64 / 1e9
}

/// Largest resident size so far.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) / 1024
}
