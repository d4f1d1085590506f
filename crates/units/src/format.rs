//! Numbers as people read them: exact with separators, followed by a short form with a unit.

/// `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 block`, `2 blocks`, `3 entries`, `4 processes`.
pub fn counted(n: u64, singular: &str) -> String {
    if n == 1 { format!("1 {singular}") } else { format!("{} {}", count(n), plural(singular)) }
}

/// Several of a thing: `blocks`, `entries`, `processes`.
pub fn plural(singular: &str) -> String {
    let is_vowel = |c: char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u');
    match singular.strip_suffix('y').filter(|stem| !stem.ends_with(is_vowel)) {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with(['s', 'x']) || singular.ends_with("ch") => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}

/// `5,000,000 bytes (4.77 MiB)`; small numbers need no second form.
pub fn bytes(n: u64) -> String {
    let exact = counted(n, "byte");
    if n < 1024 { exact } else { format!("{exact} ({})", short_bytes(n)) }
}

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// `4.77 MiB`.
pub fn short_bytes(n: u64) -> String {
    if n < 1024 {
        return format!("{} B", count(n));
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

/// `4.00 MiB` of 4,194,304 bytes; where the short form is not all of the number, `4,194,305 bytes (4.00 MiB)`.
pub fn exact_bytes(n: u64) -> String {
    let short = short_bytes(n);
    let (number, unit) = short.split_once(' ').unwrap_or((&short, ""));
    let power = UNITS.iter().position(|one| *one == unit).map_or(0, |at| at as i32 + 1);
    let is_exact = number.replace(',', "").parse() == Ok(n as f64 / 1024_f64.powi(power));
    if is_exact { short } else { bytes(n) }
}

/// `1.23 s`, `45.6 ms`, `789 ns`.
pub fn duration(ns: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let found = UNITS.iter().find(|(_, scale)| ns as f64 >= *scale);
    found.map_or_else(
        || format!("{ns} ns"),
        |(unit, scale)| format!("{} {unit}", three_digits(ns as f64 / scale)),
    )
}

/// A time: a duration, or where nothing is known of times how many calls it took.
pub fn time(ns: u64, counts_calls: bool) -> String {
    if counts_calls { counted(ns, "call") } else { duration(ns) }
}

/// `12.3 %`, and `less than 0.1 %` of what is little and not nothing.
pub fn percent(part: u64, whole: u64) -> String {
    percent_or(part, whole, "less than 0.1 %")
}

/// The same for a column: `< 0.1 %`.
pub fn percent_cell(part: u64, whole: u64) -> String {
    percent_or(part, whole, "< 0.1 %")
}

fn percent_or(part: u64, whole: u64, little: &str) -> String {
    let percent = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    if percent > 0.0 && percent < 0.05 { little.to_owned() } else { format!("{percent:.1} %") }
}

/// `2026-11-21 10:15:00 UTC`, from ns since 1970.
pub fn date(real_ns: u64) -> String {
    let seconds = real_ns / 1_000_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// `2026-11-21T10:15:00.000000Z`, from µs since 1970.
pub fn timestamp(real_us: u64) -> String {
    let seconds = real_us / 1_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", real_us % 1_000_000)
}

/// The day of the Gregorian calendar, counted in years that begin in March so that leap days come last.
fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

fn three_digits(value: f64) -> String {
    if value >= 999.5 {
        return count(value.round() as u64);
    }
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1000), count(1234567)], ["0", "999", "1,000", "1,234,567"]);
        let several = [counted(1, "entry"), counted(2, "entry"), counted(0, "process"), counted(9, "day")];
        assert_eq!(several, ["1 entry", "2 entries", "0 processes", "9 days"]);
        assert_eq!([bytes(1), bytes(1023)], ["1 byte", "1,023 bytes"]);
        assert_eq!(bytes(5_000_000), "5,000,000 bytes (4.77 MiB)");
        assert_eq!([short_bytes(1024), short_bytes((1 << 20) - 1)], ["1.00 KiB", "1.00 MiB"]);
        assert_eq!(short_bytes(u64::MAX), "16.0 EiB");
        assert_eq!([short_bytes(1002), short_bytes(1021 << 10)], ["1,002 B", "1,021 KiB"]);
        assert_eq!([short_bytes(999 << 10), duration(1_234_000_000_000)], ["999 KiB", "1,234 s"]);
        assert_eq!([exact_bytes(3 << 20), exact_bytes(1000)], ["3.00 MiB", "1,000 B"]);
        assert_eq!([exact_bytes(1280), exact_bytes(3737)], ["1.25 KiB", "3,737 bytes (3.65 KiB)"]);
        assert_eq!(exact_bytes((3 << 20) + 1), "3,145,729 bytes (3.00 MiB)");
        assert_eq!([duration(0), duration(1_500), duration(12_345_678)], ["0 ns", "1.50 us", "12.3 ms"]);
        assert_eq!([duration(61_000_000_000), percent(1, 3), percent(1, 0)], ["61.0 s", "33.3 %", "0.0 %"]);
        assert_eq!(
            [percent(1, 2000), percent(1, 2001), percent_cell(1, 2001)],
            ["0.1 %", "less than 0.1 %", "< 0.1 %"]
        );
    }

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_795_256_100_000_000_000), "2026-11-21 10:15:00 UTC");
        assert_eq!(timestamp(1_795_256_100_000_042), "2026-11-21T10:15:00.000042Z");
    }
}
