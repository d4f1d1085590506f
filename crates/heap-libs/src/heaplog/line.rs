//! Lines of the log, in both forms that heaphook has had, put together without a heap.
//!
//! ```text
//!   calls    FUNCTION POINTER SIZE NEW           a null pointer is 0
//!   csv      alloc, SIZE, ALIGN, POINTER, NS     and alloc_zeroed, dealloc, realloc, get_block_size
//! ```
//! A call that failed has size 0 and pointer 0, so that nobody counts it: heaphook's viewer drew 2^56 bytes.
//!
//! Lines that are reserved before the call have a length that is known before: numbers in them are padded with
//! zeros at the front.

/// Bytes of a line at most, its newline among them.
const LINE_BYTES_MAX: usize = 128;
/// Digits that the time of such a line has: up to 9.99 s; a longer one is written as that.
const NS_DIGITS: usize = 10;
const NS_MAX: u64 = 9_999_999_999;
/// A pointer of the form with calls that is not known yet: 56 bits, which is all that x86_64 has.
const POINTER_BYTES: usize = 2 + 14;

/// The two forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// `malloc 0x55d0 24 0`, as heaphook 0.1.
    Calls,
    /// `alloc, 24, 1, 0x00000000000055d0, 130`, as heaphook after it.
    Csv,
}

/// A function that asks for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the C library's function of that name")]
pub(super) enum Function {
    Malloc,
    Calloc,
    /// Of no block.
    Realloc,
    PosixMemalign,
    Memalign,
    AlignedAlloc,
    Valloc,
    Pvalloc,
}

impl Function {
    fn name(self) -> &'static [u8] {
        match self {
            Function::Malloc => b"malloc",
            Function::Calloc => b"calloc",
            Function::Realloc => b"realloc",
            Function::PosixMemalign => b"posix_memalign",
            Function::Memalign => b"memalign",
            Function::AlignedAlloc => b"aligned_alloc",
            Function::Valloc => b"valloc",
            Function::Pvalloc => b"pvalloc",
        }
    }
}

/// What was asked for. `align` is 1 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AllocRequest {
    pub(super) function: Function,
    pub(super) size: usize,
    pub(super) align: usize,
}

/// A line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    bytes: [u8; LINE_BYTES_MAX],
    len: usize,
}

impl Text {
    fn new() -> Text {
        Text { bytes: [0; LINE_BYTES_MAX], len: 0 }
    }

    /// The line with its newline.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    #[inline(always)]
    fn add(&mut self, text: &[u8]) -> &mut Text {
        if let Some(place) = self.bytes.get_mut(self.len..self.len + text.len()) {
            place.copy_from_slice(text);
            self.len += text.len();
        }
        self
    }

    /// Room for that many bytes.
    #[inline(always)]
    fn room(&mut self, len: usize) -> &mut [u8] {
        let from = self.len;
        match self.bytes.get_mut(from..from + len) {
            Some(place) => {
                self.len += len;
                place
            }
            None => &mut [],
        }
    }

    /// A number, with zeros in front of it when it has fewer digits than `width`.
    #[inline(always)]
    fn number(&mut self, number: u64, width: usize) -> &mut Text {
        let mut rest = number;
        for digit in self.room(digits_of(number).max(width)).iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self
    }

    /// `0x` and at least `width` digits.
    #[inline(always)]
    fn hexadecimal(&mut self, number: usize, width: usize) -> &mut Text {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let needed = (usize::BITS - number.leading_zeros()).div_ceil(4) as usize;
        let mut rest = number;
        for digit in self.add(b"0x").room(needed.max(width)).iter_mut().rev() {
            *digit = DIGITS[rest & 15];
            rest >>= 4;
        }
        self
    }

    /// As streams of C++ print pointers.
    fn pointer(&mut self, address: usize) -> &mut Text {
        if address == 0 { self.add(b"0") } else { self.hexadecimal(address, 1) }
    }

    fn whole_pointer(&mut self, address: usize) -> &mut Text {
        self.hexadecimal(address, 16)
    }
}

