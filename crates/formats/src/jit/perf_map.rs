//! `perf-PID.map`: a line for each piece of code, `START SIZE NAME`, both in hexadecimal. A runtime appends to it, so a
//! later line about the same addresses is newer. It has no times; who looked how long the map was at a time knows which
//! lines were there.

use super::{JitCode, PIECES_MAX};

/// Reads a map. Lines that are none are passed over: how many.
pub fn read(text: &[u8]) -> (Vec<JitCode>, u64) {
    let (mut pieces, mut bad) = (Vec::new(), 0);
    // What follows the last line feed is a line that was still being written.
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut made = 0;
    for line in text[..whole].split_inclusive(|byte| *byte == b'\n') {
        made += line.len() as u64;
        match piece(line.strip_suffix(b"\n").unwrap_or(line)).filter(|_| pieces.len() < PIECES_MAX) {
            Some(piece) => pieces.push(JitCode { made, ..piece }),
            None => bad += u64::from(line != b"\n"),
        }
    }
    (pieces, bad)
}

fn piece(line: &[u8]) -> Option<JitCode> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (start, bytes, name) = (hex(words.next()?)?, hex(words.next()?)?, words.next()?);
    let end = start.checked_add(bytes).filter(|end| *end > start)?;
    Some(JitCode { start, end, name: name.into(), ..JitCode::default() })
}

fn hex(word: &[u8]) -> Option<u64> {
    let word = std::str::from_utf8(word).ok()?;
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_runtimes() {
        let text = b"7f732c025c40 10c JS:^loadOrder /tmp/leak.js:3:19\n\
            0x00007f674d405280 0x00000000000005b0 void Leak.loadOrder(int)\n\
            no line\n100 0 empty\nffffffffffffffff 10 beyond\n10 5\n\n7f73 5 cut";
        let (pieces, bad) = read(text);
        let found: Vec<_> =
            pieces.iter().map(|piece| (piece.start, piece.end - piece.start, &piece.name[..])).collect();
        let expected: [(u64, u64, &[u8]); 2] = [
            (0x7f73_2c02_5c40, 0x10c, b"JS:^loadOrder /tmp/leak.js:3:19"),
            (0x7f67_4d40_5280, 0x5b0, b"void Leak.loadOrder(int)"),
        ];
        assert_eq!((&found[..], bad), (&expected[..], 4));
        let made: Vec<u64> = pieces.iter().map(|piece| piece.made).collect();
        assert_eq!(made, [49, 112], "the lengths of the map with each line");
    }
}
