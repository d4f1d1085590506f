//! The files of a session: the directory, and one by one what is in it.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use heapscribe_nolibc::sys::{self, Errno, File, Open};
use heapscribe_wire::chunk::{LOG_FILE_BYTES, PAYLOADS_OFFSET};
use heapscribe_wire::head::{HEAD_FILE_BYTES, SharedHead};
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, CHUNKS_MAX, DEFS_BYTES_MAX, LIVE_UNIT_BYTES};
use heapscribe_wire::live::LIVE_FILE_BYTES;
use heapscribe_wire::operation::THREADS_FILE_BYTES;
use heapscribe_wire::plan::Plan;

use super::base;
use crate::definitions::{DefinitionWriter, Interner, Names, Rates};
use crate::interpreter::functions::Functions;
use crate::interpreter::met::Defined;
use crate::interpreter::php::names::PhpFunctions;
use crate::interpreter::v8::names::V8Functions;
use crate::live::LiveTable;
use crate::log::Log;
use crate::platform::lock::Lock;
use crate::platform::mapped_file::{SharedFile, windows_of};
use crate::platform::session_clock::SessionClock;
use crate::platform::sole_process::SoleProcess;
use crate::platform::{memory, session_path};
use crate::state::{Session, Threads};

const PAGE_BYTES: usize = 4096;
/// Below this limit of the address space half as much is taken.
const SMALL_SPACE_BYTES: u64 = 1 << 30;

/// How large each file may become: less where the program's address space or the size of its files is
/// limited.
struct Sizes {
    defs: usize,
    live: usize,
    log: usize,
    threads: usize,
}

impl Sizes {
    fn within_limits() -> Sizes {
        let space = sys::address_space_limit();
        let file = sys::file_size_limit();
        let share = |full: usize, part: u64, step: usize| {
            let cap = if space == u64::MAX { u64::MAX } else { space / part };
            (full as u64).min(cap).min(file) as usize / step * step
        };
        // A program that has little uses most of it.
        let live_part = if space < SMALL_SPACE_BYTES { 32 } else { 16 };
        Sizes {
            defs: share(DEFS_BYTES_MAX, 128, 64 << 10),
            live: share(LIVE_FILE_BYTES, live_part, LIVE_UNIT_BYTES),
            log: share(LOG_FILE_BYTES, 64, CHUNK_PAYLOAD_BYTES),
            threads: share(THREADS_FILE_BYTES, 512, PAGE_BYTES),
        }
    }
}