fn digits_of(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// A block was asked for.
pub(super) fn alloc(style: Style, asked: AllocRequest, address: usize, ns: u64) -> Text {
    let (mut text, AllocRequest { function, size, align }) = (Text::new(), asked);
    let size = if address == 0 { 0 } else { size as u64 };
    match (style, function) {
        (Style::Calls, Function::Realloc) => {
            text.add(b"realloc 0 ").number(size, 1).add(b" ").pointer(address).add(b"\n")
        }
        (Style::Calls, _) => {
            text.add(function.name()).add(b" ").pointer(address).add(b" ").number(size, 1).add(b" 0\n")
        }
        (Style::Csv, _) => {
            // This form has no blocks without bytes.
            let size = if address == 0 { 0 } else { size.max(1) };
            match function {
                Function::Calloc => text.add(b"alloc_zeroed, ").number(size, 1),
                _ => text.add(b"alloc, ").number(size, 1).add(b", ").number(align as u64, 1),
            };
            text.add(b", ").whole_pointer(address).add(b", ").number(ns, 1).add(b"\n")
        }
    };
    text
}

/// A block is freed. As long whatever `ns` is.
pub(super) fn free(style: Style, address: usize, ns: u64) -> Text {
    let mut text = Text::new();
    match style {
        Style::Calls => text.add(b"free ").pointer(address).add(b" 0 0\n"),
        Style::Csv => freed(&mut text, address, ns, NS_DIGITS),
    };
    text
}

fn freed(text: &mut Text, address: usize, ns: u64, width: usize) -> &mut Text {
    text.add(b"dealloc, ").whole_pointer(address).add(b", ").number(ns.min(NS_MAX), width).add(b"\n")
}

/// How much room a block has.
pub(super) fn usable_size(style: Style, address: usize, size: usize, ns: u64) -> Text {
    let (mut text, size) = (Text::new(), size as u64);
    match style {
        Style::Calls => {
            text.add(b"malloc_usable_size ").pointer(address).add(b" ").number(size, 1).add(b" 0\n")
        }
        Style::Csv => {
            let text = text.add(b"get_block_size, ").whole_pointer(address).add(b", ");
            text.number(size, 1).add(b", ").number(ns, 1).add(b"\n")
        }
    };
    text
}

/// A block that is to have another size: all lines that it may get have one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resize {
    style: Style,
    old: usize,
    size: usize,
    len: usize,
}

impl Resize {
    /// Of the block at `old`, which is none of null.
    pub(super) fn new(style: Style, old: usize, size: usize) -> Resize {
        let mut widest = Text::new();
        match style {
            Style::Calls => widest
                .add(b"realloc ")
                .pointer(old)
                .add(b" ")
                .number(size as u64, 1)
                .add(b" ")
                .add(&[b'0'; POINTER_BYTES])
                .add(b"\n"),
            Style::Csv => csv_realloc(&mut widest, Moved { old, size: size as u64, new: 0, ns: 0 }, 1),
        };
        Resize { style, old, size, len: widest.len }
    }

    /// It is at `new` now, which may be where it was.
    pub(super) fn moved(&self, new: usize, ns: u64) -> Text {
        self.line(Moved { old: self.old, size: self.size as u64, new, ns })
    }

    /// It is as it was: nobody has to know of this line. What stands in the log when the program ends meanwhile.
    pub(super) fn failed(&self, ns: u64) -> Text {
        self.line(Moved { old: 0, size: 0, new: 0, ns })
    }

    /// It has another address, which is in another line.
    pub(super) fn freed_only(&self, ns: u64) -> Text {
        match self.style {
            Style::Calls => self.as_long(0, |text, width| {
                text.add(b"free ").pointer(self.old).add(b" ").number(0, width).add(b" 0\n");
            }),
            Style::Csv => self.freed(ns),
        }
    }

    /// It is freed.
    pub(super) fn freed(&self, ns: u64) -> Text {
        match self.style {
            Style::Calls => self.line(Moved { old: self.old, size: 0, new: 0, ns }),
            Style::Csv => self.as_long(ns.min(NS_MAX), |text, width| {
                freed(text, self.old, ns, width);
            }),
        }
    }

    fn line(&self, moved: Moved) -> Text {
        let Moved { old, size, new, .. } = moved;
        self.as_long(size, |text, width| {
            match self.style {
                Style::Calls => {
                    let text = text.add(b"realloc ").pointer(old).add(b" ").number(size, width);
                    text.add(b" ").pointer(new).add(b"\n")
                }
                Style::Csv => csv_realloc(text, moved, width),
            };
        })
    }

    /// What `write` makes of a number, with as many zeros in front of that as make the line long enough.
    fn as_long(&self, number: u64, write: impl Fn(&mut Text, usize)) -> Text {
        let with_width = |width| {
            let mut text = Text::new();
            write(&mut text, width);
            text
        };
        let digits = digits_of(number);
        with_width(digits + self.len.saturating_sub(with_width(digits).len))
    }
}

/// What is in a line of a realloc.
#[derive(Clone, Copy)]
struct Moved {
    old: usize,
    size: u64,
    new: usize,
    ns: u64,
}

