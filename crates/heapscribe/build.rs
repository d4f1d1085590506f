//! Builds the preload library and those of heaps, so that the program can carry them inside itself and one
//! `cargo install` is the whole installation; that for heaps in C also as an archive to link. They are built by a cargo of
//! its own, in a target directory of its own: with its own profile (abort on panic, one codegen unit), and without
//! waiting for the lock of the outer build.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The crates that the libraries are made of.
const CRATES: [&str; 7] = ["wire", "alloc", "nolibc", "recorder", "preload", "interpose", "heap-libs"];
/// Heaps: names, and features of heapscribe-heap-libs.
const HEAPS: [(&str, &str); 5] = [
    ("tlsf", "tlsf"),
    ("original", "original"),
    ("table", "table"),
    ("heaplog", "heaplog"),
    ("heaphook_tlsf", "tlsf,heaphook"),
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let crates = here.parent().expect("the crate lies in crates/");
    for name in CRATES {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    println!("cargo::rerun-if-changed={}", here.join("../../Cargo.toml").display());
    let target = out.join("preload");
    let recorder = build(&crates.join("preload"), &target, None, None);
    place(&recorder, &out.join("libheapscribe_preload.so"), "HEAPSCRIBE_PRELOAD");
    for (heap, features) in HEAPS {
        let object = (heap == "table").then(|| target.join("table.o"));
        let built = build(&crates.join("heap-libs"), &target, Some(features), object.as_deref());
        let variable = format!("HEAPSCRIBE_HEAP_{}", heap.to_uppercase());
        place(&built, &out.join(format!("libheapscribe_{heap}.so")), &variable);
        if let Some(object) = object {
            let archive = out.join("libheapscribe_table.a");
            fs::write(&archive, archived(&object)).expect("the archive can be written");
            carry(&archive, "HEAPSCRIBE_HEAP_TABLE_ARCHIVE");
        }
    }
}

/// An archive of one file: all the code of a library, ours and what it uses of others. One of rustc's has all of its
/// built-in functions besides, which nothing here uses and which might clash with another's. It has no index: by that
/// a linker refuses to take from it only what is asked for, which would be nothing.
fn archived(object: &Path) -> Vec<u8> {
    let code = fs::read(object).expect("the library's code can be read");
    let (name, nothing, mode, len) = ("heapscribe.o/", 0, "100644", code.len());
    let head = format!("!<arch>\n{name:<16}{nothing:<12}{nothing:<6}{nothing:<6}{mode:<8}{len:<10}`\n");
    let mut archive = [head.as_bytes(), &code].concat();
    archive.resize(archive.len().next_multiple_of(2), b'\n');
    archive
}

/// Keeps a built library where the program includes it from.
fn place(built: &Path, placed: &Path, variable: &str) {
    fs::copy(built, placed).expect("the built library can be copied");
    carry(placed, variable);
}

/// Compresses a file, which halves what the program carries, beside itself. The variable names the file as it is, which
/// measurements preload.
fn carry(file: &Path, variable: &str) {
    let bytes = fs::read(file).expect("what was built can be read");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let packed = gzip.write_all(&bytes).and_then(|()| gzip.finish()).expect("memory can be written");
    fs::write(format!("{}.gz", file.display()), packed).expect("what was built can be compressed");
    println!("cargo::rustc-env={variable}={}", file.display());
}

/// Builds the shared library of the crate at `source` into `target`, and its code before it is linked as `object`;
/// where it is.
fn build(source: &Path, target: &Path, features: Option<&str>, object: Option<&Path>) -> PathBuf {
    let cargo = env::var_os("CARGO").expect("cargo sets CARGO");
    let mut command = Command::new(cargo);
    command
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", "preload"])
        .arg("--manifest-path")
        .arg(source.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .args(features.iter().flat_map(|features| ["--features", features]))
        .arg("--")
        .args(object.iter().map(|object| format!("--emit=obj={},link", object.display())));
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
    assert!(status.success(), "building {} failed", source.display());
    let name = source.file_name().and_then(|name| name.to_str()).expect("a crate has a name");
    target.join("preload").join(format!("libheapscribe_{}.so", name.replace('-', "_")))
}
