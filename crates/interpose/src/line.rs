//! A line of text, put together without a heap.

use heapscribe_nolibc::sys;

const ROOM_BYTES: usize = 256;

/// A line on standard error. What does not fit is cut.
#[derive(Debug)]
pub struct Line {
    bytes: [u8; ROOM_BYTES],
    len: usize,
}

impl Default for Line {
    fn default() -> Self {
        Line::new()
    }
}

impl Line {
    /// One that begins with our name.
    pub fn new() -> Line {
        Line::blank().text(b"heapscribe: ")
    }

    /// An empty one.
    pub fn blank() -> Line {
        Line { bytes: [0; ROOM_BYTES], len: 0 }
    }

    /// Adds text; what is not printable becomes a question mark.
    #[must_use]
    pub fn text(mut self, text: &[u8]) -> Line {
        let rest = self.bytes.get_mut(self.len..ROOM_BYTES - 1).unwrap_or_default();
        for (place, &byte) in rest.iter_mut().zip(text) {
            *place = if byte.is_ascii_graphic() || byte == b' ' { byte } else { b'?' };
            self.len += 1;
        }
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, number: u64) -> Line {
        const DIGITS_MAX: usize = 20;
        let (mut digits, mut rest, mut at) = ([0; DIGITS_MAX], number, DIGITS_MAX);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 || at == 0 {
                break;
            }
        }
        self.text(&digits[at..])
    }

    /// Prints it.
    pub fn print(mut self) {
        if let Some(end) = self.bytes.get_mut(self.len) {
            *end = b'\n';
            self.len += 1;
        }
        sys::write_stderr(self.as_bytes());
    }

    /// Its text.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: Line, expected: &str) {
        assert_eq!(core::str::from_utf8(line.as_bytes()), Ok(expected));
    }

    #[test]
    fn lines() {
        check(Line::new(), "heapscribe: ");
        check(Line::new().text(b"a\x1b[2J\xff ").number(0), "heapscribe: a?[2J? 0");
        check(Line::new().number(u64::MAX), "heapscribe: 18446744073709551615");
        assert_eq!(Line::new().text(&[b'x'; 1000]).number(5).len, ROOM_BYTES - 1);
    }
}
