//! Which modules the definitions already name, so that each is named before the first stack through it,
//! and so that another module at the same address is noticed.
//!
//! A program may close a plug-in and load another at the same place (three plug-ins, 100 blocks each,
//! were all put down to the first by heaptrack). The loader is asked whether they are where they were
//! when the program has called `dlclose`, and when a chunk is full (libc closes modules of its own, for
//! iconv and name services); and while a `dlclose` is in progress each address that is looked up has its
//! module compared by identity: range, bias, name, build id.
//! When one was unloaded or changed, a new *generation* begins: its unwinding rules and the stacks through it are
//! forgotten, and the definitions note that what was named before may be unmapped, so that each module is named again
//! before the next new stack through it. Stacks through others keep their numbers.
//!
//! The list is kept over a fork, because the unwinding rules are: a child names again what its parent had.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use heapscribe_nolibc::loader::{Loader, ModuleDetails, ModuleText};
use heapscribe_nolibc::sys;
use heapscribe_wire::definitions::{Definition, Module};
use heapscribe_wire::head::LossReason;

use crate::platform::lock::Held;
use crate::platform::session_path;
use crate::state::Session;
use crate::unwind::process_rules;

/// Modules that are remembered; those beyond are named again for each new address, which is only slow.
const MODULES_MAX: usize = 1024;

struct Known {
    /// 0: it was unloaded, and this is a place for another.
    start: AtomicUsize,
    end: AtomicUsize,
    /// The generation that it was last named in.
    named: AtomicU32,
    /// The bit that stacks through it have, shared with others; 0 when it was there from the start, and stays.
    bit: AtomicU32,
    /// What identifies the file: range, bias, name, build id.
    identity: AtomicU64,
    /// What the loader knows of it without looking into the module, which may be unmapped any moment.
    place: AtomicU64,
}

impl Known {
    const fn new() -> Known {
        let [start, end] = [const { AtomicUsize::new(0) }; 2];
        let [named, bit] = [const { AtomicU32::new(0) }; 2];
        let [identity, place] = [const { AtomicU64::new(0) }; 2];
        Known { start, end, named, bit, identity, place }
    }

    fn is_named(&self) -> bool {
        self.named.load(Ordering::Acquire) == epoch().generation()
    }

    fn is(&self, details: &ModuleDetails<'_>) -> bool {
        self.identity.load(Ordering::Relaxed) == details.identity
    }
}

