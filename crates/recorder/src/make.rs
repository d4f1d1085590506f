//! How a session comes to be: is it wanted, where, may it be there, and then file by file.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use heapscribe_nolibc::environment;
use heapscribe_wire::chunk::{LOG_FILE_BYTES, PAYLOADS_OFFSET};
use heapscribe_wire::head::{self, HEAD_FILE_BYTES, SharedHead, stage, state};
use heapscribe_wire::limits::{
    CHUNK_PAYLOAD_BYTES, CHUNKS_MAX, DEFS_BYTES_MAX, LIVE_UNIT_BYTES, NAME_BYTES_MAX,
};
use heapscribe_wire::live::LIVE_FILE_BYTES;
use heapscribe_wire::operation::THREADS_FILE_BYTES;
use heapscribe_wire::plan::{PLAN_BYTES, Plan};
use heapscribe_wire::rules::RULES_BYTES_MAX;

use crate::define::Definer;
use crate::gate::{self, Rates};
use crate::intern::Interner;
use crate::live::Live;
use crate::lock::Lock;
use crate::log::Log;
use crate::names::Names;
use crate::program::{self, IDENTITY};
use crate::session::Session;
use crate::shared::{SharedFile, windows_of};
use crate::sys::{self, Errno, File, Open};
use crate::thread::Threads;
use crate::{clock, fork, memory, modules, session_path};

/// Why there is no session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Nobody asked for a recording.
    NotAsked,
    /// The program runs with more rights than its caller.
    Privileged,
    /// The base directory is not there or not ours.
    Base,
    /// There is no plan of this version in it.
    Plan,
    /// The heap's functions were not found.
    Heap,
    /// The session's files could not be made.
    Files(Errno),
}

impl Refusal {
    /// Whether a forked child should try again.
    pub(crate) fn is_worth_another_try(self) -> bool {
        matches!(self, Refusal::Files(_))
    }
}

/// Whether this process was forked from one that has recorded.
pub(crate) fn is_forked_child() -> bool {
    let pid = IDENTITY.pid.load(Ordering::Relaxed);
    pid != 0 && (IDENTITY.created_mono_ns.load(Ordering::Relaxed) != 0 || pid != sys::pid())
}

/// Makes the session in `place`: not on the stack, which may be a signal handler's few pages. The caller
/// is the only thread that does.
pub(crate) fn session(is_child: bool, place: NonNull<Session>) -> Result<(), Refusal> {
    if !is_child {
        find_base()?;
    }
    let base = open_base()?;
    let plan = read_plan(&base)?;
    let granule_shift = program::granule_shift().ok_or(Refusal::Heap)?;
    if let Some(loader) = program::loader() {
        clock::find(loader);
    }
    // Both at one moment, before files are made: a short trace has its rate from this pair.
    let (created_mono_ns, created_ticks) = (clock::monotonic_ns(), clock::ticks(plan.clock));
    files(&base, &plan, (granule_shift, is_child), created_mono_ns, place).map_err(|e| {
        // Not in a forked child: what is descriptor 2 of a daemon is not for messages any more.
        if !is_child {
            tell(&base, &plan, e);
        }
        Refusal::Files(e)
    })?;
    // SAFETY: `files` has written it.
    describe(unsafe { place.as_ref() }, is_child, (created_mono_ns, created_ticks));
    fork::register();
    Ok(())
}

/// Takes the base directory from the environment.
fn find_base() -> Result<(), Refusal> {
    if environment::is_privileged() {
        return Err(Refusal::Privileged);
    }
    const NAME: &CStr = c"HEAPSCRIBE_SESSION";
    // SAFETY: only the thread that makes the session is here.
    let room = unsafe { &mut *SCRATCH.0.get() };
    let value = environment::known(NAME).or_else(|| environment::initial(NAME, room));
    if value.is_some_and(session_path::set_base) { Ok(()) } else { Err(Refusal::NotAsked) }
}

/// Room for a piece of the environment, the command line and the path of the executable, used only while
/// the session is made.
struct Scratch(UnsafeCell<[u8; 2 * NAME_BYTES_MAX]>);
// SAFETY: used only by the one thread that makes the session.
unsafe impl Sync for Scratch {}
static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; 2 * NAME_BYTES_MAX]));

