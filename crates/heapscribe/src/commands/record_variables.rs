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

/// What runtimes are told, so that more of them is seen. Made once: it tries whether the working directory takes files.
pub(super) struct Runtimes {
    compilers: Option<CompilerSwitches>,
    objects: Vec<ObjectSwitch>,
}

impl Runtimes {
    pub(super) fn of(args: &RecordArgs) -> Runtimes {
        let objects =
            [(args.python_allocators, ObjectSwitch::PYTHON), (args.php_allocators, ObjectSwitch::PHP)];
        let asked = objects.into_iter().filter_map(|(is_asked, switch)| is_asked.then_some(switch));
        let compilers = args.jit.then(|| CompilerSwitches::of(&args.command));
        Runtimes { compilers, objects: asked.collect() }
    }

    /// What the environment tells them.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let compilers = self.compilers.iter().flat_map(CompilerSwitches::variables);
        compilers.chain(self.objects.iter().map(|switch| switch.variable()))
    }

    /// What is to be started, with the arguments that they get.
    pub(super) fn command<'a>(&self, command: &'a [OsString]) -> Cow<'a, [OsString]> {
        match &self.compilers {
            Some(switches) => switches.command(command).into(),
            None => command.into(),
        }
    }

    /// What was set, in words.
    pub(super) fn in_words(&self) -> impl Iterator<Item = String> {
        let compilers = self.compilers.iter().map(CompilerSwitches::in_words);
        compilers.chain(self.objects.iter().map(|switch| switch.in_words()))
    }
}
