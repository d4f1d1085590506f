//! Lines of a script's source: V8 has a list of them only once it was asked for one, so that line ends are counted here.
//!
//! What was counted stays: the line that each stretch of the source begins at, so that a large script is read once and
//! not for each of its functions.

use super::heap::Heap;
use super::layout::{SCRIPT_FIRST_LINE, SCRIPT_SOURCE};
use super::text::{Flat, flat};
use crate::interpreter::map::Map;
use crate::interpreter::read::Read;
use crate::platform::lock::Held;

/// Stretches whose first lines are kept.
const STRETCHES: usize = 1 << 16;
/// Characters of a stretch.
const STRETCH: usize = 1 << 14;
const CHUNK_BYTES: usize = 512;
/// No line is beyond.
const LINES_MAX: usize = 1 << 24;

/// The lines that stretches of sources begin at.
#[derive(Debug, Default)]
pub(super) struct Lines(Map<STRETCHES>);

impl Lines {
    /// The line of a position in a script, from 1 on; 0: it is not known.
    pub(super) fn of<R: Read>(
        &self,
        heap: &Heap<'_, R>,
        script: usize,
        position: usize,
        held: &Held<'_>,
    ) -> u32 {
        let source = heap.field(script, SCRIPT_SOURCE).and_then(|source| flat(heap, source));
        let first = heap.integer(script, SCRIPT_FIRST_LINE);
        let ends = source.and_then(|source| self.ends_before(heap.read, source, position, held));
        let line = first.zip(ends).map_or(0, |(first, ends)| first + ends + 1);
        if line < LINES_MAX { line as u32 } else { 0 }
    }

    /// How many lines end before a position.
    fn ends_before<R: Read>(&self, read: R, source: Flat, position: usize, held: &Held<'_>) -> Option<usize> {
        let position = Some(position).filter(|position| *position <= source.length)?;
        let stretch = position / STRETCH;
        let known = |stretch: &usize| self.0.get(key(source, *stretch));
        let from = (1..=stretch).rev().find(|stretch| known(stretch).is_some()).unwrap_or(0);
        // One more is kept, as 0 is none.
        let mut ends = known(&from).map_or(0, |ends| ends as usize - 1);
        for stretch in from..stretch {
            ends += ends_in(read, source, stretch * STRETCH, (stretch + 1) * STRETCH)?;
            self.0.set(key(source, stretch + 1), ends as u64 + 1, held);
        }
        Some(ends + ends_in(read, source, stretch * STRETCH, position)?)
    }
}

fn key(source: Flat, stretch: usize) -> u64 {
    let word = (source.at as u64).rotate_left(20) ^ (source.length as u64) << 40 ^ stretch as u64;
    word.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1)
}

/// Line ends from one position to another: what ECMAScript has as such, `\r\n` as one.
fn ends_in<R: Read>(read: R, source: Flat, from: usize, to: usize) -> Option<usize> {
    let mut chunk = [0; CHUNK_BYTES + 2];
    let (mut at, mut ends) = (from, 0);
    while at < to {
        let count = (to - at).min(CHUNK_BYTES / source.width);
        // One more, if there is one, tells whether `\n` follows.
        let with_next = (count + 1).min(source.length - at);
        let part = chunk.get_mut(..with_next * source.width)?;
        if !read.bytes(source.at.wrapping_add(at * source.width), part) {
            return None;
        }
        let mut units = part.chunks_exact(source.width).map(|unit| match *unit {
            [low, high] => u16::from_le_bytes([low, high]),
            [byte] => u16::from(byte),
            _ => 0,
        });
        let mut unit = units.next();
        for _ in 0..count {
            let next = units.next();
            ends += usize::from(match unit {
                Some(0x0a | 0x2028 | 0x2029) => true,
                Some(0x0d) => next != Some(0x0a),
                _ => false,
            });
            unit = next;
        }
        at += count;
    }
    Some(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::lock::Lock;

    /// The line of each position is that of a count of all of the text before it.
    fn check(text: &str) {
        let (lines, lock) = (Lines::default(), Lock::default());
        let read = crate::interpreter::read::Kernel { pid: std::process::id() };
        let units: Vec<u16> = text.encode_utf16().collect();
        let bytes: Option<Vec<u8>> = units.iter().map(|unit| u8::try_from(*unit).ok()).collect();
        let (at, width) = match &bytes {
            Some(bytes) => (bytes.as_ptr() as usize, 1),
            None => (units.as_ptr() as usize, 2),
        };
        let source = Flat { at, length: units.len(), width };
        let mut expected = 0;
        for position in 0..=units.len() {
            let is_due = position % 997 == 0 || units.len() - position < 3 || position < 40;
            let held = lock.hold().unwrap();
            let found = is_due.then(|| lines.ends_before(read, source, position, &held));
            assert!(found.is_none_or(|found| found == Some(expected)), "{position}: {found:?} {expected}");
            let next = units.get(position + 1);
            expected += usize::from(match units.get(position) {
                Some(0x0d) => next != Some(&0x0a),
                Some(unit) => [0x0a, 0x2028, 0x2029].contains(unit),
                None => false,
            });
        }
        let beyond = lines.ends_before(read, source, units.len() + 1, &lock.hold().unwrap());
        assert_eq!(beyond, None);
    }

    #[test]
    fn lines_end_as_ecmascript_has_it() {
        check("");
        check("a\nb\r\nc\rd\n\n\r\r\n");
        check("a\u{2028}b\u{2029}c\né\r\n");
        check(&"function f() {\r\n  return 1;\n}\r".repeat(3000));
        check(&"const π = 3;\r\n\n".repeat(3000));
    }
}
