//! Whether this process is the only one of its recording that has ever begun: a word in a file of the base directory, which
//! each process maps. A clock that is read seldom is in force only that long: of two processes nobody would know the order of
//! their events. The kernel tells a parent nothing of a child made by `posix_spawn`, so the child says so itself, before its
//! first event: what the parent does after it has heard of that event, it does after it can see the word.
//!
//! A program that replaces its own by exec keeps its pid, and is the same process.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering};

use heapscribe_nolibc::sys::{self, Errno, File, Open};
use heapscribe_wire::plan::SOLE_PROCESS_FILE_BYTES;

use super::mapped_file::keep_to_ourselves;

/// The word once there were several processes.
const SEVERAL: u64 = u64::MAX;

/// The word, and what it is as long as this process is the only one.
#[derive(Debug)]
pub(crate) struct SoleProcess {
    word: &'static AtomicU64,
    own: u64,
}

impl SoleProcess {
    /// Says that this process has begun. When another has, too, none is alone from now on.
    pub(crate) fn begin(base: &File) -> sys::Result<SoleProcess> {
        let file = base.open_at(c"sole-process", Open::ReadWrite)?; // plan::SOLE_PROCESS_FILE_NAME
        if file.stat()?.size_bytes < SOLE_PROCESS_FILE_BYTES as u64 {
            return Err(Errno::EINVAL);
        }
        let place = file.map_shared_from(0, SOLE_PROCESS_FILE_BYTES)?;
        keep_to_ourselves(place, SOLE_PROCESS_FILE_BYTES)?;
        // SAFETY: the mapping was just made, is a page of a file that only `record` removes, whole, and stays for the life
        // of the process; a word is valid whatever its bytes are.
        let word = unsafe { &*place.cast::<AtomicU64>() };
        // A pid is one of its namespace.
        let own = u64::from(sys::pid()) | sys::pid_namespace() << 32;
        let sole = SoleProcess { word, own };
        if let Err(other) = word.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire)
            && other != own
        {
            word.store(SEVERAL, Ordering::Release);
        }
        Ok(sole)
    }

    /// Whether no other process has begun.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.word.load(Ordering::Acquire) == self.own
    }

    /// Its mapping: address and bytes.
    pub(crate) fn mapping(&self) -> (*mut u8, usize) {
        (self.word.as_ptr().cast(), SOLE_PROCESS_FILE_BYTES)
    }
}

#[cfg(test)]
pub(crate) mod tests;
