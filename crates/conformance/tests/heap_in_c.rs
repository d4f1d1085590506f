//! The suite over a heap that is written in C against `heapscribe_heap.h`, compiled by the compiler that is
//! there, and reached through its table.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use heapscribe_alloc::vtable::{HeapTable, TableHeap};
use heapscribe_conformance::{Traits, heap_conformance};

heap_conformance!(in_c, made(), Traits { capacity_bytes: Some(128 << 20), ..Traits::UNKNOWN });

type Make = unsafe extern "C" fn(*mut HeapTable, *mut [usize; 2]) -> c_int;

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *const c_void;
}

/// Compiles the heap and gives the function that makes one.
fn maker() -> Make {
    static MAKER: OnceLock<Make> = OnceLock::new();
    *MAKER.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let library =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libbump.{}.so", std::process::id()));
        let mut gcc = Command::new("gcc");
        gcc.args([
            "-std=c11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O2",
            "-shared",
            "-fPIC",
            "-I",
        ]);
        gcc.arg(here.join("../alloc/include")).arg(here.join("tests/c/bump.c")).arg("-o").arg(&library);
        assert!(gcc.status().expect("gcc is there").success());
        let path = CString::new(library.to_str().unwrap()).unwrap();
        // SAFETY: a library of ours, whose function has this type.
        let make = unsafe {
            let opened = dlopen(path.as_ptr(), 2);
            assert!(!opened.is_null());
            let make = dlsym(opened, c"make_bump".as_ptr());
            assert!(!make.is_null());
            std::mem::transmute::<*const c_void, Make>(make)
        };
        std::fs::remove_file(&library).unwrap();
        make
    })
}

fn made() -> &'static TableHeap {
    let mut table = std::mem::MaybeUninit::<HeapTable>::zeroed();
    let state = Box::leak(Box::new([0; 2]));
    // SAFETY: it fills in the table; two words are its own.
    let heap = unsafe {
        assert_eq!(maker()(table.as_mut_ptr(), state), 1);
        TableHeap::new(table.as_ptr())
    };
    Box::leak(Box::new(heap.unwrap()))
}