fn open_base() -> Result<File, Refusal> {
    let base = File::open(session_path::base().ok_or(Refusal::NotAsked)?, Open::Directory)
        .map_err(|_| Refusal::Base)?;
    let stat = base.stat().map_err(|_| Refusal::Base)?;
    let is_private = stat.mode & 0o077 == 0;
    if stat.uid == sys::euid() && is_private { Ok(base) } else { Err(Refusal::Base) }
}

fn read_plan(base: &File) -> Result<Plan, Refusal> {
    let mut bytes = [0; PLAN_BYTES];
    let file = base.open_at(c"plan", Open::Read).map_err(|_| Refusal::Plan)?;
    match file.read_full(&mut bytes) {
        Ok(PLAN_BYTES) => Plan::parse(&bytes).ok_or(Refusal::Plan),
        _ => Err(Refusal::Plan),
    }
}

/// The rules behind the plan, when a call that breaks one is to stop the process.
fn read_rules(base: &File, plan: &Plan) -> sys::Result<&'static [u8]> {
    let wanted = (plan.rules_bytes as usize).min(RULES_BYTES_MAX);
    if !plan.stops || wanted == 0 {
        return Ok(&[]);
    }
    // SAFETY: only the thread that makes the session is here.
    let room = unsafe { &mut *SCRATCH.0.get() };
    let read = base.open_at(c"plan", Open::Read)?.read_full(&mut room[..PLAN_BYTES + wanted])?;
    let rules = room.get(PLAN_BYTES..read).unwrap_or_default();
    // SAFETY: only the thread that makes the session takes memory now.
    let place = unsafe { memory::alloc(wanted) }.ok_or(Errno::ENOMEM)?.cast::<u8>();
    // SAFETY: the place is new, has `wanted` bytes, at most which were read, and stays.
    unsafe {
        core::ptr::copy_nonoverlapping(rules.as_ptr(), place.as_ptr(), rules.len());
        Ok(core::slice::from_raw_parts(place.as_ptr(), rules.len()))
    }
}

const PAGE_BYTES: usize = 4096;

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
        Sizes {
            defs: share(DEFS_BYTES_MAX, 64, 64 << 10),
            live: share(LIVE_FILE_BYTES, 16, LIVE_UNIT_BYTES),
            log: share(LOG_FILE_BYTES, 64, CHUNK_PAYLOAD_BYTES),
            threads: share(THREADS_FILE_BYTES, 256, PAGE_BYTES),
        }
    }
}

fn files(
    base: &File,
    plan: &Plan,
    (granule_shift, is_child): (u32, bool),
    created: u64,
    place: NonNull<Session>,
) -> sys::Result<()> {
    let sizes = Sizes::within_limits();
    // A file over the limit would not be an error but SIGXFSZ.
    let fits_limits = sys::file_size_limit() >= HEAD_FILE_BYTES as u64;
    let is_too_little = [sizes.defs, sizes.live, sizes.threads].contains(&0);
    if !fits_limits || sizes.log <= PAYLOADS_OFFSET || is_too_little {
        return Err(Errno::ENOMEM);
    }
    let dir = make_directory(base, created)?;
    let file = |name, bytes| SharedFile::create(&dir, name, bytes, windows(bytes)?);
    let (defs, live, log) =
        (file(c"defs", sizes.defs)?, file(c"live", sizes.live)?, file(c"log", sizes.log)?);
    let threads = Threads::new(file(c"threads", sizes.threads)?);
    // The head last: it is by the head that others find the session.
    let head = file(c"head", HEAD_FILE_BYTES)?;
    head.provide(0, HEAD_FILE_BYTES)?;
    // SAFETY: the head's pages are there for the life of the process and zero, which is a valid head;
    // `present` is a byte per unit; only the thread that makes the session takes memory now.
    let (head, live, steps) = unsafe {
        let present = memory::alloc(sizes.live / LIVE_UNIT_BYTES).ok_or(Errno::ENOMEM)?.cast();
        let steps = memory::alloc(CHUNKS_MAX).ok_or(Errno::ENOMEM)?.cast().as_ref();
        (&*head.at(0).cast::<SharedHead>(), Live::new(live, present, granule_shift), steps)
    };
    let mode = if is_child { gate::inherited() } else { None };
    head.mode.store(mode.unwrap_or(plan.mode.to_word()), Ordering::Relaxed);
    head.live_granule_shift.store(granule_shift, Ordering::Relaxed);
    head.is_expedited.store(u32::from(sys::register_for_barriers()), Ordering::Relaxed);
    let session = Session {
        head,
        pid: sys::pid(),
        verify_every: plan.verify_every,
        rates: Rates::new(plan.seed),
        rules: read_rules(base, plan)?,
        clock: plan.clock,
        lock: Lock::default(),
        log: Log::new(log, *plan, steps),
        definer: Definer::new(defs),
        interner: Interner::default(),
        names: Names::default(),
        live,
        threads,
    };
    // SAFETY: the place is new memory for a session.
    unsafe { place.write(session) };
    Ok(())
}

