//! The head of a session, filled: who the process is.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_nolibc::sys::{self, File, Open};
use heapscribe_wire::head::{self, SharedHead, stage, state};
use heapscribe_wire::limits::NAME_BYTES_MAX;

use super::identity;
use super::scratch::scratch;
use crate::platform::{clock, memory};
use crate::state::Session;

/// When a session was made, by both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Created {
    /// On the monotonic clock.
    pub mono_ns: u64,
    /// On the session's own.
    pub ticks: u64,
}

/// Writes who the process is, and when it was made by both clocks; the magic is last.
pub(super) fn describe(session: &Session, is_child: bool, created: Created) {
    let head = session.head;
    let parent_created = if is_child { identity::parent_created_mono_ns() } else { 0 };
    head.abi.store(heapscribe_wire::ABI_VERSION, Ordering::Relaxed);
    head.pid.store(session.pid, Ordering::Relaxed);
    head.parent_pid.store(sys::parent_pid(), Ordering::Relaxed);
    let is_forked = is_child || identity::was_forked();
    head.stage.store(if is_forked { stage::FORKED } else { stage::EXECED }, Ordering::Relaxed);
    head.clock_kind.store(session.clock.kind as u32, Ordering::Relaxed);
    head.clock_shift.store(clock::shift(session.clock.kind), Ordering::Relaxed);
    head.early_ns.store(u32::try_from(session.clock.early_ns()).unwrap_or(u32::MAX), Ordering::Relaxed);
    head.created_ticks.store(created.ticks, Ordering::Relaxed);
    head.created_mono_ns.store(created.mono_ns, Ordering::Relaxed);
    head.created_real_ns.store(clock::realtime_ns(), Ordering::Relaxed);
    head.parent_created_mono_ns.store(parent_created, Ordering::Relaxed);
    memory::publish_in(&head.own_bytes);
    head.pid_namespace.store(sys::pid_namespace(), Ordering::Relaxed);
    name_program(head);
    head.state.store(state::RECORDING, Ordering::Relaxed);
    head.magic.store(head::MAGIC, Ordering::Release);
    identity::set(session.pid, created.mono_ns);
}

fn name_program(head: &SharedHead) {
    // SAFETY: only the thread that makes the session is here, and it uses the room for nothing else now.
    let room = unsafe { scratch() };
    // Of the process, which has none once its first thread has ended; then of the thread, which is proot's under proot.
    let exes = [c"/proc/self/exe", c"/proc/thread-self/exe"];
    let mut read = exes.iter().filter_map(|exe| sys::readlink(exe, &mut room[..NAME_BYTES_MAX]).ok());
    let exe = read.find(|&length| length > 0).unwrap_or(0);
    // SAFETY: the names' bytes are plain memory of the head that only this thread writes, before others
    // may read it.
    unsafe { core::ptr::copy_nonoverlapping(room.as_ptr(), head.exe.as_ptr().cast_mut(), exe) };
    head.exe_len.store(exe as u32, Ordering::Relaxed);
    let commands = [c"/proc/self/cmdline", c"/proc/thread-self/cmdline"];
    let mut read = commands.iter().filter_map(|command| {
        File::open(command, Open::Read).and_then(|file| file.read_full(&mut room[..NAME_BYTES_MAX])).ok()
    });
    let command = read.find(|&length| length > 0).unwrap_or(0);
    // SAFETY: the names' bytes are plain memory of the head that only this thread writes, before others may
    // read it.
    unsafe { core::ptr::copy_nonoverlapping(room.as_ptr(), head.command.as_ptr().cast_mut(), command) };
    head.command_len.store(command as u32, Ordering::Relaxed);
}
