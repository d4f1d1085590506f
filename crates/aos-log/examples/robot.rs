//! A small robot that logs for as long as it is told, in constant memory: a sensor that says something 10,000
//! times a second, a planner that thinks about it 50 times a second (and allocates while it thinks), and a
//! logger that writes down everything and allocates nothing once it has begun.
//!
//!     cargo run --release -p heapscribe-aos-log --example robot -- /tmp/robot --seconds 10 --encoder xz
//!
//! Recorded, it shows who allocates:
//!
//!     heapscribe record -o robot.hst -- target/release/examples/robot /tmp/robot && heapscribe report robot.hst

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heapscribe_aos_log::encode::{Encoder, FLUSH_BYTES, Framing, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::logger::{DataRoute, Fetched, Logger, Route};
use heapscribe_aos_log::pack::MessageRecord;
use heapscribe_aos_log::write::{Clock, Files, Settings, SystemClock, Writer};
use uuid::Uuid;

const SENSOR: usize = 0;
const PLANNER: usize = 1;
/// The sensor's messages come in bursts, because a thread cannot sleep for 100 µs.
const BURST: u32 = 10;
const BURST_PERIOD: Duration = Duration::from_millis(1);
const PLAN_PERIOD: Duration = Duration::from_millis(20);
const DATA_MAX: usize = 1024;
/// What the logger may be behind: 0.4 s of the sensor.
const SLOTS: usize = 4096;

type Failure = Box<dyn std::error::Error>;

/// A message between threads.
#[derive(Clone, Copy)]
struct Slot {
    channel: usize,
    queue_index: u32,
    monotonic_ns: i64,
    realtime_ns: i64,
    length: usize,
    data: [u8; DATA_MAX],
}

const EMPTY: Slot =
    Slot { channel: 0, queue_index: 0, monotonic_ns: 0, realtime_ns: 0, length: 0, data: [0; DATA_MAX] };

/// Messages that the logger has not seen yet, in memory that was there from the start.
struct Queue {
    slots: Vec<Slot>,
    first: usize,
    count: usize,
}

/// What the threads share.
struct Robot {
    queue: Mutex<Queue>,
    lost: AtomicU64,
    is_over: AtomicBool,
}

impl Robot {
    fn new() -> Self {
        let queue = Mutex::new(Queue { slots: vec![EMPTY; SLOTS], first: 0, count: 0 });
        Self { queue, lost: AtomicU64::new(0), is_over: AtomicBool::new(false) }
    }

    fn send(&self, channel: usize, queue_index: u32, data: &[u8]) {
        let clock = SystemClock;
        let (monotonic_ns, realtime_ns) = (clock.monotonic_ns(), clock.realtime_ns());
        let Ok(mut queue) = self.queue.lock() else { return };
        if queue.count == SLOTS {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let at = (queue.first + queue.count) % SLOTS;
        queue.count += 1;
        let slot = &mut queue.slots[at];
        (slot.channel, slot.queue_index, slot.length) = (channel, queue_index, data.len());
        (slot.monotonic_ns, slot.realtime_ns) = (monotonic_ns, realtime_ns);
        slot.data[..data.len()].copy_from_slice(data);
    }

    fn receive(&self, into: &mut Slot) -> bool {
        let Ok(mut queue) = self.queue.lock() else { return false };
        if queue.count == 0 {
            return false;
        }
        *into = queue.slots[queue.first];
        queue.first = (queue.first + 1) % SLOTS;
        queue.count -= 1;
        true
    }
}

/// Acceleration and rotation, 64 bytes each time.
fn sense(robot: &Robot) {
    let mut next = Instant::now();
    let mut n = 0u32;
    while !robot.is_over.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            let mut data = [0; 64];
            for (i, value) in data.chunks_exact_mut(8).enumerate() {
                let sample = (f64::from(n) / 500.0 + i as f64).sin();
                value.copy_from_slice(&sample.to_le_bytes());
            }
            robot.send(SENSOR, n, &data);
            n += 1;
        }
        next += BURST_PERIOD;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// A path of up to 64 points. It grows a tree of them as planners do: each point is a block of its own.
fn plan(robot: &Robot) {
    let mut n = 0u32;
    while !robot.is_over.load(Ordering::Relaxed) {
        let points: Vec<Box<[f64; 2]>> =
            (0..64).map(|i| Box::new([f64::from(n + i).cos(), f64::from(i)])).collect();
        let bytes: Vec<u8> =
            points.iter().flat_map(|p| p[0].to_le_bytes().into_iter().chain(p[1].to_le_bytes())).collect();
        robot.send(PLANNER, n, &bytes);
        n += 1;
        thread::sleep(PLAN_PERIOD);
    }
}

/// From here on nothing is allocated, however long it takes. The section says so to who records the robot.
fn log(robot: &Robot, logger: &mut Logger<SystemClock>, boot: Uuid) -> Result<(), Failure> {
    let _section = heapscribe_api::section(c"logging");
    let mut slot = EMPTY;
    loop {
        let is_over = robot.is_over.load(Ordering::Relaxed);
        while robot.receive(&mut slot) {
            let data = &slot.data[..slot.length];
            let message = Fetched::local(slot.monotonic_ns, slot.realtime_ns, slot.queue_index, boot, data);
            logger.log(slot.channel, &message, None, None)?;
        }
        if is_over {
            break;
        }
        logger.flush_if_due()?;
        thread::sleep(BURST_PERIOD);
    }
    Ok(logger.close()?)
}

fn make_logger(options: &Options, boot: Uuid) -> Result<Logger<SystemClock>, Failure> {
    let record_bytes_max =
        MessageRecord::size_of(options.layout, Kind::Message, DATA_MAX).ok_or("no such record")?;
    let encoder: Box<dyn Encoder> = match options.encoder.as_str() {
        "plain" => Box::new(Plain::new(FLUSH_BYTES)),
        "snappy" => Box::new(Snappy::new(Framing::Aos { chunk_bytes: FLUSH_BYTES }, record_bytes_max)?),
        "snappy-standard" => Box::new(Snappy::new(Framing::Standard, record_bytes_max)?),
        "xz" => Box::new(Xz::new(0)?),
        "zstd" => Box::new(Zstd::new(3)?),
        other => return Err(format!("no such encoder: {other}").into()),
    };
    let mut settings =
        Settings { layout: options.layout, record_bytes_max, channels: 2, ..Settings::default() };
    settings.texts.name = Some("robot".to_owned());
    settings.texts.logger_node_boot_uuid = Some(boot);
    let sink = Files::new(&options.base).ok_or("the path is not UTF-8")?;
    let mut writer = Writer::new(settings, encoder, Box::new(sink), SystemClock)?;
    let (monotonic_ns, realtime_ns) = (SystemClock.monotonic_ns(), SystemClock.realtime_ns());
    writer.set_start(heapscribe_aos_log::write::StartTimes { monotonic_ns, realtime_ns });
    let data = Some(DataRoute { writer: 0, kind: Kind::Message });
    let routes = (0..2).map(|channel_index| Route { channel_index, data, ..Route::default() }).collect();
    Ok(Logger::new(options.layout, routes, vec![writer], boot, SystemClock)?)
}

/// What the command line says.
struct Options {
    base: PathBuf,
    seconds: f64,
    encoder: String,
    layout: Layout,
}

fn options() -> Result<Options, Failure> {
    let mut arguments = std::env::args().skip(1);
    let usage =
        "robot BASE [--seconds S] [--encoder plain|snappy|snappy-standard|xz|zstd] [--layout 2022|2024]";
    let base = arguments.next().ok_or(usage)?.into();
    let mut options = Options { base, seconds: 10.0, encoder: "plain".to_owned(), layout: Layout::default() };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(usage)?;
        match (name.as_str(), value.as_str()) {
            ("--seconds", _) => options.seconds = value.parse()?,
            ("--encoder", _) => options.encoder = value,
            ("--layout", "2022") => options.layout = Layout::V2022,
            ("--layout", "2024") => options.layout = Layout::V2024,
            _ => return Err(usage.into()),
        }
    }
    Ok(options)
}

/// Resident size of this process, in KiB.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().trim_end_matches(" kB").parse().ok()
}

