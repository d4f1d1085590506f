//! Moments of a trace, as users write them: `1.5s`, `30%`, `mark:NAME`, `section:NAME`, `peak`.

use std::fmt;

use heapscribe_units::{duration, parse_duration};

/// A moment of a trace.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Moment {
    /// So many ns after the start.
    Time(u64),
    /// This part of the whole time, from 0 to 1.
    Part(f64),
    /// When a mark of this name was set the `n`th time, counted from 1.
    Mark(String, usize),
    /// When a section of this name began the `n`th time; as the end of a range, when that one ended.
    Section(String, usize),
    /// The moment with the most live bytes.
    Peak,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, what: &str, name: &str, number: usize| match number {
            1 => write!(f, "{what} {name}"),
            _ => write!(f, "{what} {name} #{number}"),
        };
        match self {
            Moment::Time(ns) => f.write_str(&duration(*ns)),
            Moment::Part(part) => write!(f, "{} %", part * 100.0),
            Moment::Mark(name, number) => named(f, "mark", name, *number),
            Moment::Section(name, number) => named(f, "section", name, *number),
            Moment::Peak => f.write_str("peak"),
        }
    }
}

/// Reads a moment.
pub(super) fn parse_moment(text: &str) -> Result<Moment, String> {
    if let Some(number) = text.strip_suffix('%') {
        let part = number.trim().parse().ok().filter(|part| (0.0..=100.0).contains(part));
        let wrong = || format!("`{text}` is not a part of the trace; expected 0% to 100%");
        return part.map(|part: f64| Moment::Part(part / 100.0)).ok_or_else(wrong);
    }
    match text.split_once(':') {
        Some(("mark", name)) => named(name).map(|(name, number)| Moment::Mark(name, number)),
        Some(("section", name)) => named(name).map(|(name, number)| Moment::Section(name, number)),
        None if text == "peak" => Ok(Moment::Peak),
        _ => parse_duration(text).map(Moment::Time).map_err(|_| {
            format!(
                "`{text}` is not a moment; expected for example 1.5s, 30%, mark:NAME, section:NAME or peak"
            )
        }),
    }
}

/// `NAME` or `NAME#NUMBER`.
fn named(text: &str) -> Result<(String, usize), String> {
    let numbered = text.rsplit_once('#').and_then(|(name, number)| Some((name, number.parse().ok()?)));
    match numbered.unwrap_or((text, 1)) {
        ("", _) => Err("the name is missing, as in mark:NAME".to_owned()),
        (_, 0) => Err(format!("`{text}`: the first one has the number 1")),
        (name, number) => Ok((name.to_owned(), number)),
    }
}

/// Reads two moments, `A..B`; a section alone is from its begin to its end.
pub(super) fn parse_moments(text: &str) -> Result<(Moment, Moment), String> {
    match text.split_once("..") {
        Some((from, to)) => Ok((parse_moment(from)?, parse_moment(to)?)),
        None => match parse_moment(text)? {
            section @ Moment::Section(..) => Ok((section.clone(), section)),
            _ => Err(format!("`{text}` is not a range; expected for example 1s..2s or mark:A..mark:B")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_times_parts_and_names() {
        let name = |name: &str| name.to_owned();
        for (text, moment) in [
            ("1.5s", Moment::Time(1_500_000_000)),
            ("200ms", Moment::Time(200_000_000)),
            ("30%", Moment::Part(0.3)),
            ("mark:loaded", Moment::Mark(name("loaded"), 1)),
            ("mark:a:b#3", Moment::Mark(name("a:b"), 3)),
            ("section:issue #x", Moment::Section(name("issue #x"), 1)),
            ("peak", Moment::Peak),
        ] {
            assert_eq!(parse_moment(text), Ok(moment), "{text}");
        }
        for text in ["", "101%", "-1%", "mark:", "mark:x#0", "tomorrow", "pool:x", "nan%"] {
            assert!(parse_moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_is_two_moments_or_a_section() {
        let section = Moment::Section("parse".to_owned(), 1);
        assert_eq!(parse_moments("section:parse"), Ok((section.clone(), section)));
        assert_eq!(parse_moments("10%..peak"), Ok((Moment::Part(0.1), Moment::Peak)));
        assert!(parse_moments("1s").is_err() && parse_moments("1s..").is_err());
    }
}
