//! What the analysis says of small histories, one for each thing that it could get wrong.

use crate::common::text::{check, check_of};
use heapscribe_analyze::input::Choice;

#[test]
fn a_program_that_leaks_one_block() {
    check(
        "1ms T1 +a malloc 100 main>parse
         2ms T1 +b calloc 50 main>grow
         3ms T1 -b
         10ms T1 +c aligned_alloc 1 main>parse
         12ms T1 -c cfree",
        "calls malloc 1 calloc 1 realloc 0 aligned 1 free 2
         allocated 3 blocks 151 bytes
         freed 2 blocks 51 bytes
         peak 150b/2 at 2000us: main>grow 50b/1, main>parse 100b/1
         leaked 100b/1
         complete true
         main>parse leaked 100b/1
         main>parse sizes 1 100
         main>parse lived 2000 2000 2000
         main>grow leaked 0b/0
         1 leaked 100b/1: main>parse 100b/1
         step 0: max 100 end 100 allocations 1
         step 1: max 150 end 150 allocations 1
         step 2: max 150 end 100 allocations 0
         step 8: max 101 end 101 allocations 1",
    );
}

#[test]
fn of_equal_peaks_the_first_counts() {
    check(
        "1ms T1 +a malloc 10 main>f
         2ms T1 -a
         3ms T1 +b malloc 10 main>g
         4ms T1 -b",
        "peak 10b/1 at 1000us: main>f 10b/1
         leaked 0b/0",
    );
}

#[test]
fn events_of_one_instant_have_no_order() {
    check(
        "1ms T1 +a malloc 100 main>f
         2ms T2 +b malloc 100 main>g
         2ms T1 -a
         3ms T1 +c malloc 1 main>f",
        "peak 101b/2 at 3000us: main>f 1b/1, main>g 100b/1",
    );
}

#[test]
fn a_peak_between_two_threads() {
    check(
        "1us T1 +a malloc 100 main>f
         2us T2 +b malloc 100 main>g
         3us T1 -a
         4us T2 +c malloc 50 main>g
         5us T2 -b
         9000us T1 +d malloc 1 main>f",
        "peak 200b/2 at 2us: main>f 100b/1, main>g 100b/1",
    );
}

#[test]
fn temporary_is_freed_by_its_thread_before_the_next_allocation() {
    check(
        "1ms T1 +a malloc 1 main>plain
         2ms T1 -a
         3ms T1 +b malloc 2 main>later
         4ms T1 +c malloc 4 main>plain
         5ms T1 -b
         6ms T1 -c
         7ms T1 +d malloc 8 main>other
         8ms T2 -d
         9ms T1 +e malloc 16 main>border
         9ms T2 border
         10ms T1 border
         11ms T1 -e
         12ms T1 +f malloc 32 main>lasting
         13ms T1 border
         14ms T1 +g malloc 64 main>lasting
         15ms T1 -f",
        "temporary 21b/3
         main>plain temporary 5b/2
         main>later temporary 0b/0
         main>other temporary 0b/0
         main>border temporary 16b/1
         main>lasting temporary 0b/0
         failed 0 unknown 0 by others 1
         1.2 allocated 0 freed 1 others' 1",
    );
}

#[test]
fn realloc_is_one_call_and_two_blocks() {
    check(
        "1ms T1 +a malloc 100 main>f
         2ms T1 ~a 150 main>grow
         3ms T1 +b malloc 1 main>f
         4ms T1 ~a 150 main>grow
         5ms T1 ~a 20 main>shrink
         6ms T1 ~a 0",
        "calls malloc 2 calloc 0 realloc 4 aligned 0 free 0
         allocated 5 blocks 421 bytes
         freed 4 blocks 420 bytes
         resized 1 1 1
         peak 151b/2 at 3000us: main>f 1b/1, main>grow 150b/1
         leaked 1b/1
         main>f temporary 100b/1
         main>grow temporary 150b/1
         main>shrink temporary 20b/1
         main>grow lived 1000 1500 2000",
    );
}

#[test]
fn failed_calls_are_calls_and_nothing_else() {
    check(
        "1ms T1 !malloc 9000 main>f
         2ms T1 !realloc 9000 main>f
         3ms T1 !posix_memalign 9000 main>f",
        "calls malloc 1 calloc 0 realloc 1 aligned 1 free 0
         allocated 0 blocks 0 bytes
         failed 3 unknown 0 by others 0
         peak 0b/0 at 0us:
         main>f sizes 0 0",
    );
}

#[test]
fn a_forked_child_frees_what_its_parent_had() {
    check(
        "process 10 exited
         1ms T1 +a malloc 100 main>f
         process 11 exited
         2ms T1 ?
         3ms T1 ?b 30 main>f
         4ms T1 -b
         5ms T1 ?",
        "calls malloc 1 calloc 0 realloc 1 aligned 0 free 3
         failed 0 unknown 3 by others 0
         peak 130b/2 at 3000us: main>f 130b/2
         10 peak 100b/1 at 1000us: main>f 100b/1
         11 peak 30b/1 at 3000us: main>f 30b/1
         10 leaked 100b/1: main>f 100b/1
         11 leaked 0b/0:
         leaked 100b/1",
    );
}

