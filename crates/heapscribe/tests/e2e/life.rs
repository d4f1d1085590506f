//! Whatever a program does with its life - signals, jumps, forks, daemons, limits, threads without room -
//! it lives it recorded as it does alone, and its calls are in the trace.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Counted, Place, Report, Run, has, is_root_or_skip, own_calls, skip, until};

/// How many of the calls that the program counted must be in the trace, or be counted as dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Calls {
    /// All of them, each under its kind.
    Each,
    /// All of them, and perhaps the one of another thread that exec ended between the call and its count.
    EachOrOneMore,
    /// All: in the trace, or counted as lost events; but these, which are in processes without a session.
    OrDropped { missing: u64 },
    /// All but these, which are in processes that can not have a session.
    Missing(u64),
    /// At least these: a jump, or a fork inside a call, leaves calls that nobody counts.
    AtLeast(u64),
    /// All in the trace but a few for each of 1000 jumps; a call that was left was not counted.
    Jumped,
    /// None: the session is refused, and that is told.
    Refused,
    /// The program does not count.
    Uncounted,
}

/// Calls that libc makes for itself in a test program, at most.
const LIBC: u64 = 40;

struct Case {
    program: &'static str,
    case: &'static str,
    calls: Calls,
    /// Process images in the trace.
    images: usize,
    /// What may be dropped or cut.
    drops: &'static [&'static str],
    /// A heap that can be called in signal handlers lies behind the recorder.
    own_heap: bool,
    /// Options of `record`.
    options: &'static [&'static str],
}

impl Case {
    const fn new(program: &'static str, case: &'static str) -> Case {
        Case { program, case, calls: Calls::Each, images: 1, drops: &[], own_heap: false, options: &[] }
    }

    const fn calls(self, calls: Calls) -> Case {
        Case { calls, ..self }
    }

    const fn images(self, images: usize) -> Case {
        Case { images, ..self }
    }

    const fn drops(self, drops: &'static [&'static str]) -> Case {
        Case { drops, ..self }
    }

    const fn options(self, options: &'static [&'static str]) -> Case {
        Case { options, ..self }
    }

    const fn own_heap(self) -> Case {
        Case { own_heap: true, ..self }
    }

    fn check(self) {
        let place = Place::new();
        let program = place.compile(self.program);
        let heap = self.own_heap.then(|| place.library("asheap.c", "asheap.so", &[]));
        let run = |name: &str| {
            let (counts, file) = (place.path(&format!("{name}.counts")), place.path(&format!("{name}.own")));
            let run =
                Run::new(&place, &program).args([self.case]).env("COUNTS", counts).env("OWN_FILE", file);
            let run = run.env("SHUT_IN", shut_in(&place));
            if let Some(heap) = &heap { run.env("LD_PRELOAD", heap) } else { run }
        };
        let plain = run("plain").plain();
        let recorded = run("recorded").options(self.options).recorded();
        assert_eq!((plain.code, &plain.stdout), (recorded.code, &recorded.stdout), "{}", recorded.stderr);
        let own = |name: &str| fs::read(place.path(&format!("{name}.own"))).ok();
        assert_eq!(own("plain"), own("recorded"), "the program's own file");
        self.check_trace(&run("recorded").trace(), &program, &place, &recorded.stderr);
    }

    fn check_trace(&self, trace: &Path, program: &Path, place: &Place, said: &str) {
        let report = Report::of(trace);
        let counted = Counted::read(&place.path("recorded.counts")).calls;
        report.assert_whole(self.drops);
        let all = report.calls().all() + report.dropped("total");
        match self.calls {
            Calls::Each => assert_eq!(own_calls(trace, program), counted),
            Calls::EachOrOneMore => {
                let own = own_calls(trace, program).all();
                assert!((counted.all()..=counted.all() + 1).contains(&own), "{own} of {counted:?}");
            }
            Calls::OrDropped { missing } => {
                let due = counted.all() - missing;
                assert!((due..=due + LIBC).contains(&all), "{all} of {due}, {:?}", report.reasons());
            }
            Calls::Missing(n) => assert_eq!(own_calls(trace, program).all(), counted.all() - n),
            Calls::AtLeast(n) => assert!(all >= n, "{all} of {counted:?}"),
            Calls::Jumped => {
                assert!(all.abs_diff(counted.all()) <= 1000 + LIBC, "{all} of {counted:?}");
                assert!(report.dropped("total") <= 3000, "{:?}", report.reasons());
            }
            Calls::Refused => {
                assert!(said.contains("not recorded: "), "{said}");
                return assert_eq!(report.processes().len(), 0);
            }
            Calls::Uncounted => assert!(report.calls().all() > 0),
        }
        assert_eq!(report.processes().len(), self.images, "process images");
        report.assert_linked();
    }
}

