//! The environment of a program that is recorded.

use std::ffi::OsString;

use heapscribe_session::Base;
use heapscribe_wire::heap::HEAPS_VARIABLE;
use heapscribe_wire::plan::{SESSION_VARIABLE, TRACK_MMAP_VARIABLE};

use crate::cli::RecordArgs;

/// What the environment tells the recorder. A recording in a recording may have variables from the outer one.
pub(super) fn variables(args: &RecordArgs, base: &Base) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![(SESSION_VARIABLE, base.path().into())];
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if args.track_mmap || is_set(TRACK_MMAP_VARIABLE) {
        variables.push((TRACK_MMAP_VARIABLE, u8::from(args.track_mmap).to_string().into()));
    }
    // Heaps take the session's directory, unless they are told of another.
    if is_set(HEAPS_VARIABLE) {
        variables.push((HEAPS_VARIABLE, base.path().into()));
    }
    variables
}
