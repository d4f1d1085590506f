//! Which process this is, in memory that a forked child inherits: there it names the parent.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use heapscribe_nolibc::sys::{self, File, Open};

/// The process that made the last session.
static PID: AtomicU32 = AtomicU32::new(0);
/// When that session was made; 0 when there is none.
static CREATED_MONO_NS: AtomicU64 = AtomicU64::new(0);

/// Whether this process was forked from one that has recorded.
pub(super) fn is_forked_child() -> bool {
    let pid = PID.load(Ordering::Relaxed);
    pid != 0 && (CREATED_MONO_NS.load(Ordering::Relaxed) != 0 || pid != sys::pid())
}

/// Whether this process was forked and has exec'd nothing since, as far as the kernel says so: its parent may have
/// called nothing of the heap, and so have no session for it to inherit.
pub(super) fn was_forked() -> bool {
    let mut room = [0; STAT_BYTES];
    let read = File::open(c"/proc/self/stat", Open::Read).and_then(|file| file.read_full(&mut room));
    read.ok().and_then(|read| flags(room.get(..read)?)).is_some_and(|flags| flags & FORKED_WITHOUT_EXEC != 0)
}

/// PF_FORKNOEXEC.
const FORKED_WITHOUT_EXEC: u64 = 0x40;
/// More than stands before the flags.
const STAT_BYTES: usize = 192;

/// The flags of a process in a line of `/proc/PID/stat`: the seventh number behind its name, which may contain
/// anything.
fn flags(line: &[u8]) -> Option<u64> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let field = line.get(name_end + 2..)?.split(|byte| *byte == b' ').nth(6)?;
    core::str::from_utf8(field).ok()?.parse().ok()
}

/// When the session of the process that forked this one was made.
pub(super) fn parent_created_mono_ns() -> u64 {
    CREATED_MONO_NS.load(Ordering::Relaxed)
}

/// This process has made its session.
pub(super) fn set(pid: u32, created_mono_ns: u64) {
    PID.store(pid, Ordering::Relaxed);
    CREATED_MONO_NS.store(created_mono_ns, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_behind_any_name() {
        let check = |line: &str, expected| assert_eq!(flags(line.as_bytes()), expected, "{line}");
        check("12 (cat) R 7 12 12 0 -1 4194304 91 0", Some(4_194_304));
        check("12 (a) b) S) S 7 12 12 34816 12 64 91 0", Some(64));
        check("12 (cat) R 7", None);
        check("", None);
    }
}
