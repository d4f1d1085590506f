//! Files of memtrace's own writer: ours makes the same bytes of the same calls, and of what was read.

use std::path::PathBuf;

use heapscribe_formats::memtrace::{Order, ReadOptions, Reader, WriteOptions, copy_all, script};

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/memtrace").join(name);
    std::fs::read(path).unwrap()
}

#[test]
fn a_script_is_written_as_memtrace_writes_it() {
    let text = String::from_utf8(fixture("s7_small.txt")).unwrap();
    let check = |order, name| assert!(script::run(&text, order).unwrap() == fixture(name), "{name}");
    check(Order::Direct, "script_s7_small_direct.ctf");
    check(Order::Multiplexed, "script_s7_small_mux.ctf");
}

/// A file with the events of another one.
fn copy(bytes: &[u8], options: WriteOptions) -> Vec<u8> {
    let mut reader = Reader::open(bytes, ReadOptions::default()).unwrap();
    copy_all(&mut reader, Vec::new(), options).unwrap()
}

#[test]
fn a_copy_has_the_same_bytes() {
    let mux = WriteOptions { order: Order::Multiplexed, ids_per_chunk: 20, ..WriteOptions::default() };
    let check = |name: &str, options| {
        let bytes = fixture(name);
        assert!(copy(&bytes, options) == bytes, "{name}");
    };
    check("n413_long_1e-2.ctf", WriteOptions::default());
    check("n413_fork_1e-1.ctf", WriteOptions::default());
    check("script_s7_small_mux.ctf", mux);
}

#[test]
fn the_first_packet_names_the_program() {
    let bytes = fixture("n413_long_1e-2.ctf");
    let reader = Reader::open(&*bytes, ReadOptions::default()).unwrap();
    let info = reader.info();
    assert_eq!((info.sample_rate, info.word_bytes(), info.pid), (0.01, 8, 7763));
    assert_eq!((&info.host[..], &info.context[..]), (&b"vm"[..], &b"p_long"[..]));
    assert_eq!((info.start_us, info.domain), (1_795_227_649_366_488, 0));
}
