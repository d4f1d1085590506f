//! Any bytes as a log of heaphook's: all of them are read as a line, skipped, or zeros, and what is
//! written of the lines is read as the same.
#![no_main]

use std::ops::ControlFlow;

use heapscribe_formats::heaplog::{Line, Reader, Style};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (lines, rest) = read(bytes);
    let whole: u64 = lines.iter().map(|(offset, ..)| line_bytes(bytes, *offset)).sum();
    assert_eq!(whole + rest, bytes.len() as u64);
    let mut copy = Vec::new();
    lines.iter().for_each(|(_, style, line)| line.write(*style, &mut copy));
    let (again, rest) = read(&copy);
    assert_eq!((again.len(), rest), (lines.len(), 0));
    let mut second = Vec::new();
    again.iter().for_each(|(_, style, line)| line.write(*style, &mut second));
    assert_eq!(copy, second);
});

/// The lines with their places, and how many bytes were none.
fn read(bytes: &[u8]) -> (Vec<(u64, Style, Line)>, u64) {
    let (mut reader, mut lines) = (Reader::new(bytes), Vec::new());
    let ended = reader.for_each(|moment, line| {
        lines.push((moment.offset, moment.style, *line));
        ControlFlow::<()>::Continue(())
    });
    assert!(matches!(ended, Ok(None)));
    let skipped: u64 = reader.skipped().map(|s| s.bytes).sum();
    (lines, skipped + reader.zeros_at_end())
}

fn line_bytes(bytes: &[u8], offset: u64) -> u64 {
    let rest = &bytes[offset as usize..];
    rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1) as u64
}
