//! Whether a recording is wanted, and how: the base directory of all its sessions, and the plan in it.
#![allow(unsafe_code)]

use core::ffi::CStr;

use heapscribe_nolibc::environment;
use heapscribe_nolibc::sys::{self, Errno, File, Open};
use heapscribe_wire::object_allocator::{self, ObjectAllocator};
use heapscribe_wire::plan::{PLAN_BYTES, Plan};
use heapscribe_wire::real_time_rules::RULES_BYTES_MAX;

use super::refusal::Refusal;
use super::scratch::scratch;
use crate::interpreter::met;
use crate::platform::{memory, session_path};

/// Takes the base directory from the environment.
pub(super) fn find_base() -> Result<(), Refusal> {
    if environment::is_privileged() {
        return Err(Refusal::Privileged);
    }
    const NAME: &CStr = c"HEAPSCRIBE_SESSION";
    // SAFETY: only the thread that makes the session is here, and it uses the room for nothing else now.
    let room = unsafe { scratch() };
    let known = environment::known(NAME);
    for (language, name) in object_allocator::VARIABLES {
        // Where libc has started it has all of the environment.
        let value = match known {
            Some(_) => environment::known(name),
            None => environment::initial(name, room),
        };
        met::note_objects(language, ObjectAllocator::of(language, value));
    }
    let value = known.or_else(|| environment::initial(NAME, room));
    if value.is_some_and(session_path::set_base) { Ok(()) } else { Err(Refusal::NotAsked) }
}

pub(super) fn open_base() -> Result<File, Refusal> {
    let base =
        File::open(session_path::base().ok_or(Refusal::NotAsked)?, Open::Directory).map_err(Refusal::Base)?;
    let stat = base.stat().map_err(Refusal::Base)?;
    let is_private = stat.mode & 0o077 == 0;
    if stat.uid == sys::euid() && is_private { Ok(base) } else { Err(Refusal::Base(Errno::EACCES)) }
}

pub(super) fn read_plan(base: &File) -> Result<Plan, Refusal> {
    let mut bytes = [0; PLAN_BYTES];
    let file = base.open_at(c"plan", Open::Read).map_err(Refusal::Base)?;
    let bad = Refusal::Base(Errno::EINVAL);
    match file.read_full(&mut bytes) {
        Ok(PLAN_BYTES) => Plan::parse(&bytes).ok_or(bad),
        _ => Err(bad),
    }
}

/// The rules behind the plan, when a call that breaks one is to stop the process.
pub(super) fn read_rules(base: &File, plan: &Plan) -> sys::Result<&'static [u8]> {
    let wanted = (plan.rules_bytes as usize).min(RULES_BYTES_MAX);
    if !plan.stops || wanted == 0 {
        return Ok(&[]);
    }
    // SAFETY: only the thread that makes the session is here, and it uses the room for nothing else now.
    let room = unsafe { scratch() };
    let read = base.open_at(c"plan", Open::Read)?.read_full(&mut room[..PLAN_BYTES + wanted])?;
    let rules = room.get(PLAN_BYTES..read).unwrap_or_default();
    // SAFETY: only the thread that makes the session is in the recorder now.
    let place = unsafe { memory::alloc_alone(wanted) }.ok_or(Errno::ENOMEM)?.cast::<u8>();
    // SAFETY: the place is new, has `wanted` bytes, at most which were read, and stays.
    unsafe {
        core::ptr::copy_nonoverlapping(rules.as_ptr(), place.as_ptr(), rules.len());
        Ok(core::slice::from_raw_parts(place.as_ptr(), rules.len()))
    }
}