/// A hash of where the loader has a module.
fn place(text: &ModuleText) -> u64 {
    let numbers = [text.start, text.end, text.link_map, text.eh_frame_hdr];
    numbers.iter().fold(1, |hash, &n| (hash ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

/// The modules that were named and are still there.
struct Modules {
    known: [Known; MODULES_MAX],
    count: AtomicUsize,
    /// See [`Epoch`].
    epoch: AtomicU64,
}

static MODULES: Modules = Modules {
    known: [const { Known::new() }; MODULES_MAX],
    count: AtomicUsize::new(0),
    epoch: AtomicU64::new(ONE_GENERATION),
};

/// What is loaded, as far as walks depend on it: the generation, how often unwinding information was
/// registered or deregistered, and how many calls of `dlclose` are in progress. One word, so that a walk looks
/// at all with one load.
///
/// | bits   | field                                                                     |
/// |--------|---------------------------------------------------------------------------|
/// | 0..12  | calls of `dlclose` in progress                                            |
/// | 12..32 | changes of what the program has registered (`__register_frame`), wrapping |
/// | 32..64 | number of the generation, from 1                                          |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epoch(u64);

const CLOSING: u64 = (1 << 12) - 1;
const ONE_CHANGE: u64 = 1 << 12;
const ONE_GENERATION: u64 = 1 << 32;
const CHANGES: u64 = ONE_GENERATION - ONE_CHANGE;

impl Epoch {
    /// Whether no module is being closed: else cached rules and walks are neither used nor added to.
    #[inline(always)]
    pub(crate) const fn is_quiet(self) -> bool {
        self.0 & CLOSING == 0
    }

    /// Number of the generation: part of every stack's hash.
    #[inline(always)]
    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The word, which is never 0.
    #[inline(always)]
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

/// What is loaded now.
#[inline(always)]
pub(crate) fn epoch() -> Epoch {
    Epoch(MODULES.epoch.load(Ordering::Acquire))
}

/// The program has registered unwinding information, or deregistered it: cached stacks are out of date.
pub(crate) fn registered_changed() {
    let one_more = |epoch: u64| Some(epoch & !CHANGES | epoch.wrapping_add(ONE_CHANGE) & CHANGES);
    let _ = MODULES.epoch.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
}

/// A `dlclose` begins.
pub(crate) fn begin_close() {
    MODULES.epoch.fetch_add(1, Ordering::AcqRel);
}

/// A `dlclose` has ended: forgets what it unloaded.
pub(crate) fn end_close(loader: Option<&Loader>, session: Option<&Session>) {
    if let (Some(loader), Some(session)) = (loader, session) {
        check(loader, session);
    }
    closed();
}

/// In a forked child: the calls in other threads are not here.
pub(crate) fn forget_closing() {
    MODULES.epoch.fetch_and(!CLOSING, Ordering::AcqRel);
}

fn places() -> impl Iterator<Item = &'static Known> {
    MODULES.known.iter().take(MODULES.count.load(Ordering::Acquire))
}

fn known() -> impl Iterator<Item = &'static Known> {
    places().filter(|k| k.start.load(Ordering::Acquire) != 0)
}

fn find_known(start: usize) -> Option<&'static Known> {
    known().find(|k| k.start.load(Ordering::Relaxed) == start)
}

/// The bit of the module around an address, if that may be unloaded.
pub(crate) fn unloadable_bit(address: usize) -> u32 {
    if NEXT_BIT.load(Ordering::Relaxed) == 0 {
        return 0; // none was ever named
    }
    let is_in =
        |k: &&Known| (k.start.load(Ordering::Relaxed)..k.end.load(Ordering::Relaxed)).contains(&address);
    known().find(is_in).map_or(0, |k| k.bit.load(Ordering::Relaxed))
}

/// Counts the modules that may be unloaded.
static NEXT_BIT: AtomicU32 = AtomicU32::new(0);

/// A bit for a module: there are 32, so that some share one, and are forgotten with each other.
fn new_bit(text: &ModuleText, loader: &Loader) -> u32 {
    if loader.is_initial(text) { 0 } else { 1 << (NEXT_BIT.fetch_add(1, Ordering::Relaxed) % 32) }
}

/// Looks whether every named module is still there, and begins a new generation when one is not.
pub(crate) fn check(loader: &Loader, session: &Session) {
    // The last version of the loader's list that was checked.
    static CHECKED: AtomicU64 = AtomicU64::new(0);
    let version = loader.version();
    if version.is_some_and(|version| CHECKED.load(Ordering::Relaxed) == version) {
        return;
    }
    if known().any(|k| is_unloaded(loader, k)) {
        let Some(held) = session.lock.hold() else { return };
        begin_generation(session, |k| is_unloaded(loader, k), &held);
    }
    if let Some(version) = version {
        CHECKED.store(version, Ordering::Relaxed);
    }
}

/// Asks the loader only: another thread may be closing the module this instant.
fn is_unloaded(loader: &Loader, known: &Known) -> bool {
    let text = loader.find_listed(known.start.load(Ordering::Relaxed));
    text.is_none_or(|text| place(&text) != known.place.load(Ordering::Relaxed))
}

fn begin_generation(session: &Session, has_ended: impl Fn(&Known) -> bool, held: &Held<'_>) {
    let _ = session.definitions.append(&Definition::Unmapped, held);
    // Nobody uses the rules while they are forgotten, or adds to them.
    begin_close();
    for known in known().filter(|known| has_ended(known)) {
        if let Some(cache) = process_rules::pc_cache() {
            cache.forget(known.start.load(Ordering::Relaxed)..=known.end.load(Ordering::Relaxed));
        }
        session.interner.forget(known.bit.load(Ordering::Relaxed), held);
        known.start.store(0, Ordering::Release);
    }
    MODULES.epoch.fetch_add(ONE_GENERATION, Ordering::AcqRel);
    closed();
}

/// A child that was forked inside a `dlclose` ends one that it has not begun.
fn closed() {
    let one_less = |epoch: u64| (!Epoch(epoch).is_quiet()).then(|| epoch - 1);
    let _ = MODULES.epoch.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
}

/// Names the module of a frame that is to be defined, if it is not named yet. Whether it was the one that is named: what
/// is known of its code holds. Called without the lock.
pub(crate) fn announce(text: &ModuleText, loader: &Loader, session: &Session) -> bool {
    if epoch().is_quiet() && find_known(text.start).is_some_and(Known::is_named) {
        return true;
    }
    // SAFETY: the calling thread's stack returns into it, so it is loaded and stays so.
    let details = unsafe { text.details() };
    if find_known(text.start).is_some_and(|known| known.is(&details) && known.is_named()) {
        return true;
    }
    let Some(held) = session.lock.hold() else {
        session.head.count_loss(LossReason::ModuleTable);
        return false;
    };
    let known = find_known(text.start);
    if known.is_some_and(|known| !known.is(&details)) {
        begin_generation(session, |other| other.start.load(Ordering::Relaxed) == text.start, &held);
    }
    let known = known.filter(|known| known.is(&details));
    if known.is_none_or(|known| !known.is_named()) {
        name(&details, session, &held);
    }
    match known {
        Some(known) => known.named.store(epoch().generation(), Ordering::Release),
        None => add(&details, text, new_bit(text, loader)),
    }
    known.is_some()
}

/// Remembers a module that was named. Under the lock.
fn add(details: &ModuleDetails<'_>, text: &ModuleText, bit: u32) {
    let count = MODULES.count.load(Ordering::Relaxed);
    let free = places().find(|place| place.start.load(Ordering::Relaxed) == 0);
    let Some(entry) = free.or_else(|| MODULES.known.get(count)) else { return };
    entry.end.store(details.end, Ordering::Relaxed);
    entry.identity.store(details.identity, Ordering::Relaxed);
    entry.place.store(place(text), Ordering::Relaxed);
    entry.bit.store(bit, Ordering::Relaxed);
    entry.named.store(epoch().generation(), Ordering::Relaxed);
    entry.start.store(details.start, Ordering::Release);
    if free.is_none() {
        MODULES.count.store(count + 1, Ordering::Release);
    }
}

/// In a forked child: names what its parent had named, as far as it is still there.
pub(crate) fn announce_inherited(loader: &Loader, session: &Session) {
    let Some(held) = session.lock.hold() else { return };
    for k in known() {
        if let Some(text) = loader.find_text(k.start.load(Ordering::Relaxed)) {
            // SAFETY: the only thread of the process is here, so nothing is being closed.
            name(&unsafe { text.details() }, session, &held);
            k.named.store(epoch().generation(), Ordering::Relaxed);
        }
    }
}

const PATH_BYTES: usize = session_path::PATH_BYTES_MAX;

/// Room to make a path absolute in; used under the lock only.
struct PathRoom(UnsafeCell<[u8; PATH_BYTES]>);
// SAFETY: used only while the session's lock is held.
unsafe impl Sync for PathRoom {}
static PATH_ROOM: PathRoom = PathRoom(UnsafeCell::new([0; PATH_BYTES]));

fn name(details: &ModuleDetails<'_>, session: &Session, held: &Held<'_>) {
    // SAFETY: the lock is held.
    let room = unsafe { &mut *PATH_ROOM.0.get() };
    let module = Module {
        start: details.start as u64,
        end: details.end as u64,
        bias: details.bias as u64,
        name: absolute(details.name, room),
        build_id: details.build_id.as_bytes(),
    };
    if session.definitions.append(&Definition::Module(module), held).is_err() {
        session.head.count_loss(LossReason::ModuleTable);
    }
}

/// The path as another process can use it: the program's own when the loader has no name for it, with
/// the working directory before a relative one (`dlopen("./plugin.so")`).
fn absolute<'a>(name: &'a [u8], room: &'a mut [u8; PATH_BYTES]) -> &'a [u8] {
    if name.is_empty() {
        let len = sys::readlink(c"/proc/self/exe", room).unwrap_or(0);
        return room.get(..len).unwrap_or_default();
    }
    if name[0] == b'/' || !name.contains(&b'/') {
        return name; // absolute, or the kernel's own ("linux-vdso.so.1")
    }
    let Ok(len) = sys::working_directory(room) else { return name };
    let end = len + 1 + name.len();
    let Some(place) = room.get_mut(len..end) else { return name };
    place[0] = b'/';
    place[1..].copy_from_slice(name);
    room.get(..end).unwrap_or(name)
}
