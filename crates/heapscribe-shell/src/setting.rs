//! What a heap is told by environment variables. A value that makes no sense is said to make none, in one
//! line, and the default is used: heaphook waited for itself for ever when `INITIAL_MEMPOOL_SIZE` was `abc`.

use core::ffi::CStr;

use heapscribe_process::environment;

use crate::line::Line;

/// Bytes of the longest value.
const VALUE_BYTES_MAX: usize = 256;

/// Hands the value of a variable to `use_it`; `None` when it is not set.
pub fn with<T>(name: &CStr, use_it: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let mut room = [0; VALUE_BYTES_MAX];
    let value = environment::known(name).or_else(|| environment::initial(name, &mut room))?;
    Some(use_it(value))
}

/// A size in bytes, as [`parse_size`] reads it; `default` when the variable is not set, or no size.
pub fn size(name: &CStr, default: usize) -> usize {
    let read = |value: &[u8]| {
        parse_size(value).unwrap_or_else(|| {
            let line = Line::new().text(name.to_bytes()).text(b"=").text(value.get(..64).unwrap_or(value));
            line.text(b" is no size in bytes; ").number(default as u64).text(b" is used").say();
            default
        })
    };
    with(name, read).unwrap_or(default)
}

/// A yes or a no; `default` when the variable is not set, or neither.
pub fn flag(name: &CStr, default: bool) -> bool {
    let read = |value: &[u8]| match value {
        b"1" | b"yes" | b"on" | b"true" => true,
        b"0" | b"no" | b"off" | b"false" => false,
        _ => {
            let line = Line::new().text(name.to_bytes()).text(b"=").text(value.get(..64).unwrap_or(value));
            let used: &[u8] = if default {
                b" is neither yes nor no; yes is used"
            } else {
                b" is neither yes nor no; no is used"
            };
            line.text(used).say();
            default
        }
    };
    with(name, read).unwrap_or(default)
}

/// Digits, and behind them nothing, or K, M, G, T with or without `B` (thousands), or `iB` (of 1024).
/// `None` for anything else, and for what no address space has.
pub fn parse_size(text: &[u8]) -> Option<usize> {
    let text = text.trim_ascii();
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, unit) = text.split_at_checked(digits)?;
    if number.is_empty() {
        return None;
    }
    let mut value = 0usize;
    for digit in number {
        value = value.checked_mul(10)?.checked_add(usize::from(digit - b'0'))?;
    }
    let value = value.checked_mul(factor(unit.trim_ascii())?)?;
    (value <= isize::MAX as usize).then_some(value)
}

fn factor(unit: &[u8]) -> Option<usize> {
    let Some((letter, rest)) = unit.split_first() else { return Some(1) };
    if unit.eq_ignore_ascii_case(b"b") {
        return Some(1);
    }
    let power = match letter.to_ascii_uppercase() {
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        _ => return None,
    };
    match rest {
        b"" | b"b" | b"B" => Some(1000usize.pow(power)),
        b"i" | b"ib" | b"iB" => Some(1024usize.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", Some(0)),
            ("100000000", Some(100_000_000)),
            (" 64 MiB\n", Some(64 << 20)),
            ("100MB", Some(100_000_000)),
            ("1k", Some(1000)),
            ("2Gi", Some(2 << 30)),
            ("7b", Some(7)),
            ("", None),
            ("abc", None),
            ("-1", None),
            ("1e6", None),
            ("1.5G", None),
            ("12 34", None),
            ("9223372036854775807", Some(isize::MAX as usize)),
            ("9223372036854775808", None),
            ("99999999999999999999", None),
            ("9223372036854775807K", None),
        ] {
            assert_eq!(parse_size(text.as_bytes()), expected, "{text:?}");
        }
    }
}
