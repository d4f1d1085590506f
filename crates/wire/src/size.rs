//! Sizes as people write them, on the command line and in the variables of a heap: one rule, because a `64k` that
//! is 65,536 bytes behind `--pool` and 64,000 in `HEAPSCRIBE_POOL` is a pool that nobody asked for.
//!
//! | written | bytes |
//! |---|---|
//! | `4096`, `4096B` | as it stands |
//! | `64K`, `64Ki`, `64KiB` | of 1,024; so with M, G and T |
//! | `64KB` | of 1,000; so with M, G and T |
//! | `1.5GB` | parts of a unit, down to whole bytes |
//!
//! Letters may be small; blanks around and before the unit do not count. A sign, an exponent, and what has more than
//! 64 bits are no sizes.

/// Reads a size; `None` when it is none.
pub fn parse(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let end = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let (number, unit) = text.split_at_checked(end)?;
    let scale = scale(unit.trim_ascii())?;
    let mut sides = number.splitn(2, |byte| *byte == b'.');
    let (whole, part) = (sides.next()?, sides.next());
    if whole.is_empty() && part.is_none_or(<[u8]>::is_empty) {
        return None;
    }
    digits(whole)?.checked_mul(scale)?.checked_add(part_of(part.unwrap_or_default(), scale)?)
}

/// Digits and nothing else; none are 0.
fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// What stands behind the point, in bytes. More digits than make a difference do not count.
fn part_of(text: &[u8], scale: u64) -> Option<u64> {
    const DIGITS_MAX: usize = 18;
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let used = text.get(..DIGITS_MAX).unwrap_or(text);
    let unit = 10u128.pow(used.len() as u32);
    u64::try_from((u128::from(digits(used)?) * u128::from(scale)).checked_div(unit)?).ok()
}

fn scale(unit: &[u8]) -> Option<u64> {
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
    if rest.eq_ignore_ascii_case(b"b") {
        return Some(1000u64.pow(power));
    }
    let is_binary = rest.is_empty() || rest.eq_ignore_ascii_case(b"i") || rest.eq_ignore_ascii_case(b"ib");
    is_binary.then(|| 1024u64.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |text: &str, bytes: u64| assert_eq!(parse(text.as_bytes()), Some(bytes), "{text:?}");
        check("0", 0);
        check("100000000", 100_000_000);
        check(" 64 MiB\n", 64 << 20);
        check("64k", 64 << 10);
        check("64K", 64 << 10);
        check("1g", 1 << 30);
        check("2Gi", 2 << 30);
        check("2tib", 2 << 40);
        check("100MB", 100_000_000);
        check("1kb", 1000);
        check("7b", 7);
        check("1.5MB", 1_500_000);
        check("1.5k", 1536);
        check(".5KiB", 512);
        check("1.", 1);
        check("0.3333333333333333333333333", 0);
        check("1.999999999999999999999KB", 1999);
        check("18446744073709551615", u64::MAX);
    }

    #[test]
    fn what_is_no_size() {
        let none = [
            "",
            " ",
            ".",
            "abc",
            "GiB",
            "-1",
            "+1",
            "1e6",
            "1XB",
            "1.2.3",
            "12 34",
            "1,000",
            "0x10",
            "64KiBs",
            "18446744073709551616",
            "99999999999TiB",
            "1.9999999999999999999999999x",
            "1.\u{663}",
        ];
        for text in none {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn anything_is_a_size_or_none(text: Vec<u8>, number: u64) {
            let _ = parse(&text);
            proptest::prop_assert_eq!(parse(number.to_string().as_bytes()), Some(number));
        }
    }
}
