//! The C functions, as a C program uses them: compiled with gcc, run, and its files looked at.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::vectors;
use crate::log::{self, text, time, times};
use crate::skip::skip;
use heapscribe_aos_log::header_fields::HeaderField as H;
use heapscribe_aos_log::layout::Layout;

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The program, linked with the library that was built with this test.
fn compile(directory: &Path) -> PathBuf {
    let program = directory.join("log");
    let libraries = std::env::current_exe().expect("this program").parent().expect("its place").to_owned();
    let status = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(source("include"))
        .arg(source("tests/c_api/log.c"))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&libraries)
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .arg("-lheapscribe_aos_log")
        .status();
    assert!(status.expect("gcc: apt-get install gcc").success());
    program
}

/// Runs it and gives what it printed: calls of malloc, messages, dropped messages, parts.
fn run(program: &Path, base: &Path, encoder: u32, layout: &str) -> Vec<u64> {
    let output = Command::new(program).arg(base).arg(encoder.to_string()).arg(layout).output().expect("runs");
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    printed.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn a_c_program_writes_the_bytes_of_the_real_packers() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path());
    // In the layout of 2022 one message more is written, which the other does not have.
    for (name, layout, last) in [("2022", Layout::V2022, 1), ("2024", Layout::V2024, 0)] {
        let base = directory.path().join(name);
        assert_eq!(run(&program, &base, 0, name), [0, 2 * 127 + last, 1, 3 + last]);
        let part = std::fs::read(format!("{}.part0.bfbs", base.display())).expect("the first part");
        let records = log::records(&part);
        assert_eq!(text(records[0], H::Name), "log.c");
        assert_eq!(text(records[0], H::LogEventUuid), "02000000-0000-0000-0000-000000000000");
        assert_eq!(text(records[0], H::LoggerVersion), "7");
        for field in [H::LoggerInstanceUuid, H::LogStartUuid] {
            assert_eq!(text(records[0], field).len(), 36, "{}", field.name());
        }
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the boot");
        assert_eq!(text(records[0], H::LoggerNodeBootUuid), boot.trim());
        assert_eq!(time(records[0], H::RealtimeStartTime), 2);
        assert_eq!(times(records[0], H::OldestRemote), [i64::MAX, i64::MAX]);
        let mut compared = 0;
        for vector in vectors(layout).iter().filter(|v| v.name.contains(" kLogMessage.typical")) {
            if vector.data.len() % 8 == 0 {
                assert_eq!(records[1 + vector.data.len() / 8], vector.bytes, "{}", vector.name);
                compared += 1;
            }
        }
        assert!(compared > 8, "{compared}");
        // The times of another node are in the header before the first record that has them.
        let part = std::fs::read(format!("{}.part1.bfbs", base.display())).expect("the second part");
        let records = log::records(&part);
        assert_eq!(times(records[0], H::OldestRemoteReliable), [i64::MAX, 123_456_780_000_001]);
        let delivery = vectors(layout).into_iter().find(|v| v.name.contains("kLogDeliveryTimeOnly.typical"));
        assert_eq!(records[1], delivery.expect("the vector").bytes);
    }
}

#[test]
fn no_encoder_allocates_in_a_c_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path());
    for encoder in 0..5 {
        let printed = run(&program, &directory.path().join(encoder.to_string()), encoder, "2022");
        assert_eq!(printed[0], 0, "encoder {encoder}");
    }
}

#[test]
fn the_header_is_one_for_cpp_too() {
    let header = source("include/heapscribe_messages.h");
    let arguments = ["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
    match Command::new("g++").args(arguments).arg(header).status() {
        Ok(status) => assert!(status.success()),
        Err(_) => skip("g++ is not there (apt-get install g++)"),
    }
}
