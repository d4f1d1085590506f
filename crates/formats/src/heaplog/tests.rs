//! Logs as text, and what is read of them: lines of both forms, and everything that is none.

use std::ops::ControlFlow;

use heapscribe_wire::record::Call;
use proptest::prelude::*;

use super::limits::PIECE_BYTES;
use super::{Bad, LINE_BYTES_MAX, Line, Operation, Reader, Style, is_begin, parse};

/// What is read of a log: its lines, what was passed over in words, zero bytes at its end.
fn read(bytes: &[u8]) -> (Vec<(u64, Line)>, Vec<String>, u64) {
    let (mut reader, mut lines) = (Reader::new(bytes), Vec::new());
    let read = reader.for_each(|moment, line| {
        assert_eq!(moment.number, lines.len() as u64 + 1);
        lines.push((moment.offset, *line));
        ControlFlow::<()>::Continue(())
    });
    assert!(matches!(read, Ok(None)));
    (lines, reader.skipped().map(ToString::to_string).collect(), reader.zeros_at_end())
}

#[test]
fn lines_of_both_forms() {
    let alloc = |call, size_bytes, align, address| Operation::Alloc { call, size_bytes, align, address };
    for (text, operation, took_ns) in [
        ("malloc 0x55d0 24 0", alloc(Call::Malloc, 24, 1, 0x55d0), None),
        ("calloc 0 24 0", alloc(Call::Calloc, 24, 1, 0), None),
        ("pvalloc 0x1000 4096 0", alloc(Call::Pvalloc, 4096, 1, 0x1000), None),
        ("free 0x55d0 0 0", Operation::Free { address: 0x55d0 }, None),
        ("realloc 0x10 48 0x20", Operation::Realloc { old: 0x10, size_bytes: 48, new: 0x20 }, None),
        ("malloc_usable_size 0x10 24 0", Operation::UsableSize { address: 0x10, size_bytes: 24 }, None),
        ("alloc, 24, 1, 0x00000000000055d0, 130", alloc(Call::Malloc, 24, 1, 0x55d0), Some(130)),
        ("alloc, 24, 64, 0x0000000000005500, 0", alloc(Call::Memalign, 24, 64, 0x5500), Some(0)),
        ("alloc_zeroed, 8, 0x0000000000000000, 7", alloc(Call::Calloc, 8, 1, 0), Some(7)),
        ("dealloc, 0x00000000000055d0, 99", Operation::Free { address: 0x55d0 }, Some(99)),
        (
            "realloc, 0x0000000000000010, 48, 0x0000000000000020, 5",
            Operation::Realloc { old: 0x10, size_bytes: 48, new: 0x20 },
            Some(5),
        ),
        (
            "get_block_size, 0x0000000000000010, 24, 3",
            Operation::UsableSize { address: 0x10, size_bytes: 24 },
            Some(3),
        ),
    ] {
        let style = if took_ns.is_some() { Style::Commas } else { Style::Spaces };
        let line = Line { operation, took_ns };
        assert_eq!(parse(text.as_bytes()), Ok((style, line)), "{text}");
        let mut written = Vec::new();
        line.write(style, &mut written);
        assert_eq!(String::from_utf8_lossy(&written), format!("{text}\n"));
    }
}

