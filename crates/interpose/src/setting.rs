//! A heap's settings, from environment variables. A value that makes no sense is reported in one line, and the
//! default is used: heaphook waited for itself for ever when `INITIAL_MEMPOOL_SIZE` was `abc`.

use core::ffi::CStr;

use heapscribe_nolibc::environment;

use crate::line::Line;

/// Bytes of the longest value.
const VALUE_BYTES_MAX: usize = 256;

/// Calls `use_it` with the value of a variable; `None` when it is not set.
pub fn with<T>(name: &CStr, use_it: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let mut room = [0; VALUE_BYTES_MAX];
    let value = environment::known(name).or_else(|| environment::initial(name, &mut room))?;
    Some(use_it(value))
}

/// A size as the command line reads it (`heapscribe_wire::size`); `default` when the variable is not set, or no
/// size that an address space has.
pub fn size(name: &CStr, default: usize) -> usize {
    read(name, default, heapscribe_wire::size::parse)
}

/// A number of bytes, digits and nothing else, as heaphook's variables have it.
pub fn bytes(name: &CStr, default: usize) -> usize {
    read(name, default, digits)
}

fn read(name: &CStr, default: usize, parse: fn(&[u8]) -> Option<u64>) -> usize {
    let or_report = |value: &[u8]| {
        fitting(parse(value)).unwrap_or_else(|| {
            let line = Line::new().text(name.to_bytes()).text(b"=").text(value.get(..64).unwrap_or(value));
            line.text(b" is no size in bytes; ").number(default as u64).text(b" is used").print();
            default
        })
    };
    with(name, or_report).unwrap_or(default)
}

fn fitting(size: Option<u64>) -> Option<usize> {
    size.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes <= isize::MAX as usize)
}

fn digits(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    value.iter().all(u8::is_ascii_digit).then(|| heapscribe_wire::size::parse(value)).flatten()
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
            line.text(used).print();
            default
        }
    };
    with(name, read).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_space_has() {
        let check = |text: &str, expected: Option<usize>| {
            assert_eq!(fitting(heapscribe_wire::size::parse(text.as_bytes())), expected, "{text:?}");
        };
        check("64k", Some(65_536));
        check("9223372036854775807", Some(isize::MAX as usize));
        check("9223372036854775808", None);
        check("9223372036854775807K", None);
    }

    #[test]
    fn heaphooks_variables_are_digits() {
        let check =
            |text: &str, expected: Option<u64>| assert_eq!(digits(text.as_bytes()), expected, "{text:?}");
        check("100000000", Some(100_000_000));
        check(" 7\n", Some(7));
        for text in ["", "abc", "-1", "1e9", "64MiB", "1.5", "99999999999999999999"] {
            check(text, None);
        }
    }
}