#[test]
fn a_recording_that_was_stopped_is_not_complete() {
    check(
        "process 10 abandoned
         1ms T1 +a malloc 100 main>f
         process 11 exited
         1ms T1 +a malloc 1 main>f",
        "complete false
         leaked 101b/2",
    );
    check("process 10 execed\n 1ms T1 +a malloc 100 main>f", "complete true");
    check("process 10 unknown\n 1ms T1 +a malloc 100 main>f", "complete false");
}

#[test]
fn three_plugins_at_one_address_keep_their_stacks() {
    check(
        "1ms T1 map /lib/one
         1ms T1 +a malloc 1 main>/lib/one:init
         2ms T1 unmap
         2ms T1 map /lib/two
         2ms T1 +b malloc 2 main>/lib/two:init
         3ms T1 unmap
         3ms T1 map /lib/three
         3ms T1 +c malloc 4 main>/lib/three:init
         4ms T1 -a",
        "main>/lib/one:init leaked 0b/0
         main>/lib/two:init leaked 2b/1
         main>/lib/three:init leaked 4b/1
         unresolved 0 unknown 0",
    );
}

#[test]
fn code_that_no_file_was_mapped_for_is_unresolved() {
    check(
        "1ms T1 +a malloc 1 main>/lib/gone:init
         2ms T1 +b malloc 2 ?
         3ms T1 +c malloc 4 !>f",
        "unresolved 1 unknown 1
         ? allocated 2b/1
         !>f allocated 4b/1",
    );
}

#[test]
fn one_program_at_two_addresses_is_one() {
    check(
        "process 10 exited
         1ms T1 +a malloc 100 main>f
         process 11 exited
         2ms T1 +a malloc 20 main>g
         3ms T1 +b malloc 3 main>f
         4ms T1 -b",
        "main>f allocated 103b/2
         main>g allocated 20b/1
         peak 123b/3 at 3000us: main>f 103b/2, main>g 20b/1
         11 peak 23b/2 at 3000us: main>f 3b/1, main>g 20b/1
         10 from 999us to 1000us",
    );
}

#[test]
fn a_free_whose_clock_runs_behind() {
    check(
        "5ms T1 +a malloc 100 main>f
         4ms T2 -a
         6ms T2 +b malloc 30 main>g",
        "peak 30b/1 at 6000us: main>g 30b/1
         leaked 30b/1
         step 0: max 0 end 0 allocations 0
         main>f lived 0 0 0",
    );
}

#[test]
fn missing_events_are_said() {
    check(
        "1ms T1 +a malloc 100 main>f
         2ms T1 lost 3 0",
        "lost 3 dropped [(0, 3)]
         problem 3 events are missing: what is live or leaked is not known exactly",
    );
}

#[test]
fn nothing_at_all() {
    check("", "peak 0b/0 at 0us:\n leaked 0b/0\n complete true");
}

#[test]
fn what_a_process_holds_ends_with_it() {
    check(
        "process 10 exited 4ms
         1ms T1 +a malloc 100 main>f
         process 11 execed 8ms
         5ms T1 +b malloc 90 main>f
         6ms T1 +c malloc 20 main>g
         process 12 abandoned
         2ms T1 +d malloc 5 main>h",
        "peak 115b/3 at 6000us: main>f 90b/1, main>g 20b/1, main>h 5b/1
         10 peak 100b/1 at 1000us: main>f 100b/1
         leaked 215b/4
         10 leaked 100b/1: main>f 100b/1
         main>f leaked 190b/2
         step 4: max 105 end 5 allocations 0
         step 9: max 115 end 5 allocations 0",
    );
}

/// Two threads that free and resize each other's blocks.
const GIVEN: &str = "1ms T1 named audio
     2ms T1 +a malloc 100 main>f
     2ms T2 +b malloc 40 main>g
     3ms T2 ~a 150 main>g
     4ms T1 -b
     4ms T2 +c malloc 7 main>g
     5ms T1 ~c 30 main>f
     6ms T2 -a";

#[test]
fn a_block_is_its_allocating_threads() {
    let threads = |name: &str| Choice { threads: vec![name.to_owned()], ..Choice::default() };
    check_of(
        GIVEN,
        &threads("aud*"),
        "allocated 2 blocks 130 bytes
         freed 1 blocks 100 bytes
         peak 100b/1 at 2000us: main>f 100b/1
         leaked 30b/1
         main>f leaked 30b/1",
    );
    check_of(GIVEN, &threads("nobody"), "allocated 0 blocks 0 bytes");
}

#[test]
fn processes_are_chosen_by_pid() {
    let history = "process 10 exited
         1ms T1 +a malloc 100 main>f
         process 11 exited
         2ms T1 +b malloc 30 main>f";
    let choice = Choice { pids: vec![11], ..Choice::default() };
    check_of(history, &choice, "peak 30b/1 at 2000us: main>f 30b/1\n11 leaked 30b/1: main>f 30b/1");
}