/// Makes the files of a session that was created at this time, and the session over them.
///
/// # Safety
/// * The caller is the only thread that is in the recorder: it makes the session.
/// * `place` is new memory for a session, which stays for the life of the process.
pub(super) unsafe fn create(
    base: &File,
    plan: &Plan,
    granule_shift: u32,
    created_mono_ns: u64,
    inherited_mode: Option<u64>,
    place: NonNull<Session>,
) -> sys::Result<&'static Session> {
    let sizes = Sizes::within_limits();
    // A file over the limit would not be an error but SIGXFSZ.
    let fits_limits = sys::file_size_limit() >= HEAD_FILE_BYTES as u64;
    let is_too_little = [sizes.defs, sizes.live, sizes.threads].contains(&0);
    if !fits_limits || sizes.log <= PAYLOADS_OFFSET || is_too_little {
        return Err(Errno::ENOMEM);
    }
    let dir = make_directory(base, created_mono_ns)?;
    // SAFETY: the caller is the only thread that is in the recorder.
    let file = |name, bytes| SharedFile::create(&dir, name, bytes, unsafe { windows(bytes) }?);
    let (defs, live, log) =
        (file(c"defs", sizes.defs)?, file(c"live", sizes.live)?, file(c"log", sizes.log)?);
    let threads = Threads::new(file(c"threads", sizes.threads)?);
    // The head last: it is by the head that others find the session.
    let head = file(c"head", HEAD_FILE_BYTES)?;
    head.provide(0, HEAD_FILE_BYTES)?;
    // SAFETY: the head's pages are there for the life of the process and zero, which is a valid head; only the thread
    // that makes the session takes memory now.
    let (head, steps) = unsafe {
        let steps = memory::alloc_alone(CHUNKS_MAX).ok_or(Errno::ENOMEM)?.cast().as_ref();
        (&*head.at(0).cast::<SharedHead>(), steps)
    };
    let sole = if plan.reads_clock_seldom { Some(SoleProcess::begin(base)?) } else { None };
    let live = LiveTable::new(live, granule_shift, head).ok_or(Errno::ENOMEM)?;
    head.mode.store(inherited_mode.unwrap_or(plan.mode.to_word()), Ordering::Relaxed);
    head.live_granule_shift.store(granule_shift, Ordering::Relaxed);
    head.is_expedited.store(u32::from(sys::register_for_barriers()), Ordering::Relaxed);
    let session = Session {
        head,
        pid: sys::pid(),
        verify_every: plan.verify_every,
        rules: base::read_rules(base, plan)?,
        clock: SessionClock::new(plan.clock, sole),
        seed: seed(base, plan),
        was_full: AtomicBool::new(false),
        lock: Lock::default(),
        log: Log::new(log, *plan, steps),
        definitions: DefinitionWriter::new(defs, head),
        interner: Interner::default(),
        reads_interpreters: plan.reads_interpreters,
        tracks_mappings: plan.tracks_mappings,
        interpreters: Defined::default(),
        functions: Functions::default(),
        php: PhpFunctions::default(),
        v8: V8Functions::default(),
        names: Names::default(),
        rates: Rates::default(),
        live,
        threads,
    };
    // SAFETY: the place is new memory for a session, and stays.
    unsafe {
        place.write(session);
        Ok(place.as_ref())
    }
}

/// What samples are drawn by: by the seed itself in the first process of the recording, and by another in each other, which are
/// numbered as they begin, so that they are the same each time where the program does the same. (With one for all six equal
/// workers had the same samples, their sum was as uncertain as that of one, and ranges of 95 % held the truth in 33 of 60
/// recordings.)
fn seed(base: &File, plan: &Plan) -> u64 {
    let number = || {
        let file = base.open_at(c"processes", Open::Append)?;
        // A file over the limit would not be an error but SIGXFSZ.
        if file.stat()?.size_bytes < sys::file_size_limit() { file.append_byte() } else { Err(Errno::EFBIG) }
    };
    match plan.seed {
        0 => 0,
        seed => (seed ^ (number().unwrap_or_else(|_| u64::from(sys::pid())) - 1) << 32).max(1),
    }
}

/// Room for the addresses of a file's windows.
///
/// # Safety
/// * The caller is the only thread that is in the recorder: it makes the session.
unsafe fn windows(file_bytes: usize) -> sys::Result<&'static [AtomicUsize]> {
    let count = windows_of(file_bytes);
    // SAFETY: the caller is the only thread that is in the recorder.
    let place = unsafe { memory::alloc_alone(count * size_of::<AtomicUsize>()) }.ok_or(Errno::ENOMEM)?;
    // SAFETY: zeroed memory for so many words, for the life of the process.
    Ok(unsafe { core::slice::from_raw_parts(place.cast().as_ptr(), count) })
}

/// `PID.CREATED` in the base directory, which must be new.
fn make_directory(base: &File, created: u64) -> sys::Result<File> {
    let mut name = [0u8; 48];
    let len = write_decimal(&mut name, 0, u64::from(sys::pid()));
    name[len] = b'.';
    let len = write_decimal(&mut name, len + 1, created);
    let path = CStr::from_bytes_with_nul(&name[..=len]).map_err(|_| Errno::EINVAL)?;
    base.mkdir_at(path)?;
    if !session_path::set_directory(&name[..len]) {
        return Err(Errno::ENOMEM);
    }
    base.open_at(path, Open::Directory)
}

/// Writes `value` at `at`; where it ends. The room is enough for two numbers.
fn write_decimal(room: &mut [u8; 48], at: usize, value: u64) -> usize {
    let digits = value.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = value;
    for place in room[at..at + digits].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at + digits
}
