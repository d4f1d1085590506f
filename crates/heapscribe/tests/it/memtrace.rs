//! memtrace files through the program.

use std::path::PathBuf;

use assert_cmd::Command;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../heapscribe-trace/tests/fixtures/memtrace").join(name)
}

fn heapscribe(args: &[&str], file: &str) -> std::process::Output {
    Command::cargo_bin("heapscribe").unwrap().args(args).arg(fixture(file)).output().unwrap()
}

#[test]
fn dumps_are_those_of_memtrace_itself() {
    for name in ["n413_fork_1e-1", "n413_long_1e-2", "script_s7_small_direct", "script_s7_small_mux"] {
        let output = heapscribe(&["dump", "--style", "memtrace"], &format!("{name}.ctf"));
        let expected = std::fs::read(fixture(&format!("{name}.dump.txt"))).unwrap();
        assert!(output.status.success() && output.stdout == expected, "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_named_with_its_byte() {
    let output = heapscribe(&["dump", "--style", "memtrace"], "trunc_in_first_packet.ctf");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("trunc_in_first_packet.ctf: the first packet is cut at byte 100"), "{said}");
}

#[test]
fn without_stacks_there_are_none() {
    let output = heapscribe(&["dump", "--style", "memtrace", "--no-stacks"], "n413_long_1e-2.ctf");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\n0000000243 0000000000 alloc 1 len=13 dom=0    0: \n"), "{said}");
}
