//! The example of a program that has the recorder in itself, and what else is built like it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program, of what these tests were built of.
pub fn build() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_heapscribe")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.env("CARGO_TARGET_DIR", own.parent().unwrap());
    if own.ends_with("release") {
        cargo.arg("build").arg("--release");
    } else {
        cargo.arg("build");
    }
    run(cargo);
    own.join("static-program")
}

/// Builds the program linked statically, or one of its examples, in a directory of its own: other flags make other
/// artifacts. It has lines, by which functions that were made part of others have names.
pub fn build_static(example: Option<&str>) -> PathBuf {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static-program");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--target", TARGET]).args(example.iter().flat_map(|name| ["--example", name]));
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static").env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only").env("CARGO_TARGET_DIR", &dir);
    run(cargo);
    let built = dir.join(TARGET).join("debug");
    example.map_or_else(|| built.join("static-program"), |name| built.join("examples").join(name))
}

fn run(mut cargo: Command) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    cargo.args(["--quiet", "--package", "static-program"]).current_dir(root);
    assert!(cargo.status().unwrap().success(), "the example was not built");
}