/// A directory that a program shuts itself in.
fn shut_in(place: &Place) -> std::path::PathBuf {
    let dir = place.path("shut_in");
    fs::create_dir_all(&dir).unwrap();
    dir
}

macro_rules! cases {
    ($($(#[$attribute:meta])* $name:ident: $case:expr;)*) => { $(
        $(#[$attribute])*
        #[test]
        fn $name() { $case.check(); }
    )* };
}

const SIGNALS: &str = "life_signals.c";
const THREADS: &str = "life_threads.c";
const FORK: &str = "life_fork.c";
const LIMITS: &str = "life_limits.c";

cases! {
    allocates_in_guarded_handler: Case::new(SIGNALS, "guarded");
    /// The handler comes inside the recorder too, where its calls are counted as dropped.
    allocates_in_any_handler: Case::new(SIGNALS, "unguarded").own_heap().calls(Calls::OrDropped { missing: 0 })
        .drops(&["reentered", "no_session", "stack_no_info", "unknown_block"]);
    /// A hook that was left for good by a jump must not count as being inside for ever: from the next call
    /// on the thread is recorded again. Of 1000 jumps' calls at most some are lost each time.
    jumps_out_of_hooks: Case::new(SIGNALS, "jump_out").own_heap().calls(Calls::Jumped)
        .drops(&["reentered", "stack_no_info", "unknown_block"]);
    jumps_from_alternate_stack: Case::new(SIGNALS, "jump_from_altstack").own_heap().calls(Calls::Jumped)
        .drops(&["reentered", "stack_no_info", "unknown_block"]);
    /// httrack #985: the handler has interrupted the recorder, and the child allocates in it.
    forks_in_handler_by_clone: Case::new(SIGNALS, "fork_raw").own_heap().images(51).drops(&["stack_no_info"]);
    forks_in_handler: Case::new(SIGNALS, "fork_libc").own_heap().images(101).drops(&["stack_no_info"]);
    /// The child ends the interrupted call in memory of its own; those calls are in no trace.
    forks_in_handler_and_returns: Case::new(SIGNALS, "fork_returns").own_heap().images(61)
        .calls(Calls::AtLeast(60 * 2000)).drops(&["unknown_block"]);
    handler_on_small_stack: Case::new(SIGNALS, "small_altstack");

    destructors_of_threads: Case::new(THREADS, "thread_exit");
    five_hundred_threads: Case::new(THREADS, "waves");
    /// Each has a chunk, and no event is lost.
    five_thousand_threads_at_a_time: Case::new(THREADS, "crowd");
    smallest_stacks: Case::new(THREADS, "small_stacks");
    leaves_with_threads_at_work: Case::new(THREADS, "detached_at_exit").calls(Calls::AtLeast(33));
    recursion: Case::new(THREADS, "recursion");
    /// Deeper than what is kept of a stack: told, and the calls are there.
    recursion_beyond_limit: Case::new(THREADS, "recursion_too_deep").drops(&["stack_depth"]);
    fibers: Case::new(THREADS, "fibers").drops(&["stack_no_info"]);
    after_exit: Case::new(THREADS, "after_exit");
    /// agnocast #1211, LeakTracer #14
    inside_dlsym: Case::new(THREADS, "inside_dlsym");
    aborts: Case::new(THREADS, "aborts");
    leaves_at_once: Case::new(THREADS, "leaves_at_once");
    first_thread_ends: Case::new(THREADS, "main_ends");

    /// heaphook and heaptrack hang: the child waits for a lock that another thread held.
    fork_storm: Case::new(FORK, "storm").images(201);
    forks_by_clone: Case::new(FORK, "raw_clone").images(101);
    forks_without_handlers: Case::new(FORK, "bare_fork").images(101);
    grandchildren: Case::new(FORK, "grandchildren").images(6);
    vfork_and_exec: Case::new(FORK, "by_vfork").images(21);
    /// The first call of all is made by a vfork child, in its parent's memory.
    vfork_child_is_first: Case::new(FORK, "vfork_allocates").calls(Calls::Missing(15)).drops(&["no_session"]);
    posix_spawn: Case::new(FORK, "by_spawn").images(21);
    exec_chain: Case::new(FORK, "exec_chain").images(5);
    exec_from_thread: Case::new(FORK, "exec_from_thread").calls(Calls::EachOrOneMore).images(2);
    /// heaphook writes its log into the program's file, heaptrack closes it.
    closes_all_descriptors: Case::new(FORK, "closes_all");
    closes_standard_descriptors: Case::new(FORK, "closes_even_standard").images(2);

    little_address_space: Case::new(LIMITS, "space").images(2).drops(&["live_table", "unknown_block"]);
    /// The child can not map a session.
    no_address_space_later: Case::new(LIMITS, "space_later").calls(Calls::Missing(30));
    files_of_a_megabyte: Case::new(LIMITS, "files_1m").images(2).drops(&["live_table", "unknown_block"]);
    files_of_a_page: Case::new(LIMITS, "files_4k").calls(Calls::Refused);
    /// Not one system call for each call of a process that has no session for good.
    files_of_a_page_and_no_masks: Case::new(LIMITS, "files_4k_masks").calls(Calls::Refused);
    files_of_a_page_later: Case::new(LIMITS, "files_later").calls(Calls::Missing(3000));
    few_descriptors: Case::new(LIMITS, "descriptors_16").images(2);
    no_descriptor_for_session: Case::new(LIMITS, "descriptors_4").calls(Calls::Refused);
    no_descriptors_later: Case::new(LIMITS, "descriptors_later").calls(Calls::Missing(3000));
    /// The heap itself must be found without opening anything.
    no_descriptors_at_all: Case::new(LIMITS, "descriptors_before").calls(Calls::Refused);
    small_main_stack: Case::new(LIMITS, "stack_64k").images(2);
    /// Nothing maps more of the log, and such a short log waits for a slow drainer within its budget only.
    filtered_system_calls: Case::new(LIMITS, "filtered").calls(Calls::OrDropped { missing: 300 })
        .drops(&["forbidden", "live_table", "unknown_block"]);
    killed_for_system_calls: Case::new(LIMITS, "killed_by_prctl").calls(Calls::OrDropped { missing: 0 })
        .drops(WITHOUT_SYSTEM_CALLS);
    killed_for_system_calls_since_seccomp: Case::new(LIMITS, "killed_by_syscall")
        .calls(Calls::OrDropped { missing: 0 }).drops(WITHOUT_SYSTEM_CALLS);
    killed_for_system_calls_when_sampled: Case::new(LIMITS, "killed_by_prctl").options(&["--sample", "1KiB"])
        .calls(Calls::Uncounted).drops(WITHOUT_SYSTEM_CALLS);
    strict_sandbox: Case::new(LIMITS, "strict").calls(Calls::OrDropped { missing: 0 }).drops(&["forbidden"]);
    strict_sandbox_with_latency: Case::new(LIMITS, "strict").options(&["--latency"])
        .calls(Calls::OrDropped { missing: 0 }).drops(&["forbidden"]);
    strict_sandbox_when_sampled: Case::new(LIMITS, "strict").options(&["--sample", "1KiB"])
        .calls(Calls::Uncounted).drops(&["forbidden"]);
    without_the_clock: Case::new(LIMITS, "no_clock").calls(Calls::OrDropped { missing: 0 }).drops(&["forbidden"]);
    filter_that_is_refused: Case::new(LIMITS, "filter_that_fails");
}

/// What is lost when nothing more can be mapped.
const WITHOUT_SYSTEM_CALLS: &[&str] = &["forbidden", "live_table", "unknown_block", "stack_table"];

/// All that is mapped is locked, but not the holes of the session's files.
#[test]
fn locks_its_memory() {
    if is_root_or_skip("mlockall") {
        Case::new(LIMITS, "locked").images(2).check();
    }
}

/// The child made after it has no session: the session directory is out of its reach.
#[test]
fn shut_in_by_chroot() {
    if is_root_or_skip("chroot") {
        Case::new(LIMITS, "shut_in").calls(Calls::Missing(3000)).check();
    }
}

#[test]
fn drops_its_rights() {
    if is_root_or_skip("setuid") {
        Case::new(LIMITS, "drops_rights").calls(Calls::Missing(3000)).check();
    }
}

/// Its own files at the numbers they have alone, and all that the daemon does is in the trace although
/// the process that `record` started has long ended.
#[test]
fn daemon() {
    let place = Place::new();
    let program = place.compile(FORK);
    let run = |name: &str| {
        let (counts, file) = (place.path(&format!("{name}.counts")), place.path(&format!("{name}.own")));
        Run::new(&place, &program).args(["daemon_style"]).env("COUNTS", counts).env("OWN_FILE", file)
    };
    assert_eq!((run("plain").plain().code, run("recorded").recorded().code), (0, 0));
    for name in ["plain", "recorded"] {
        until("the daemon's end", || Counted::read(&place.path(&format!("{name}.counts"))).is_done);
    }
    assert_eq!(fs::read(place.path("plain.own")).unwrap(), fs::read(place.path("recorded.own")).unwrap());
    let counted = Counted::read(&place.path("recorded.counts")).calls;
    assert_eq!(own_calls(&run("recorded").trace(), &program), counted);
}

/// The parent in `daemon` of libc ends without a word to anybody but the shell that waits for it.
#[test]
fn the_parent_of_a_daemon_is_not_called_killed() {
    let place = Place::new();
    let program = place.compile(FORK);
    let script = format!("{0} libc_daemon; {0} libc_daemon; exit 0", program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]);
    let ended = run.env("COUNTS", place.path("counts")).recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stderr.contains("heapscribe: killed: "), "{}", ended.stderr);
}

