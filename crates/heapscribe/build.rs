//! Builds the preload library, so that the program can carry it inside itself and one `cargo install` is
//! the whole installation. It is built by a cargo of its own, in a target directory of its own: with its
//! own profile (abort on panic, one codegen unit), and without waiting for the lock of the outer build.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let crates = here.parent().expect("the crate lies in crates/");
    for name in [
        "heapscribe-wire",
        "heapscribe-alloc",
        "heapscribe-process",
        "heapscribe-record",
        "heapscribe-preload",
    ] {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    println!("cargo::rerun-if-changed={}", here.join("../../Cargo.toml").display());
    let library = build(&crates.join("heapscribe-preload"), &out.join("preload"));
    let placed = out.join("libheapscribe_preload.so");
    fs::copy(&library, &placed).expect("the built library can be copied");
    println!("cargo::rustc-env=HEAPSCRIBE_PRELOAD={}", placed.display());
}

/// Builds the shared library of the crate at `source` into `target`; where it is.
fn build(source: &Path, target: &Path) -> PathBuf {
    let cargo = env::var_os("CARGO").expect("cargo sets CARGO");
    let mut command = Command::new(cargo);
    command
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", "preload"])
        .arg("--manifest-path")
        .arg(source.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target);
    // What the outer build was told - coverage, sanitizers, a fuzzer's flags - is not for a library that
    // is to have no runtime.
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_DIR",
    ] {
        command.env_remove(name);
    }
    let status = command.status().expect("cargo can be started again");
    assert!(status.success(), "building heapscribe-preload failed");
    target.join("preload").join("libheapscribe_preload.so")
}
