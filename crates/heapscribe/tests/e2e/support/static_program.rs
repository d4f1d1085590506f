//! The example of a program that has the recorder in itself, and what else is built like it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program, or one of its examples, in a directory of its own, for other flags make other artifacts.
pub fn build(flags: &str, example: Option<&str>) -> PathBuf {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("static-program{}", flags.len()));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "static-program", "--target", TARGET]).current_dir(root);
    cargo.args(example.iter().flat_map(|name| ["--example", name]));
    cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", &dir).env_remove("CARGO_ENCODED_RUSTFLAGS");
    assert!(cargo.status().unwrap().success(), "the example was not built");
    let built = dir.join(TARGET).join("debug");
    example.map_or_else(|| built.join("static-program"), |name| built.join("examples").join(name))
}
