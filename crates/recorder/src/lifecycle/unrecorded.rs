//! Programs that are not recorded: noted in the head of the process that starts them, or of the one that it was forked
//! from, which a child that has lost its rights has still mapped. Where there is no head, a link in the base directory
//! stands for the note: it takes no descriptor to make one.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char};

use heapscribe_nolibc::sys::{self, Errno};
use heapscribe_wire::unrecorded::{LINK_PREFIX, Noted, UnrecordedProgram, UnrecordedReason};

use super::new_program;
use super::refusal::Refusal;
use super::scratch::scratch;
use crate::platform::c_path::CPath;
use crate::platform::session_path::PATH_BYTES_MAX;
use crate::platform::{clock, inherited_head};

/// What was noted, to take it back.
#[derive(Clone, Copy, Debug)]
pub struct UnrecordedNote(Place);

#[derive(Clone, Copy, Debug)]
enum Place {
    Head(Noted),
    Link { pid: u32, mono_ns: u64, reason: UnrecordedReason },
}

/// Notes that process `pid` becomes a program that is not recorded.
///
/// # Safety
/// * The name is null or a C string.
pub unsafe fn note_unrecorded(pid: u32, name: *const c_char, reason: UnrecordedReason) -> UnrecordedNote {
    // SAFETY: a C string.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    note(pid, name, reason)
}

fn note(pid: u32, name: &CStr, reason: UnrecordedReason) -> UnrecordedNote {
    let mono_ns = clock::monotonic_ns();
    if let Some(head) = inherited_head::head() {
        let program = UnrecordedProgram { pid, mono_ns, reason, name: name.to_bytes() };
        return UnrecordedNote(Place::Head(head.unrecorded.note(&program)));
    }
    if let Some(link) = link(pid, mono_ns, reason) {
        // A link leads somewhere.
        let target = if name.is_empty() { c"?" } else { name };
        // On a file system without room a short target still has some, in the inode.
        let _ = sys::symlink(target, link.as_c_str()).or_else(|_| sys::symlink(c"?", link.as_c_str()));
    }
    UnrecordedNote(Place::Link { pid, mono_ns, reason })
}

/// The program was not started after all.
pub fn take_back_unrecorded(note: UnrecordedNote) {
    match note.0 {
        Place::Head(noted) => {
            if let Some(head) = inherited_head::head() {
                head.unrecorded.take_back(noted);
            }
        }
        Place::Link { pid, mono_ns, reason } => {
            if let Some(link) = link(pid, mono_ns, reason) {
                let _ = sys::unlink(link.as_c_str());
            }
        }
    }
}

/// `unrecorded.PID.MONO.REASON` in the base directory.
fn link(pid: u32, mono_ns: u64, reason: UnrecordedReason) -> Option<CPath> {
    let mut path = CPath::of(&[new_program::base()?.to_bytes(), b"/", LINK_PREFIX.as_bytes()])?;
    path.push_number(u64::from(pid))?;
    path.push(b".")?;
    path.push_number(mono_ns)?;
    path.push(b".")?;
    path.push_number(u64::from(reason as u32))?;
    Some(path)
}

/// Notes that this process has no session, which it was to have.
pub(super) fn note_refused(refusal: Refusal) {
    if let Some(reason) = reason_of(refusal) {
        // SAFETY: only the thread that makes the session is here, and it has given up the room.
        note_this_process(reason, unsafe { scratch() });
    }
}

/// Notes that the program of this process, which starts, contains its heap.
pub(super) fn note_own_heap() {
    if new_program::base().is_some() {
        note_this_process(UnrecordedReason::OwnHeap, &mut [0; PATH_BYTES_MAX]);
    }
}

fn note_this_process(reason: UnrecordedReason, room: &mut [u8]) {
    let Some((last, path)) = room.split_last_mut() else { return };
    let read = sys::readlink(c"/proc/self/exe", path).unwrap_or(0);
    *path.get_mut(read).unwrap_or(last) = 0;
    note(sys::pid(), CStr::from_bytes_until_nul(room).unwrap_or_default(), reason);
}

const fn reason_of(refusal: Refusal) -> Option<UnrecordedReason> {
    match refusal {
        // Nobody is to know, or who started it has noted it.
        Refusal::NotAsked | Refusal::Privileged => None,
        Refusal::Heap => Some(UnrecordedReason::Other),
        Refusal::Sanitizer => Some(UnrecordedReason::Sanitizer),
        Refusal::Base(error) | Refusal::Files(error) => Some(match error {
            Errno::EACCES => UnrecordedReason::User,
            Errno::ENOENT | Errno::ENOTDIR => UnrecordedReason::Hidden,
            Errno::EMFILE | Errno::ENFILE => UnrecordedReason::Descriptors,
            Errno::ENOSPC | Errno::EDQUOT | Errno::ENOMEM | Errno::EFBIG => UnrecordedReason::Room,
            // Pages of a file that have no room, see `Advice::PopulateWrite`.
            Errno::EFAULT => UnrecordedReason::Room,
            _ => UnrecordedReason::Other,
        }),
    }
}