/// The line in the form with commas, its size with at least `width` digits.
fn csv_realloc(text: &mut Text, moved: Moved, width: usize) -> &mut Text {
    let Moved { old, size, new, ns } = moved;
    text.add(b"realloc, ").whole_pointer(old).add(b", ").number(size, width).add(b", ");
    text.whole_pointer(new).add(b", ").number(ns.min(NS_MAX), NS_DIGITS).add(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: Text, expected: &str) {
        assert_eq!(core::str::from_utf8(text.as_bytes()), Ok(expected));
    }

    #[test]
    fn blocks_that_are_allocated() {
        let malloc = AllocRequest { function: Function::Malloc, size: 24, align: 1 };
        check(alloc(Style::Calls, malloc, 0x55d0, 7), "malloc 0x55d0 24 0\n");
        check(alloc(Style::Csv, malloc, 0x55d0, 130), "alloc, 24, 1, 0x00000000000055d0, 130\n");
        check(alloc(Style::Calls, AllocRequest { size: 1 << 56, ..malloc }, 0, 7), "malloc 0 0 0\n");
        check(
            alloc(Style::Csv, AllocRequest { size: 1 << 56, ..malloc }, 0, 7),
            "alloc, 0, 1, 0x0000000000000000, 7\n",
        );
        check(
            alloc(Style::Csv, AllocRequest { size: 0, ..malloc }, 16, 7),
            "alloc, 1, 1, 0x0000000000000010, 7\n",
        );
        let calloc = AllocRequest { function: Function::Calloc, ..malloc };
        check(alloc(Style::Csv, calloc, 16, 7), "alloc_zeroed, 24, 0x0000000000000010, 7\n");
        let realloc = AllocRequest { function: Function::Realloc, ..malloc };
        check(alloc(Style::Calls, realloc, 16, 7), "realloc 0 24 0x10\n");
        check(alloc(Style::Csv, realloc, 16, 7), "alloc, 24, 1, 0x0000000000000010, 7\n");
        let aligned = AllocRequest { function: Function::PosixMemalign, size: 24, align: 4096 };
        check(alloc(Style::Calls, aligned, 0x7fff_ffff_f000, 7), "posix_memalign 0x7ffffffff000 24 0\n");
        check(alloc(Style::Csv, aligned, 4096, 7), "alloc, 24, 4096, 0x0000000000001000, 7\n");
    }

    #[test]
    fn blocks_that_are_freed_or_measured() {
        check(free(Style::Calls, 16, 7), "free 0x10 0 0\n");
        check(free(Style::Calls, 0, 7), "free 0 0 0\n");
        check(free(Style::Csv, 16, 7), "dealloc, 0x0000000000000010, 0000000007\n");
        check(free(Style::Csv, 16, u64::MAX), "dealloc, 0x0000000000000010, 9999999999\n");
        check(usable_size(Style::Calls, 16, 40, 7), "malloc_usable_size 0x10 40 0\n");
        check(usable_size(Style::Csv, 16, 40, 7), "get_block_size, 0x0000000000000010, 40, 7\n");
    }

    #[test]
    fn all_lines_of_a_realloc_have_one_length() {
        let calls = Resize::new(Style::Calls, 0x5610, 2048);
        check(calls.moved(0x5610, 7), "realloc 0x5610 00000000002048 0x5610\n");
        check(calls.moved(0xff_ffff_ffff_ffff, 7), "realloc 0x5610 2048 0xffffffffffffff\n");
        check(calls.failed(7), &format!("realloc 0 {:024} 0\n", 0));
        check(calls.freed(7), &format!("realloc 0x5610 {:019} 0\n", 0));
        check(calls.freed_only(7), &format!("free 0x5610 {:022} 0\n", 0));
        let csv = Resize::new(Style::Csv, 0x5610, 2048);
        check(csv.moved(16, 7), "realloc, 0x0000000000005610, 2048, 0x0000000000000010, 0000000007\n");
        check(csv.failed(7), "realloc, 0x0000000000000000, 0000, 0x0000000000000000, 0000000007\n");
        check(csv.freed(7), &format!("dealloc, 0x0000000000005610, {:036}\n", 7));
        for style in [Style::Calls, Style::Csv] {
            for (old, size) in [(1, 0), (usize::MAX, usize::MAX), (0x7fff_ffff_f000, 1 << 56)] {
                let resize = Resize::new(style, old, size);
                let lens = [
                    resize.moved(16, 1),
                    resize.moved(1 << 55, 1),
                    resize.failed(1),
                    resize.freed(u64::MAX),
                    resize.freed_only(1),
                ]
                .map(|text| text.as_bytes().len());
                assert_eq!(lens, [resize.len; 5], "{style:?} {old:#x} {size}");
                assert!(resize.moved(16, 1).as_bytes().ends_with(b"\n"));
            }
        }
    }
}