fn main() -> Result<(), Failure> {
    let options = options()?;
    let boot = Uuid::new_v4();
    let mut logger = make_logger(&options, boot)?;
    let robot = Robot::new();
    let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
    let (logged, sizes) = thread::scope(|scope| -> Result<_, Failure> {
        let logging = spawn("logger")
            .spawn_scoped(scope, || log(&robot, &mut logger, boot).map_err(|e| e.to_string()))?;
        spawn("sensor").spawn_scoped(scope, || sense(&robot))?;
        spawn("planner").spawn_scoped(scope, || plan(&robot))?;
        thread::sleep(Duration::from_secs_f64(options.seconds / 4.0));
        let early = resident_kib();
        thread::sleep(Duration::from_secs_f64(options.seconds * 3.0 / 4.0));
        let late = resident_kib();
        robot.is_over.store(true, Ordering::Relaxed);
        Ok((logging.join(), (early, late)))
    })?;
    logged.map_err(|_| "the logger panicked")??;
    let writer = &logger.writers()[0];
    let all = writer.statistics();
    println!(
        "{} messages, {} lost, {} bytes of records",
        all.messages,
        robot.lost.into_inner(),
        all.record_bytes
    );
    println!("{} bytes in {} parts, {} writes", all.write.bytes, all.parts, all.write.count);
    let mean = |d: heapscribe_aos_log::write::Durations| d.total_ns / d.count.max(1);
    println!(
        "copy: mean {} ns, longest {} ns; encode: mean {} ns, longest {} ns",
        mean(all.copy),
        all.copy.max_ns,
        mean(all.encode),
        all.encode.max_ns
    );
    if let (Some(early), Some(late)) = sizes {
        println!("resident: {early} KiB after a quarter of the time, {late} KiB at the end");
    }
    Ok(())
}
