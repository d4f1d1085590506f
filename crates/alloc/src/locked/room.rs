//! How much memory there is to be had, before all pages of a pool are asked for at once: a kernel that can not
//! give them does not say so, it kills a program, this one or another. (`INITIAL_MEMPOOL_SIZE` with a digit too
//! many took 24 GB of a machine, and ended with SIGKILL.)
//!
//! | looked at | what it says |
//! |---|---|
//! | `/proc/meminfo` | what the machine can give without swapping, and swap that is free |
//! | `/sys/fs/cgroup/memory.max`, or `memory/memory.limit_in_bytes` there | all that a container may have |
//!
//! What can not be read is no limit. A control group whose limit is not at these paths (a service of systemd's)
//! is not seen. Files are read for the first pool of a process only: later it may be where it must not open any.
//! Pools that are added are held against what the machine has at all.

use core::sync::atomic::{AtomicU64, Ordering};

use super::sys;

/// Bytes of a file that are looked at: what is wanted stands at the beginning.
const FILE_BYTES: usize = 2048;

/// What there is at all; 0 before that was looked up.
static ALL_BYTES: AtomicU64 = AtomicU64::new(0);

/// Whether so many bytes could be had, as far as can be known.
pub(super) fn is_there_for(len_bytes: usize) -> bool {
    let len_bytes = len_bytes as u64;
    match ALL_BYTES.load(Ordering::Relaxed) {
        0 => {
            let (all, available) = look();
            ALL_BYTES.store(all, Ordering::Relaxed);
            len_bytes <= all.min(available)
        }
        all => len_bytes <= all,
    }
}

/// What there is at all, and now.
fn look() -> (u64, u64) {
    let mut room = [0; FILE_BYTES];
    let meminfo = sys::read_file(c"/proc/meminfo", &mut room).unwrap_or_default();
    let mut all = of_machine(meminfo, b"MemTotal:", b"SwapTotal:").unwrap_or(u64::MAX);
    let available = of_machine(meminfo, b"MemAvailable:", b"SwapFree:").unwrap_or(u64::MAX);
    for path in [c"/sys/fs/cgroup/memory.max", c"/sys/fs/cgroup/memory/memory.limit_in_bytes"] {
        let limit = sys::read_file(path, &mut room).ok().and_then(number);
        all = all.min(limit.unwrap_or(u64::MAX));
    }
    (all, available)
}

/// What `/proc/meminfo` says of memory, and of swap; `None` when it does not.
fn of_machine(meminfo: &[u8], memory: &[u8], swap: &[u8]) -> Option<u64> {
    let kib = |name: &[u8]| {
        let mut lines = meminfo.split(|byte| *byte == b'\n');
        lines.find_map(|line| number(line.strip_prefix(name)?))
    };
    Some(kib(memory)?.saturating_add(kib(swap).unwrap_or(0)).saturating_mul(1024))
}

/// The number that a text begins with, behind blanks; `None` when it begins with none.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| u64::from(byte - b'0'));
    digits
        .fold(None, |sum: Option<u64>, digit| Some(sum.unwrap_or(0).saturating_mul(10).saturating_add(digit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_meminfo_says() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(of_machine(text.as_bytes(), b"MemAvailable:", b"SwapFree:"), expected, "{text}");
        };
        let first = "MemTotal:       24000000 kB\nMemFree:         1 kB\n";
        check(
            &format!("{first}MemAvailable:   2000 kB\nSwapTotal: 99 kB\nSwapFree:  24 kB\n"),
            Some(2024 << 10),
        );
        check("MemAvailable:   2000 kB\n", Some(2_048_000));
        check(first, None);
        check("MemAvailable: none\n", None);
        check("", None);
    }

    #[test]
    fn what_a_group_may_have() {
        let check =
            |text: &str, expected: Option<u64>| assert_eq!(number(text.as_bytes()), expected, "{text}");
        check("max\n", None);
        check("2147483648\n", Some(1 << 31));
        check("99999999999999999999", Some(u64::MAX));
    }

    #[test]
    fn there_is_room_for_a_little_and_none_for_much() {
        assert_eq!((is_there_for(4096), is_there_for(1 << 50)), (true, false));
    }
}
