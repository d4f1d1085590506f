//! What is left free of the file system that the sessions are on. It may be a small one (Docker gives /dev/shm 64
//! MiB) that the program uses too: what it stores there when nothing is free ends it by SIGBUS. And the live table,
//! which has half the size of the heap, must not take what the log needs: of a block whose slot is missing one figure
//! is lost, of an event that is missing all.

use heapscribe_nolibc::sys::{self, Room};

use super::session_path;

/// What is left free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reserve {
    /// For logs, by the live table.
    Logs,
    /// For the program, by the logs.
    Program,
}

impl Reserve {
    /// Bytes, on a file system of that size.
    const fn bytes(self, total_bytes: u64) -> u64 {
        let (part, most) = match self {
            Reserve::Logs => (total_bytes / 4, 64 << 20),
            Reserve::Program => (total_bytes / 16, 16 << 20),
        };
        if part < most { part } else { most }
    }

    fn is_left(self, room: Room) -> bool {
        room.free_bytes > self.bytes(room.total_bytes)
    }
}

/// Whether there is room beyond what is left free. Where that cannot be known there is.
pub(crate) fn is_spare(reserve: Reserve) -> bool {
    let room = session_path::path().and_then(|path| sys::room(path).ok());
    room.is_none_or(|room| reserve.is_left(room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_small_file_system_is_left_free_and_some_of_a_large_one() {
        let check = |total_mib: u64, free_mib: u64, logs, program| {
            let room = Room { total_bytes: total_mib << 20, free_bytes: free_mib << 20 };
            assert_eq!((Reserve::Logs.is_left(room), Reserve::Program.is_left(room)), (logs, program));
        };
        check(64, 64, true, true);
        check(64, 16, false, true);
        check(64, 4, false, false);
        check(1 << 20, 65, true, true);
        check(1 << 20, 64, false, true);
        check(1 << 20, 16, false, false);
        check(0, 0, false, false);
    }
}