/// A child that nobody can know of but by its parent's session: the parent has ended, the child's environment is
/// written over, and it has called nothing yet.
#[test]
fn daemon_that_writes_over_its_environment() {
    let place = Place::new();
    let (program, gate) = (place.compile(FORK), place.path("gate"));
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let run = Run::new(&place, &program).args(["titled_daemon"]).env("COUNTS", place.path("counts"));
    let run = run.env("GATE", &gate);
    let mut started = run.start();
    until("the end of the daemon's parent", || {
        started.said().1.contains("still recording") || started.child.try_wait().unwrap().is_some()
    });
    fs::write(&gate, "x").unwrap(); // waits for the daemon to read
    until("the daemon's end", || Counted::read(&place.path("counts")).is_done);
    assert_eq!(started.wait().code, 0);
    assert_eq!(own_calls(&run.trace(), &program), Counted::read(&place.path("counts")).calls);
}

/// Calls of constructors and destructors of a library, before and after all that the program does.
#[test]
fn before_constructors_and_after_exit() {
    let place = Place::new();
    let library = place.library("life_start.c", "liblife_start.so", &[]);
    let program = place.compile_with(
        "cc",
        "life_start_main.c",
        "life_start_main",
        &["-Wl,--no-as-needed", library.to_str().unwrap()],
    );
    let run = |name: &str| Run::new(&place, &program).env("COUNTS", place.path(name));
    let (plain, recorded) = (run("plain").plain(), run("recorded").recorded());
    assert_eq!((plain.code, plain.stdout), (recorded.code, recorded.stdout));
    Report::of(&run("recorded").trace()).assert_whole(&[]);
    let counted = Counted::read(&place.path("recorded")).calls;
    assert_eq!((counted.malloc, counted.free), (168, 168));
    assert_eq!(own_calls(&run("recorded").trace(), &library), counted);
}

#[test]
fn cxx_exceptions_and_destructors() {
    Case::new("life_cxx.cpp", "-").calls(Calls::Uncounted).check();
}

/// A musl program that a recorded shell starts must start.
#[test]
fn musl_child_of_a_shell() {
    if !has("musl-gcc") {
        return skip("musl-gcc is not there");
    }
    let place = Place::new();
    let program = place.compile_with("musl-gcc", THREADS, "life_musl", &[]);
    let script = format!("{} waves; {} after_exit", program.display(), program.display());
    let run = Run::new(&place, "/bin/sh").args(["-c", &script]).env("COUNTS", place.path("counts"));
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, plain.stdout), (recorded.code, recorded.stdout), "{}", recorded.stderr);
    let exes: Vec<_> = Report::of(&run.trace()).processes().iter().map(|p| p["exe"].to_string()).collect();
    assert_eq!(exes.iter().filter(|exe| exe.contains("life_musl")).count(), 2, "{exes:?}");
}
