//! Code is loaded, unloaded and made while the program runs: what was found out about it before is out of date.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;

use crate::unwind::cfi::Extent;
use crate::unwind::{process_rules, registered};
use crate::{modules, program, state};

/// A `dlclose` begins.
pub fn begin_close() {
    modules::begin_close();
}

/// A `dlclose` has ended: what was found out about unloaded modules is forgotten.
pub fn end_close() {
    modules::end_close(program::loader(), state::current());
}

/// The program registers unwinding information for code that it has made. When there is no room for
/// it, that is counted.
///
/// # Safety
/// * `begin` is what the program gave to `__register_frame`: its entries stay until they are deregistered.
pub unsafe fn register_frames(begin: usize, extent: Extent) {
    // SAFETY: the entries at `begin` stay until they are deregistered.
    let has_room = unsafe { registered::register(begin, extent, process_rules::existing()) };
    modules::registered_changed();
    if let (false, Some(session)) = (has_room, state::current()) {
        session.head.count_loss(LossReason::RegisteredFrames);
    }
}

/// The program deregisters such information.
pub fn deregister_frames(begin: usize) {
    registered::deregister(begin, process_rules::existing());
    modules::registered_changed();
}
