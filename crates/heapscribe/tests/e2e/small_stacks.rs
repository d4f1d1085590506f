//! Stacks that are hardly large enough: the first call of a program comes from a coroutine of one page, from a thread
//! with the smallest stack that there is, from a signal handler with a page. Beyond what libc's own heap takes of
//! it, ours and the recorder take what docs/reference/limits.md says.

use std::process::Command;

use crate::support::{Place, Run, heapscribe};

/// What a call of the heap takes of its caller's stack at most: under a heap, and when it is recorded the first time from
/// a place, or again.
const HEAP_BYTES: usize = 1024;
const NEW_STACK_BYTES: usize = 3584;

/// Runs a mode as it is, recorded, and under heaps; what the modes have to say.
fn each(mode: &str, check: impl Fn(&[&str], &str)) {
    let place = Place::new();
    let program = place.compile_with("cc", "small_stacks.c", "small_stacks", &["-Wl,-z,now"]);
    let run = Run::new(&place, program).args([mode]);
    let plain = run.plain();
    assert_eq!((plain.code, &plain.stderr[..]), (0, ""), "{mode}");
    for options in [&[][..], &["--sample", "4KiB"], &["--latency"], &["--heap", "tlsf"]] {
        let ended = run.clone().options(["-q"]).options(options).recorded();
        assert_eq!((ended.code, &ended.stderr[..]), (0, ""), "{mode} recorded {options:?}");
        check(options, &ended.stdout);
    }
    for options in [&[][..], &["--cache", "0"], &["--lock"], &["--prefault"], &["--grow", "1MiB"]] {
        let ended = run.under_with("tlsf", options);
        assert_eq!((ended.code, &ended.stderr[..]), (0, ""), "{mode} under {options:?}");
        check(&[&["run"], options].concat(), &ended.stdout);
    }
}

fn ends_well(options: &[&str], stdout: &str) {
    assert_eq!(stdout, "ok\n", "{options:?}");
}

#[test]
fn a_coroutine_of_one_page() {
    each("context", ends_well);
}

#[test]
fn a_thread_with_the_smallest_stack() {
    each("thread", ends_well);
}

#[test]
fn a_signal_stack_with_a_page_for_the_handler() {
    each("signal", ends_well);
}

#[test]
fn what_calls_take_of_their_callers_stack() {
    each("depth", |options, stdout| {
        let most = if options.first() == Some(&"run") { HEAP_BYTES } else { NEW_STACK_BYTES };
        let calls = stdout.lines().filter_map(|line| line.rsplit_once(' '));
        let calls: Vec<_> = calls.map(|(call, bytes)| (call, bytes.parse::<usize>().unwrap())).collect();
        assert!(calls.len() > 15, "{stdout}");
        let above: Vec<_> = calls.into_iter().filter(|(_, bytes)| *bytes > most).collect();
        assert!(above.is_empty(), "{options:?}, more than {most}: {above:?}");
    });
}

/// `record` and `report` overflowed a main thread's stack of 128 KiB before they had read their options.
#[test]
fn heapscribe_itself() {
    let place = Place::new();
    let trace = place.path("run.hst");
    let shown = trace.to_str().unwrap();
    for words in [&["record", "-q", "-o", shown, "--", "/bin/true"][..], &["report", shown], &["--help"]] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -s 128; exec \"$@\"", "sh"]).arg(heapscribe().get_program()).args(words);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &said[..]), (Some(0), ""), "{words:?}");
    }
}
