//! Whether a recorded process still lives, by a pidfd: a pid that the kernel reuses cannot be confused with
//! it.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

/// A process that lived when it was asked for.
#[derive(Debug)]
pub struct Alive {
    /// None where the kernel gave none - there are too many already - and the process has to be asked for
    /// by its number.
    descriptor: Option<OwnedFd>,
    pid: u32,
}

impl Alive {
    /// The process that calls itself `pid` in the pid namespace of that inode number (0: ours), if it lives
    /// and was there at `created_mono_ns` of this boot's monotonic clock.
    pub fn find_in(namespace: u64, pid: u32, created_mono_ns: u64) -> Option<Alive> {
        if namespace == 0 || namespace_of("self") == Some(namespace) {
            return Alive::find(pid, created_mono_ns);
        }
        Alive::find(host_pid(namespace, pid)?, created_mono_ns)
    }

    /// The process `pid` of our own pid namespace, under the same conditions.
    pub fn find(pid: u32, created_mono_ns: u64) -> Option<Alive> {
        let raw = i32::try_from(pid).ok()?;
        let descriptor = match pidfd_open(Pid::from_raw(raw)?, PidfdFlags::empty()) {
            Ok(descriptor) => Some(descriptor),
            Err(Errno::SRCH) => return None,
            Err(_) => None,
        };
        let alive = Alive { descriptor, pid };
        (alive.is_alive() && started_before(pid, created_mono_ns)).then_some(alive)
    }

    /// Its number in our own pid namespace.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it still lives.
    pub fn is_alive(&self) -> bool {
        let Some(descriptor) = &self.descriptor else { return exists(self.pid) };
        let mut set = [PollFd::new(descriptor, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(poll(&mut set, Some(&now)), Ok(1..))
    }
}

fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// The inode number of a process's pid namespace, from a link such as `pid:[4026531836]`.
fn namespace_of(process: &str) -> Option<u64> {
    let link = std::fs::read_link(format!("/proc/{process}/ns/pid")).ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// The inode number of our own pid namespace; 0 when it is not known.
pub fn own_namespace() -> u64 {
    namespace_of("self").unwrap_or(0)
}

/// The pid here of the process that has `pid` in another namespace (a container's): found by asking all.
fn host_pid(namespace: u64, pid: u32) -> Option<u32> {
    let names =
        std::fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_it = |name: &str| {
        let status = std::fs::read_to_string(format!("/proc/{name}/status")).ok()?;
        let innermost =
            status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().last()?;
        Some(innermost.parse() == Ok(pid) && namespace_of(name) == Some(namespace))
    };
    names
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .find(|name| is_it(name) == Some(true))?
        .parse()
        .ok()
}

/// Whether process `pid` began before that moment: else its pid was reused. The kernel counts
/// starts in ticks of 10 ms since boot, suspended time included, so only a start clearly later counts.
pub fn started_before(pid: u32, created_mono_ns: u64) -> bool {
    const TICK_NS: u64 = 10_000_000;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let Some(start) = after_name.split_whitespace().nth(19).and_then(|s| s.parse::<u64>().ok()) else {
        return true;
    };
    start.saturating_mul(TICK_NS) <= created_mono_ns.saturating_add(suspended_ns() + 2 * TICK_NS)
}

fn suspended_ns() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let ns = |id| {
        let t = clock_gettime(id);
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    };
    ns(ClockId::Boottime).saturating_sub(ns(ClockId::Monotonic))
}

/// Waits until one of the processes ends, or `longest` is over, or a signal comes.
pub fn wait<'a>(processes: impl Iterator<Item = &'a Alive>, longest: Duration) {
    let mut set: Vec<_> =
        processes.filter_map(|p| Some(PollFd::new(p.descriptor.as_ref()?, PollFlags::IN))).collect();
    let time = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
    let _ = poll(&mut set, Some(&time));
}