#[test]
fn bad_lines_are_counted_by_reason() {
    let long = format!("malloc 0x{} 1 0", "0".repeat(LINE_BYTES_MAX));
    for (text, why) in [
        ("", Bad::Name),
        ("total 12", Bad::Name),
        ("xalloc, 1, 1, 0x10, 5", Bad::Name),
        ("DATA\u{fffd}alloc, 1, 1, 0x10, 5", Bad::Name),
        ("alloc 1 1 0x10 5", Bad::Name),
        ("malloc, 1, 1, 0x10, 5", Bad::Name),
        ("malloc 0x10 24", Bad::Fields),
        ("malloc 0x10 24 0 0", Bad::Fields),
        ("free 0x10 0 0malloc 0x10 24 0", Bad::Fields),
        ("alloc, 24, 1, 0x10", Bad::Fields),
        ("dealloc, 0x10, 5, 5", Bad::Fields),
        ("malloc 10 24 0", Bad::Number),
        ("malloc 0x 24 0", Bad::Number),
        ("malloc 0x+1 24 0", Bad::Number),
        ("malloc 0x11112222333344445 24 0", Bad::Number),
        ("malloc 0x10 -1 0", Bad::Number),
        ("malloc 0x10 +1 0", Bad::Number),
        ("malloc 0x10 18446744073709551616 0", Bad::Number),
        ("alloc, 24, 1, 0x10, ", Bad::Number),
        ("dealloc, 0x00000000alloc, 7", Bad::Number),
        (&long, Bad::TooLong),
    ] {
        assert_eq!(parse(text.as_bytes()), Err(why), "{text}");
    }
}

#[test]
fn a_log_is_known_by_its_first_line_or_the_second() {
    for text in ["alloc, 72704, 1, 0x", "malloc 0x1", "free 0 0 0", "00012, 8\nalloc, 7", "realloc, 0x"] {
        assert!(is_begin(text.as_bytes()), "{text}");
    }
    for text in ["", "alloc", "alloc, ", "alloc,7", "malloc x", "free software", "go 1.19 trace", "{\"a\":1}"]
    {
        assert!(!is_begin(text.as_bytes()), "{text}");
    }
}

#[test]
fn hostile_files() {
    let good = "free 0x10 0 0\n";
    let long = "x".repeat(2 * PIECE_BYTES);
    let zeros = "\0".repeat(PIECE_BYTES + 100);
    for (text, lines, skipped, zeros_at_end) in [
        (String::new(), 0, vec![], 0),
        (zeros.clone(), 0, vec![], zeros.len() as u64),
        (format!("{good}{zeros}"), 1, vec![], zeros.len() as u64),
        (format!("{good}{zeros}{good}"), 2, vec!["1 line of zero bytes (262244 bytes) at byte 14"], 0),
        (format!("\0\0{good}\0{good}"), 2, vec!["2 lines of zero bytes (3 bytes), the first at byte 0"], 0),
        (format!("{good}free 0x1"), 1, vec!["1 line without an end (8 bytes) at byte 14"], 0),
        (format!("{good}free 0x1\0\0\0"), 1, vec!["1 line without an end (8 bytes) at byte 14"], 3),
        (
            format!("{good}{long}"),
            1,
            vec!["1 line longer than any of heaphook's (524288 bytes) at byte 14"],
            0,
        ),
        (
            format!("{good}{long}\n{good}{}\n{good}", &long[..200]),
            3,
            vec!["2 lines longer than any of heaphook's (524490 bytes), the first at byte 14"],
            0,
        ),
        (
            format!("{good}{zeros}{long}\0\0\n{good}"),
            2,
            vec![
                "1 line longer than any of heaphook's (524291 bytes) at byte 262258",
                "1 line of zero bytes (262244 bytes) at byte 14",
            ],
            0,
        ),
        (
            format!("alloc, 1\nDATA\nalloc, 1, 1, x, 1\n\n{good}"),
            1,
            vec![
                "2 lines of something else (6 bytes), the first at byte 9",
                "1 line with too few or too many fields (9 bytes) at byte 0",
                "1 line with a field that is no number (18 bytes) at byte 14",
            ],
            0,
        ),
        (format!("free 0x10 0 0\r\n{good}"), 2, vec![], 0),
    ] {
        let (parsed, reasons, at_end) = read(text.as_bytes());
        let begin = &text[..text.len().min(60)];
        assert_eq!(
            (parsed.len(), reasons, at_end),
            (lines, skipped.iter().map(|s| (*s).to_owned()).collect(), zeros_at_end),
            "{begin:?}"
        );
    }
}

