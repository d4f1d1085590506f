//! The heap's statistics while the program runs: a file of this process, in the format of `heapscribe_wire::heap`, in
//! the directory that `HEAPSCRIBE_HEAPS` names, else in that of the recording. Without these there is none, and nothing
//! is done.
//!
//! ```text
//!   page  zero in a forked child   0 -> making -> mapped | none     the mapped file
//! ```
//! So a child makes a file of its own, however it was forked; one of `vfork`, which has its parent's memory, updates
//! its parent's file with the statistics of its parent's heap. The file stays mapped in a child: it may have been forked by a
//! handler that interrupted an update, which then goes on in it. Its descriptor is closed at once.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use heapscribe_alloc::stats::Stats;
use heapscribe_nolibc::clock::monotonic_ns;
use heapscribe_nolibc::environment;
use heapscribe_nolibc::once::Once;
use heapscribe_nolibc::sys::{self, Advice, Errno, File, Open, SignalsBlocked};
use heapscribe_wire::heap::state::SharedState;
use heapscribe_wire::heap::{About, HEAP_FILE_BYTES, HeapCounts, MAGIC, STATE_OFFSET, Update};

use crate::line::Line;
use crate::setting;

const MAKING: u32 = 1;
const MAPPED: u32 = 2;
const NONE: u32 = 3;
const PAGE_BYTES: usize = 4096;
/// Bytes of the longest name of the directory, with its NUL.
const DIRECTORY_BYTES: usize = 256;

/// Bytes of the program's path that are looked at.
const EXE_BYTES: usize = 512;

/// What a process has of its own.
#[repr(C)]
#[derive(Debug)]
struct Page {
    state: AtomicU32,
    file: AtomicPtr<u8>,
    /// For the thread that is making the file, whose stack may be small.
    room: UnsafeCell<Room>,
}

#[derive(Debug)]
struct Room {
    exe: [u8; EXE_BYTES],
    bytes: [u8; HEAP_FILE_BYTES],
}

const _: () = assert!(size_of::<Page>() <= PAGE_BYTES);

/// What a heap is called, and how it is configured.
#[derive(Debug)]
struct Description {
    name: Line,
    configuration: Line,
}

/// The file, and what is known of the heap from its start on.
#[derive(Debug)]
pub(crate) struct StatisticsFile {
    page: AtomicPtr<Page>,
    directory: Once<[u8; DIRECTORY_BYTES]>,
    description: Once<Description>,
    /// Where the heap has the address of its newest pool; 0 when not known.
    pools_address: AtomicUsize,
    /// The heap's name when it was not described.
    name: &'static str,
}

impl StatisticsFile {
    /// Of a heap with this name.
    pub(crate) const fn new(name: &'static str) -> StatisticsFile {
        let page = AtomicPtr::new(ptr::null_mut());
        let pools_address = AtomicUsize::new(0);
        StatisticsFile { page, directory: Once::new(), description: Once::new(), pools_address, name }
    }

    /// What the heap is called and how it is configured, before [`StatisticsFile::begin`].
    pub(crate) fn describe(&self, name: Line, configuration: Line) {
        self.description.set(Description { name, configuration });
    }

    /// Where the heap has the address of its newest pool, before [`StatisticsFile::begin`].
    pub(crate) fn describe_pools(&self, address: usize) {
        self.pools_address.store(address, Ordering::Relaxed);
    }

    /// Makes the first process's file, if there is a directory for it.
    pub(crate) fn begin(&self, is_passing: bool, stats: &Stats) {
        if environment::is_privileged() {
            return;
        }
        let path = |value: &[u8]| {
            let mut path = [0; DIRECTORY_BYTES];
            let fits = value.starts_with(b"/") && value.len() < path.len();
            path.get_mut(..value.len()).filter(|_| fits)?.copy_from_slice(value);
            Some(path)
        };
        let directory = setting::with(c"HEAPSCRIBE_HEAPS", path);
        let directory = directory.or_else(|| setting::with(c"HEAPSCRIBE_SESSION", path));
        let (Some(Some(directory)), Ok(page)) = (directory, sys::map_private(PAGE_BYTES)) else { return };
        self.directory.set(directory);
        // SAFETY: the page was just made and is ours. Where the kernel can not wipe it (before 4.14), the fork
        // handler does.
        let _ = unsafe { sys::advise(page, PAGE_BYTES, Advice::WipeOnFork) };
        self.page.store(page.cast(), Ordering::Release);
        self.publish(is_passing, false, stats);
    }

