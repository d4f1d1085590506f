//! Parses lines, and recognizes logs by their first lines.

use heapscribe_wire::record::Call;

use super::limits::{FIELDS_MAX, HEX_DIGITS, LINE_BYTES_MAX};
use super::line::{Line, Operation, Style};

/// Why bytes are no line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Bad {
    /// They do not begin with a name that heaphook writes: another program's output, or the rest of a line
    /// that was torn.
    Name,
    /// Too few fields or too many: a torn line, or two in one.
    Fields,
    /// A field is no number that fits.
    Number,
    /// Longer than any line is.
    TooLong,
    /// Zero bytes, of a part of the file that was never written.
    Zeros,
    /// No newline ends it: the program was killed while it wrote, or still runs.
    Cut,
}

impl Bad {
    /// All reasons.
    pub const ALL: [Bad; 6] = [Bad::Name, Bad::Fields, Bad::Number, Bad::TooLong, Bad::Zeros, Bad::Cut];

    /// The reason in words that stand behind "N lines".
    pub const fn words(self) -> &'static str {
        match self {
            Bad::Name => "of something else",
            Bad::Fields => "with too few or too many fields",
            Bad::Number => "with a field that is no number",
            Bad::TooLong => "longer than any of heaphook's",
            Bad::Zeros => "of zero bytes",
            Bad::Cut => "without an end",
        }
    }
}

/// The names of the form with spaces, which are those of the functions.
const FUNCTIONS: [(&str, Option<Call>); 10] = [
    ("malloc", Some(Call::Malloc)),
    ("free", None),
    ("calloc", Some(Call::Calloc)),
    ("realloc", None),
    ("posix_memalign", Some(Call::PosixMemalign)),
    ("memalign", Some(Call::Memalign)),
    ("aligned_alloc", Some(Call::AlignedAlloc)),
    ("valloc", Some(Call::Valloc)),
    ("pvalloc", Some(Call::Pvalloc)),
    ("malloc_usable_size", None),
];

/// The names of the form with commas.
const METHODS: [&str; 5] = ["alloc", "dealloc", "alloc_zeroed", "realloc", "get_block_size"];

/// Whether bytes begin as a log does: with a line, or with the rest of one and then a line.
pub fn is_begin(first: &[u8]) -> bool {
    first.split(|byte| *byte == b'\n').any(|line| {
        let after = |name: &str, separator: &str| {
            line.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(separator.as_bytes()))
        };
        let begins_with_digit = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
        FUNCTIONS.iter().filter_map(|(name, _)| after(name, " ")).any(|rest| rest.starts_with(b"0"))
            || METHODS.iter().filter_map(|name| after(name, ", ")).any(begins_with_digit)
    })
}

/// Parses a line without its newline; in which form it is.
///
/// # Errors
/// Why it is none.
pub fn parse(line: &[u8]) -> Result<(Style, Line), Bad> {
    if line.len() > LINE_BYTES_MAX {
        return Err(Bad::TooLong);
    }
    let text = std::str::from_utf8(line).map_err(|_| Bad::Name)?;
    match text.contains(',') {
        true => with_commas(text.split(',').map(str::trim_ascii)).map(|line| (Style::Commas, line)),
        false => with_spaces(text.split_ascii_whitespace()).map(|line| (Style::Spaces, line)),
    }
}

/// The fields of a line behind its name.
fn fields<'a>(found: impl Iterator<Item = &'a str>) -> ([&'a str; FIELDS_MAX - 1], usize) {
    let (mut fields, mut count) = ([""; FIELDS_MAX - 1], 0);
    for field in found {
        if let Some(at) = fields.get_mut(count) {
            *at = field;
        }
        count += 1;
    }
    (fields, count)
}

fn with_spaces<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Line, Bad> {
    let name = words.next().unwrap_or_default();
    let (_, call) = FUNCTIONS.iter().find(|(known, _)| *known == name).ok_or(Bad::Name)?;
    let ([address, size, new, _], 3) = fields(words) else { return Err(Bad::Fields) };
    let (address, size_bytes, new) = (pointer(address)?, number(size)?, pointer(new)?);
    let operation = match (name, call) {
        (_, Some(call)) => Operation::Alloc { call: *call, size_bytes, align: 1, address },
        ("free", None) => Operation::Free { address },
        ("realloc", None) => Operation::Realloc { old: address, size_bytes, new },
        (_, None) => Operation::UsableSize { address, size_bytes },
    };
    Ok(Line { operation, took_ns: None })
}

fn with_commas<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Line, Bad> {
    let name = words.next().unwrap_or_default();
    if !METHODS.contains(&name) {
        return Err(Bad::Name);
    }
    let (operation, ns) = match (name, fields(words)) {
        ("alloc", ([size, align, address, ns], 4)) => {
            let align = number(align)?;
            let call = if align > 1 { Call::Memalign } else { Call::Malloc };
            (
                Operation::Alloc {
                    call,
                    size_bytes: number(size)?,
                    align: align.max(1),
                    address: pointer(address)?,
                },
                ns,
            )
        }
        ("alloc_zeroed", ([size, address, ns, _], 3)) => {
            let (size_bytes, address) = (number(size)?, pointer(address)?);
            (Operation::Alloc { call: Call::Calloc, size_bytes, align: 1, address }, ns)
        }
        ("realloc", ([old, size, new, ns], 4)) => {
            (Operation::Realloc { old: pointer(old)?, size_bytes: number(size)?, new: pointer(new)? }, ns)
        }
        ("dealloc", ([address, ns, _, _], 2)) => (Operation::Free { address: pointer(address)? }, ns),
        ("get_block_size", ([address, size, ns, _], 3)) => {
            (Operation::UsableSize { address: pointer(address)?, size_bytes: number(size)? }, ns)
        }
        _ => return Err(Bad::Fields),
    };
    Ok(Line { operation, took_ns: Some(number(ns)?) })
}

fn number(digits: &str) -> Result<u64, Bad> {
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_digits).ok_or(Bad::Number)
}

/// A pointer: 0, or 0x and digits.
fn pointer(text: &str) -> Result<u64, Bad> {
    let digits = match text.strip_prefix("0x") {
        Some(digits) => digits,
        None if text == "0" => text,
        None => return Err(Bad::Number),
    };
    let fits = (1..=HEX_DIGITS).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| fits).ok_or(Bad::Number)
}
