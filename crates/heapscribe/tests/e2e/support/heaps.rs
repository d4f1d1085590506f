//! Heaps to put under programs: the examples of docs/heaps.md, built as it says.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Ended, Place, Run, Started, heapscribe};

/// The example in Rust. Cargo has built it, as it does what a test depends on, beside the tests.
pub fn in_rust() -> PathBuf {
    let library = std::env::current_exe().unwrap().with_file_name("libbump_heap.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// The example in C.
pub fn in_c(place: &Place) -> PathBuf {
    place.heap("cc", "examples/c-heap/heap.c")
}

/// The example in C++, which is written for heaphook.
pub fn for_heaphook(place: &Place) -> PathBuf {
    place.heap("c++", "examples/heaphook/my_allocator.cpp")
}

impl Place {
    /// Builds a heap whose source lies below the workspace, with the headers that `heapscribe header` has.
    pub fn heap(&self, compiler: &str, source: &str) -> PathBuf {
        self.build_heap(compiler, source, "", &[])
    }

    /// The same as a library that needs no other, with what lies beside the headers.
    pub fn whole_heap(&self, compiler: &str, source: &str) -> PathBuf {
        let archive = self.path("include/libheapscribe_table.a");
        let linked = ["-Wl,--whole-archive", archive.to_str().unwrap(), "-Wl,--no-whole-archive"];
        self.build_heap(compiler, source, "whole_", &linked)
    }

    fn build_heap(&self, compiler: &str, source: &str, prefix: &str, linked: &[&str]) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
        let headers = self.path("include");
        let written = heapscribe().args(["header", "--to"]).arg(&headers).status().unwrap();
        assert!(written.success());
        let stem = source.file_stem().unwrap().to_str().unwrap();
        let library = self.path(&format!("lib{prefix}{stem}.so"));
        let mut build = Command::new(compiler);
        build.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]).arg(headers);
        assert!(build.arg(source).args(linked).arg("-o").arg(&library).status().unwrap().success());
        library
    }
}

impl Run<'_> {
    /// The program under `heapscribe run`, with this heap.
    pub fn under(&self, heap: impl AsRef<Path>) -> Ended {
        self.under_with(heap, &[])
    }

    /// The same with options of `run`.
    pub fn under_with(&self, heap: impl AsRef<Path>, options: &[&str]) -> Ended {
        let mut command = heapscribe();
        command.args(["run", "--heap"]).arg(heap.as_ref()).args(options).arg("--").args(&self.command);
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        Started::new(command, self.place, "under").wait()
    }
}
