//! Whether a recorded process still lives, by a pidfd: a pid that the kernel reuses cannot be confused with
//! it.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

use crate::base_directory::session_path;
use crate::files::open_file;
use crate::head::read_head;
use crate::key::SessionKey;

/// A process that lived when it was asked for.
#[derive(Debug)]
pub struct Alive {
    /// None where the kernel gave none - there are too many already - and the process has to be asked for
    /// by its number.
    descriptor: Option<OwnedFd>,
    pid: u32,
}

impl Alive {
    /// The process of a session, if it lives. One that is just being made does not say yet in which namespace its pid
    /// counts: then it is any process that calls itself so. (In our own there was none, and a tenth to a fourth of the
    /// short programs in a container were not recorded: the sessions that they were making had been removed.)
    pub fn of_session(base: &Path, key: SessionKey) -> Option<Alive> {
        let head = open_file(&session_path(base, key).join("head"), false);
        match head.and_then(|head| read_head(&head, |head| head.pid_namespace)) {
            Some(namespace) => Alive::find_in(namespace, key.pid, key.created_mono_ns),
            None => Alive::find_anywhere(key.pid, key.created_mono_ns),
        }
    }

    /// A process that calls itself `pid` in whatever namespace, under the conditions of [`Self::find_in`].
    pub fn find_anywhere(pid: u32, created_mono_ns: u64) -> Option<Alive> {
        let others = || namesakes(pid).find_map(|pid_here| Alive::find(pid_here, created_mono_ns));
        Alive::find(pid, created_mono_ns).or_else(others)
    }

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

/// What a process that has this pid here calls itself, and the inode number of the namespace in which it does.
pub(crate) fn name_of(pid_here: u32) -> Option<(u32, u64)> {
    Some((own_pid(pid_here)?, namespace_of(&pid_here.to_string())?))
}

/// The pid here of the process that has `pid` in another namespace (a container's).
fn host_pid(namespace: u64, pid: u32) -> Option<u32> {
    // A link is read in a fifth of the time that a status is written in.
    let mut in_namespace = pids().filter(|pid_here| namespace_of(&pid_here.to_string()) == Some(namespace));
    in_namespace.find(|pid_here| own_pid(*pid_here) == Some(pid))
}

/// The pids here of processes that call themselves `pid` in their own namespaces: found by asking all.
fn namesakes(pid: u32) -> impl Iterator<Item = u32> {
    pids().filter(move |pid_here| own_pid(*pid_here) == Some(pid))
}

/// All processes, the highest first: most who are looked for are new.
fn pids() -> impl Iterator<Item = u32> {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by_key(|pid| std::cmp::Reverse(*pid));
    pids.into_iter()
}

/// What a process calls itself in its own namespace.
fn own_pid(pid_here: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid_here}/status")).ok()?;
    let all = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    all.split_whitespace().last()?.parse().ok()
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
    let Some(ahead_ns) = ahead_ns(pid) else { return true };
    let created_here_ns = created_mono_ns.saturating_add_signed(-ahead_ns);
    start.saturating_mul(TICK_NS) <= created_here_ns.saturating_add(suspended_ns() + 2 * TICK_NS)
}

/// How far the monotonic clock of a process is ahead of ours, ns: 0 but in another time namespace, such as that of a
/// restored container. `None` where that cannot be told. (Of one whose clock was 500 s behind all that it did after its
/// session was found was missing: it passed for a later process of that pid.)
fn ahead_ns(pid: u32) -> Option<i64> {
    let pid = pid.to_string();
    let namespace = |process: &str, kind: &str| std::fs::read_link(format!("/proc/{process}/ns/{kind}")).ok();
    let theirs = namespace(&pid, "time");
    if theirs.is_none() || theirs == namespace("self", "time") {
        return Some(0);
    }
    // What the kernel tells of a process are the offsets of its children.
    let is_told = theirs == namespace(&pid, "time_for_children");
    is_told.then(|| monotonic_offset_ns(&pid)?.checked_sub(monotonic_offset_ns("self")?))?
}

fn monotonic_offset_ns(process: &str) -> Option<i64> {
    let offsets = std::fs::read_to_string(format!("/proc/{process}/timens_offsets")).ok()?;
    let mut monotonic = offsets.lines().find_map(|line| line.strip_prefix("monotonic"))?.split_whitespace();
    let mut next = || monotonic.next()?.parse::<i64>().ok();
    next()?.checked_mul(1_000_000_000)?.checked_add(next()?)
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
