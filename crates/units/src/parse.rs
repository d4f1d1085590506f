//! Numbers with units, as people write them.

/// Reads a size as `heapscribe_wire::size` has it.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; expected for example 4096, 512MiB or 1GB");
    heapscribe_wire::size::parse(text.as_bytes()).ok_or_else(wrong)
}

/// Reads 1.5s, 200ms, 3m and the like; without a unit it is seconds. Nanoseconds.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time; expected for example 1.5s, 200ms or 3m");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let ns = match unit.trim() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "" | "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 24.0 * 3600e9,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Ok((number * ns) as u64)
}

/// Reads a sampling rate, more than 0 and at most 1.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("`{text}` is not a rate; expected a number above 0 and up to 1, for example 0.01 or 1e-4");
    text.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1.0).ok_or_else(wrong)
}

/// Reads 20% or 20; hundredths.
pub fn parse_percent(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a percentage; expected for example 20%, at most 1000%");
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    number.parse().ok().filter(|percent| *percent <= 1000).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("64KiB", 65536), ("1g", 1 << 30), ("1.5MB", 1_500_000)]
        {
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
        for text in ["", "GiB", "1XB", "99999999999TiB", "1.2.3"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        let check = |text: &str, ns: u64| assert_eq!(parse_duration(text), Ok(ns), "{text}");
        check("1.5s", 1_500_000_000);
        check("2", 2_000_000_000);
        check("200ms", 200_000_000);
        check("3m", 180_000_000_000);
        check("7d", 604_800_000_000_000);
        assert!(parse_duration("soon").is_err());
    }

    #[test]
    fn percentages_are_whole() {
        assert_eq!([parse_percent("20%"), parse_percent("0")], [Ok(20), Ok(0)]);
        for text in ["", "%", "-1%", "1.5%", "1001%"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rate_is_above_0_and_at_most_1() {
        assert_eq!(parse_rate("1e-4"), Ok(1e-4));
        for text in ["0", "1.1", "-1", "nan", "x"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }
}
