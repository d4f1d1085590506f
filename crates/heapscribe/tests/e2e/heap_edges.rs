//! What programs do at the edge of what they may, or beyond it, and do without harm on their own: it stays without
//! harm under the heaps and the log.

use crate::support::libraries::{HEAPTRACK, Libraries, TLSF};
use crate::support::{Place, Run, heaps};

fn check(mode: &str, libraries: &[&str], variables: &[(&str, &str)]) {
    let all = Libraries::new();
    let program = all.place.compile("heap_edges.c");
    for library in libraries {
        let mut command = all.command(&program, &[library]);
        command.arg(mode).envs(variables.iter().copied());
        let ended = all.run(command);
        assert!(ended.code == 0 && ended.stdout.ends_with("ok\n"), "{mode} under {library}: {ended:?}");
    }
}

/// The child has its parent's number in its parent's words: the kernel does not let it wake who waits for the lock.
#[test]
fn children_of_vfork_allocate() {
    check("vforks", &[TLSF], &[]);
    check("vforks", &[TLSF], &[("HEAPSCRIBE_POOL_CACHE", "65536")]);
}

/// Pools of a page each at the end, 31,128 of them, in which every free looked for its block.
#[test]
fn all_addresses_are_used_up() {
    check("addresses", &[TLSF], &[]);
}

/// A pool of 64 MiB was more than was left under a limit, and what the program maps itself was refused.
#[test]
fn addresses_are_limited() {
    let place = Place::new();
    let program = place.compile("heap_edges.c");
    let line = format!("ulimit -v 100000 && exec {} limited", program.display());
    let run = Run::new(&place, "sh").args(["-c", &line]);
    for ended in [run.plain(), run.under("tlsf")] {
        assert_eq!((ended.code, &ended.stdout[..], &ended.stderr[..]), (0, "ok\n", ""));
    }
}

/// What is said where it can not be said is no end of the program.
#[test]
fn standard_error_takes_nothing() {
    check("silent", &[HEAPTRACK], &[]);
    check("silent", &[TLSF], &[("HEAPSCRIBE_POOL", "none")]);
}

#[test]
fn glibcs_own_names_are_the_heaps_too() {
    check("names", &[HEAPTRACK, TLSF], &[]);
}

/// At the end the heap is asked how it does, which waited in the example in C for the call that was interrupted.
#[test]
fn a_handler_ends_the_program() {
    let place = Place::new();
    let run = Run::new(&place, place.compile("heap_edges.c")).args(["exits"]);
    for heap in [heaps::in_c(&place), heaps::for_heaphook(&place), "tlsf".into()] {
        let under = run.under(&heap);
        assert_eq!((under.code, &under.stdout[..]), (0, "ok\n"), "{}: {under:?}", heap.display());
    }
}