#[test]
fn a_line_across_two_pieces_is_whole() {
    let before = "free 0x10 0 0\n".repeat(PIECE_BYTES / 14 + 1);
    for cut in 0..20 {
        let text = format!("{}{before}malloc 0x20 7 0\n", "\n".repeat(cut));
        let (lines, skipped, _) = read(text.as_bytes());
        assert_eq!(lines.len(), PIECE_BYTES / 14 + 2);
        assert_eq!(lines.last().unwrap().0, (text.len() - 16) as u64);
        assert_eq!(skipped.len(), usize::from(cut > 0));
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let calls = [
        Call::Malloc,
        Call::Calloc,
        Call::PosixMemalign,
        Call::Memalign,
        Call::AlignedAlloc,
        Call::Valloc,
        Call::Pvalloc,
    ];
    let n = || prop_oneof![0..100u64, any::<u64>()];
    prop_oneof![
        (proptest::sample::select(calls.to_vec()), n(), 0..64u32, n()).prop_map(
            |(call, size_bytes, align_log2, address)| Operation::Alloc {
                call,
                size_bytes,
                align: 1 << align_log2,
                address
            }
        ),
        n().prop_map(|address| Operation::Free { address }),
        (n(), n(), n()).prop_map(|(old, size_bytes, new)| Operation::Realloc { old, size_bytes, new }),
        (n(), n()).prop_map(|(address, size_bytes)| Operation::UsableSize { address, size_bytes }),
    ]
}

/// Operation a line says once it has been in a form: no more than that has room for.
fn in_form(line: Line, style: Style) -> Line {
    let operation = match (style, line.operation) {
        (Style::Spaces, Operation::Alloc { call, size_bytes, address, .. }) => {
            Operation::Alloc { call, size_bytes, align: 1, address }
        }
        (Style::Commas, Operation::Alloc { call: Call::Calloc, size_bytes, address, .. }) => {
            Operation::Alloc { call: Call::Calloc, size_bytes, align: 1, address }
        }
        (Style::Commas, Operation::Alloc { size_bytes, align, address, .. }) => {
            let call = if align > 1 { Call::Memalign } else { Call::Malloc };
            Operation::Alloc { call, size_bytes, align, address }
        }
        (Style::Commas, Operation::Realloc { old: address, size_bytes: 0, new: 0 }) => {
            Operation::Free { address }
        }
        (Style::Commas, Operation::Realloc { old: 0, size_bytes, new }) => {
            Operation::Alloc { call: Call::Malloc, size_bytes, align: 1, address: new }
        }
        (_, operation) => operation,
    };
    Line { operation, took_ns: (style == Style::Commas).then_some(line.took_ns.unwrap_or(0)) }
}

proptest! {
    #[test]
    fn written_lines_are_read_back(
        lines in proptest::collection::vec((operation(), proptest::option::of(any::<u64>()), any::<bool>()), 0..50)
    ) {
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for (operation, took_ns, spaces) in lines {
            let (line, style) = (Line { operation, took_ns }, if spaces { Style::Spaces } else { Style::Commas });
            expected.push((bytes.len() as u64, in_form(line, style)));
            line.write(style, &mut bytes);
        }
        prop_assert_eq!(read(&bytes), (expected, vec![], 0));
    }

    #[test]
    fn any_bytes_are_read_to_their_end(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just(b"alloc, 24, 1, 0x00000000000055d0, 130".to_vec()),
                Just(b"free 0x10 0 0".to_vec()),
                Just(b"\n".to_vec()),
                Just(vec![0; 200]),
                Just(vec![b'x'; 130]),
                proptest::collection::vec(any::<u8>(), 0..40),
            ],
            0..40,
        )
    ) {
        let bytes = pieces.concat();
        let mut reader = Reader::new(&bytes[..]);
        let mut in_lines = 0;
        let read = reader.for_each(|moment, _| {
            let line = bytes[moment.offset as usize..].split(|byte| *byte == b'\n').next().unwrap_or_default();
            in_lines += line.len() as u64 + 1;
            ControlFlow::<()>::Continue(())
        });
        prop_assert!(read.is_ok());
        let skipped: u64 = reader.skipped().map(|s| s.bytes).sum();
        prop_assert_eq!(in_lines + skipped + reader.zeros_at_end(), bytes.len() as u64);
    }
}