    /// Whether there is a directory for the file.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        !self.page.load(Ordering::Relaxed).is_null()
    }

    /// Publishes an update, in a file that is made if need be.
    pub(crate) fn publish(&self, is_passing: bool, is_last: bool, stats: &Stats) {
        // SAFETY: the page stays for the life of the process; zero is a valid one.
        let Some(page) = (unsafe { self.page.load(Ordering::Acquire).as_ref() }) else { return };
        if page.state.compare_exchange(0, MAKING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            let _blocked = SignalsBlocked::new();
            self.make_for_process(page, is_passing);
        }
        if page.state.load(Ordering::Acquire) != MAPPED || is_passing {
            return;
        }
        let update = Update { mono_ns: monotonic_ns(), is_last, counts: counts(stats) };
        // SAFETY: a mapped file of `HEAP_FILE_BYTES`, whose state stands there, aligned; it stays.
        let state = unsafe { &*page.file.load(Ordering::Acquire).add(STATE_OFFSET).cast::<SharedState>() };
        state.publish(&update.to_words());
    }

    fn make_for_process(&self, page: &Page, is_passing: bool) {
        if sys::shares_memory_with_parent() {
            // A child of vfork: the file would have the wrong process.
            page.state.store(0, Ordering::Release);
            return;
        }
        // SAFETY: this thread moved the state to `MAKING`, so that it alone is here.
        match self.make(is_passing, unsafe { &mut *page.room.get() }) {
            Ok(file) => {
                page.file.store(file, Ordering::Release);
                page.state.store(MAPPED, Ordering::Release);
            }
            Err(_) => page.state.store(NONE, Ordering::Release),
        }
    }

    /// The file, mapped. Its page is there before it is: a full file system is an error, and no SIGBUS later.
    #[inline(never)]
    fn make(&self, is_passing: bool, room: &mut Room) -> sys::Result<*mut u8> {
        let directory = self.open_directory()?;
        if sys::file_size_limit() < HEAP_FILE_BYTES as u64 {
            return Err(Errno::ENOMEM);
        }
        let (pid, created_mono_ns) = (sys::pid(), monotonic_ns());
        let line = Line::blank().text(b"heap.").number(u64::from(pid)).text(b".").number(created_mono_ns);
        let mut name = [0; 64];
        name.iter_mut().take(63).zip(line.as_bytes()).for_each(|(place, &byte)| *place = byte);
        let name = CStr::from_bytes_until_nul(&name).map_err(|_| Errno::EINVAL)?;
        let file = directory.open_at(name, Open::CreateNew)?;
        let mapped = self.fill(&file, pid, created_mono_ns, is_passing, room);
        if mapped.is_err() {
            let _ = directory.unlink_at(name);
        }
        mapped
    }

    fn fill(
        &self,
        file: &File,
        pid: u32,
        created_mono_ns: u64,
        is_passing: bool,
        room: &mut Room,
    ) -> sys::Result<*mut u8> {
        let Room { exe, bytes } = room;
        let exe_bytes = sys::readlink(c"/proc/self/exe", exe).unwrap_or(0);
        let description = self.description.get();
        let about = About {
            pid,
            parent_pid: sys::parent_pid(),
            created_mono_ns,
            pid_namespace: sys::pid_namespace(),
            is_passing,
            pools_address: self.pools_address.load(Ordering::Relaxed) as u64,
            name: description.map_or(self.name.as_bytes(), |it| it.name.as_bytes()),
            configuration: description.map_or(b"", |it| it.configuration.as_bytes()),
            exe: exe.get(..exe_bytes).unwrap_or_default(),
        };
        bytes.fill(0);
        about.put(bytes);
        file.write_all_at(bytes, 0)?;
        let mapped = file.map_shared_closed(PAGE_BYTES)?;
        // SAFETY: the mapping just made.
        unsafe { sys::protect_read_write(mapped, PAGE_BYTES) }?;
        file.write_all_at(&MAGIC.to_le_bytes(), 0)?;
        Ok(mapped)
    }

    fn open_directory(&self) -> sys::Result<File> {
        let path = self.directory.get().ok_or(Errno::ENOENT)?;
        let path = CStr::from_bytes_until_nul(path).map_err(|_| Errno::EINVAL)?;
        let directory = File::open(path, Open::Directory)?;
        let stat = directory.stat()?;
        let is_ours = stat.uid == sys::euid() && stat.mode & 0o077 == 0;
        if is_ours { Ok(directory) } else { Err(Errno::EPERM) }
    }

    /// In a forked child, where the kernel has not wiped the page.
    pub(crate) fn reset_in_child(&self) {
        // SAFETY: the page stays for the life of the process; zero is a valid one.
        if let Some(page) = unsafe { self.page.load(Ordering::Acquire).as_ref() } {
            page.state.store(0, Ordering::Release);
        }
    }
}

const fn counts(stats: &Stats) -> HeapCounts {
    HeapCounts {
        pool_bytes: stats.pool_bytes,
        used_bytes: stats.used_bytes,
        peak_bytes: stats.peak_bytes,
        free_bytes: stats.free_bytes,
        largest_free_bytes: stats.largest_free_bytes,
        blocks: stats.blocks,
        free_blocks: stats.free_blocks,
        pools: stats.pools,
        growths: stats.growths,
        failures: stats.failures,
        misuses: stats.misuses,
        locked_bytes: stats.locked_bytes,
    }
}