/// Room for the addresses of a file's windows.
fn windows(file_bytes: usize) -> sys::Result<&'static [AtomicUsize]> {
    let count = windows_of(file_bytes);
    // SAFETY: only the thread that makes the session takes memory now.
    let place = unsafe { memory::alloc(count * size_of::<AtomicUsize>()) }.ok_or(Errno::ENOMEM)?;
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

/// Says who the process is, and when it was made by both clocks; the magic comes last.
fn describe(session: &Session, is_child: bool, (created_mono_ns, created_ticks): (u64, u64)) {
    let head = session.head;
    let parent_created = if is_child { IDENTITY.created_mono_ns.load(Ordering::Relaxed) } else { 0 };
    head.abi.store(heapscribe_wire::ABI_VERSION, Ordering::Relaxed);
    head.pid.store(session.pid, Ordering::Relaxed);
    head.parent_pid.store(sys::parent_pid(), Ordering::Relaxed);
    head.stage.store(if is_child { stage::FORKED } else { stage::EXECED }, Ordering::Relaxed);
    head.clock_kind.store(session.clock as u32, Ordering::Relaxed);
    head.clock_shift.store(clock::shift(session.clock), Ordering::Relaxed);
    head.created_ticks.store(created_ticks, Ordering::Relaxed);
    head.created_mono_ns.store(created_mono_ns, Ordering::Relaxed);
    head.created_real_ns.store(clock::realtime_ns(), Ordering::Relaxed);
    head.parent_created_mono_ns.store(parent_created, Ordering::Relaxed);
    head.own_bytes.store(memory::total_bytes() as u64, Ordering::Relaxed);
    head.pid_namespace.store(sys::pid_namespace(), Ordering::Relaxed);
    name_program(head);
    head.state.store(state::RECORDING, Ordering::Relaxed);
    head.magic.store(head::MAGIC, Ordering::Release);
    IDENTITY.pid.store(session.pid, Ordering::Relaxed);
    IDENTITY.created_mono_ns.store(created_mono_ns, Ordering::Relaxed);
}

fn name_program(head: &SharedHead) {
    // SAFETY: only the thread that makes the session is here.
    let room = unsafe { &mut *SCRATCH.0.get() };
    let exe = sys::readlink(c"/proc/self/exe", &mut room[..NAME_BYTES_MAX]).unwrap_or(0);
    // SAFETY: the names' bytes are plain memory of the head that only this thread writes, before others
    // may read it.
    unsafe { core::ptr::copy_nonoverlapping(room.as_ptr(), head.exe.as_ptr().cast_mut(), exe) };
    head.exe_len.store(exe as u32, Ordering::Relaxed);
    let read =
        File::open(c"/proc/self/cmdline", Open::Read).and_then(|f| f.read_full(&mut room[..NAME_BYTES_MAX]));
    let command = read.unwrap_or(0);
    // SAFETY: as above.
    unsafe { core::ptr::copy_nonoverlapping(room.as_ptr(), head.command.as_ptr().cast_mut(), command) };
    head.command_len.store(command as u32, Ordering::Relaxed);
}

/// Names in a child what its parent had named.
pub(crate) fn announce(session: &Session, is_child: bool) {
    if is_child && let Some(loader) = program::loader() {
        modules::forget_closing();
        modules::announce_again(loader, session);
    }
}

/// Says once for all processes of the recording that one could not be recorded.
fn tell(base: &File, plan: &Plan, error: Errno) {
    let is_first = match base.mkdir_at(c"told") {
        Ok(()) => true,
        Err(Errno::EEXIST) => false,
        Err(_) => sys::parent_pid() == plan.drainer_pid,
    };
    if is_first {
        sys::say(match error {
            Errno(28) => b"heapscribe: error: no space left for the session of this process, it runs unrecorded\nhint: heapscribe record --session-dir DIR chooses another place than /dev/shm\n",
            _ => b"heapscribe: error: the session of this process could not be made, it runs unrecorded\nhint: heapscribe record --session-dir DIR chooses another place than /dev/shm\n",
        });
    }
}
