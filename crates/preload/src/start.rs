//! What is done when the program starts, before its own constructors: nothing that allocates, and no session, which
//! begins with the first call.
#![allow(unsafe_code)]

use heapscribe_nolibc::imports::has_libc;
use heapscribe_recorder::program_starts;

use crate::operators;

/// Run by the loader, also in a program without libc.
extern "C" fn at_start() {
    if has_libc() {
        operators::hide_unless_recorded();
        program_starts();
    }
}

#[used]
// SAFETY: the section is an array of functions of this type.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;
