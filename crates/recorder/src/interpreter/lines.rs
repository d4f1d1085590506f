//! From an instruction to its line, by the tables of CPython's code objects. The bytes come one at a time, and end.

use super::layout::Lines;

/// The line of the instruction at `offset` bytes; 0 when the table has none for it.
pub(super) fn line_at(
    lines: Lines,
    first_line: u32,
    offset: i64,
    mut next: impl FnMut() -> Option<u8>,
) -> u32 {
    if offset < 0 {
        return first_line; // the function's beginning
    }
    let line = match lines {
        Lines::Steps => steps(first_line.into(), offset, &mut next),
        Lines::Ranges => ranges(first_line.into(), offset, &mut next),
        Lines::Locations => locations(first_line.into(), offset, &mut next),
    };
    line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

/// 3.8 and 3.9: how many bytes of code until it is so many lines further; the last line is that of the rest.
fn steps(mut line: i64, offset: i64, next: &mut impl FnMut() -> Option<u8>) -> Option<i64> {
    let mut begin = 0i64;
    while let Some(bytes) = next() {
        begin += i64::from(bytes);
        if begin > offset {
            break;
        }
        line += i64::from(next()? as i8);
    }
    Some(line)
}

/// 3.10: how many bytes of code, and how many lines further; -128: they have no line.
fn ranges(mut line: i64, offset: i64, next: &mut impl FnMut() -> Option<u8>) -> Option<i64> {
    const NO_LINE: i8 = -128;
    let mut end = 0i64;
    loop {
        let (bytes, more) = (next()?, next()? as i8);
        end += i64::from(bytes);
        line += if more == NO_LINE { 0 } else { i64::from(more) };
        if offset < end {
            return (more != NO_LINE).then_some(line);
        }
    }
}

/// 3.11 and later: the first byte of an entry has its kind and how many instructions it is of; then come bytes without
/// the highest bit.
fn locations(mut line: i64, offset: i64, next: &mut impl FnMut() -> Option<u8>) -> Option<i64> {
    const UNIT_BYTES: i64 = 2;
    const ONE_LINE: u8 = 10;
    const NO_COLUMNS: u8 = 13;
    const LONG: u8 = 14;
    const NO_LINE: u8 = 15;
    let (mut end, mut first) = (0, next()?);
    loop {
        let kind = first >> 3 & 15;
        end += (i64::from(first & 7) + 1) * UNIT_BYTES;
        let (mut value, mut shift, mut is_whole) = (0u64, 0, false);
        let following = loop {
            match next() {
                Some(byte) if byte & 0x80 != 0 => break Some(byte),
                None => break None,
                Some(byte) if !is_whole && shift < 60 => {
                    value |= u64::from(byte & 63) << shift;
                    (shift, is_whole) = (shift + 6, byte & 64 == 0);
                }
                Some(_) => {}
            }
        };
        line += match kind {
            ONE_LINE..NO_COLUMNS => i64::from(kind - ONE_LINE),
            NO_COLUMNS | LONG if value & 1 == 1 => -((value >> 1) as i64),
            NO_COLUMNS | LONG => (value >> 1) as i64,
            _ => 0,
        };
        if offset < end {
            return (kind != NO_LINE).then_some(line);
        }
        first = following?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: Lines, first_line: u32, table: &[u8], offset: i64, expected: u32) {
        let mut bytes = table.iter().copied();
        assert_eq!(line_at(lines, first_line, offset, || bytes.next()), expected, "{offset}");
    }

    /// `def f(a):\n    b = a\n    return [\n        b,\n        g(b)]`, compiled by 3.10.13 and 3.11.7; the lines are
    /// what `co_lines` gave.
    #[test]
    fn lines_of_a_function() {
        let ranges = [4, 1, 2, 2, 6, 1, 4, 254];
        for (offset, line) in [(-1, 1), (0, 2), (2, 2), (4, 4), (6, 5), (10, 5), (12, 3), (14, 3), (16, 0)] {
            check(Lines::Ranges, 1, &ranges, offset, line);
        }
        let locations = [
            128, 0, 216, 8, 9, 128, 65, 224, 8, 9, 221, 8, 9, 136, 33, 137, 4, 140, 4, 240, 5, 2, 12, 14,
            240, 0, 2, 5, 14,
        ];
        for (offset, line) in
            [(-2, 1), (0, 1), (2, 2), (4, 2), (6, 4), (8, 5), (34, 5), (36, 3), (38, 3), (40, 0)]
        {
            check(Lines::Locations, 1, &locations, offset, line);
        }
    }

    /// The same function in 3.8.18 and 3.9.18.
    #[test]
    fn lines_by_steps() {
        let steps = [0, 1, 4, 2, 2, 1, 6, 254];
        for (offset, line) in [(-1, 1), (0, 2), (2, 2), (4, 4), (6, 5), (10, 5), (12, 3), (14, 3)] {
            check(Lines::Steps, 1, &steps, offset, line);
        }
        check(Lines::Steps, 7, &[], 4, 7);
    }

    #[test]
    fn broken_tables_end() {
        for table in [&[][..], &[0x80], &[0xff; 3], &[0xf0, 0x7f, 0x7f, 0x7f]] {
            for offset in [0, 4, 1 << 40] {
                let mut bytes = table.iter().copied();
                let _ = line_at(Lines::Locations, 1, offset, || bytes.next());
                let mut bytes = table.iter().copied();
                let _ = line_at(Lines::Ranges, 1, offset, || bytes.next());
            }
        }
        check(Lines::Locations, 7, &[0xff], -2, 7);
    }
}
