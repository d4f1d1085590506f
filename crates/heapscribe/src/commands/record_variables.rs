//! The environment of a program that is recorded, and what is added to its arguments.

use std::borrow::Cow;
use std::ffi::OsString;

use heapscribe_session::Base;
use heapscribe_wire::heap::HEAPS_VARIABLE;
use heapscribe_wire::plan::{SESSION_VARIABLE, TRACK_MMAP_VARIABLE};

use crate::cli::RecordArgs;
use crate::launch::runtime_switches::{CompilerSwitches, ObjectSwitch};

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

/// What the environment tells runtimes, so that more of them is seen.
pub(super) fn of_runtimes(args: &RecordArgs) -> Vec<(&'static str, OsString)> {
    let compilers = compiler_switches(args).map_or_else(Vec::new, |switches| switches.variables());
    compilers.into_iter().chain(object_switches(args).map(ObjectSwitch::variable)).collect()
}

/// What is to be started, with the arguments that runtimes get.
pub(super) fn command(args: &RecordArgs) -> Cow<'_, [OsString]> {
    match compiler_switches(args) {
        Some(switches) => switches.command(&args.command).into(),
        None => args.command.as_slice().into(),
    }
}

/// What compilers are told, if they are to be.
pub(super) fn compiler_switches(args: &RecordArgs) -> Option<CompilerSwitches> {
    args.jit.then(|| CompilerSwitches::of(&args.command))
}

/// The interpreters that are to ask malloc for each object.
pub(super) fn object_switches(args: &RecordArgs) -> impl Iterator<Item = ObjectSwitch> {
    let all = [(args.python_allocators, ObjectSwitch::PYTHON), (args.php_allocators, ObjectSwitch::PHP)];
    all.into_iter().filter_map(|(is_asked, switch)| is_asked.then_some(switch))
}
