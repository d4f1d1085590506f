//! How much memory is available, before all pages of a pool are asked for at once: a kernel that can not
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

/// What the machine has; 0 before that was read.
static TOTAL_BYTES: AtomicU64 = AtomicU64::new(0);

/// Whether so many bytes are available, as far as can be known.
pub(super) fn is_enough_for(len_bytes: usize) -> bool {
    let len_bytes = len_bytes as u64;
    match TOTAL_BYTES.load(Ordering::Relaxed) {
        0 => {
            let Memory { total, available } = read();
            TOTAL_BYTES.store(total, Ordering::Relaxed);
            len_bytes <= total.min(available)
        }
        total => len_bytes <= total,
    }
}

/// What the machine, or the container, has, and what of it is available now.
struct Memory {
    total: u64,
    available: u64,
}

#[cold]
#[inline(never)] // the room for files is taken of the stack only where they are read
fn read() -> Memory {
    let mut room = [0; FILE_BYTES];
    let meminfo = sys::read_file(c"/proc/meminfo", &mut room).unwrap_or_default();
    let mut total = of_machine(meminfo, b"MemTotal:", b"SwapTotal:").unwrap_or(u64::MAX);
    let available = of_machine(meminfo, b"MemAvailable:", b"SwapFree:").unwrap_or(u64::MAX);
    for path in [c"/sys/fs/cgroup/memory.max", c"/sys/fs/cgroup/memory/memory.limit_in_bytes"] {
        let limit = sys::read_file(path, &mut room).ok().and_then(number);
        total = total.min(limit.unwrap_or(u64::MAX));
    }
    Memory { total, available }
}

/// The sum of a field for memory and one for swap in `/proc/meminfo`; `None` without the first.
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
    fn a_little_is_available_and_much_is_not() {
        assert_eq!((is_enough_for(4096), is_enough_for(1 << 50)), (true, false));
    }
}
