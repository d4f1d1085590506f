//! When a snapshot is taken without being asked for: `rss=80%`, `live=2GiB`, `every=60s`, `peak`.

use std::fs;
use std::path::Path;

/// What brings a snapshot about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trigger {
    /// Resident memory reaches so many bytes.
    Rss(Size),
    /// Live blocks reach so many bytes.
    Live(Size),
    /// So many ns have gone by.
    Every(u64),
    /// The live blocks have a tenth more bytes than ever before.
    Peak,
}

/// Bytes, or a part of the memory that there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Size {
    Bytes(u64),
    Percent(u8),
}

impl Size {
    /// The bytes, on a machine that has so many.
    pub fn bytes(self, of: u64) -> u64 {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Percent(percent) => of / 100 * u64::from(percent),
        }
    }
}

impl Trigger {
    /// What its snapshots are called.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Rss(_) => "rss",
            Trigger::Live(_) => "live",
            Trigger::Every(_) => "every",
            Trigger::Peak => "peak",
        }
    }

    /// Reads one; sizes and times as the command line has them.
    pub fn parse(
        text: &str,
        bytes: impl Fn(&str) -> Result<u64, String>,
        time: impl Fn(&str) -> Result<u64, String>,
    ) -> Result<Trigger, String> {
        let size = |text: &str| match text.strip_suffix('%') {
            None => bytes(text).map(Size::Bytes),
            Some(percent) => match percent.parse() {
                Ok(percent @ 1..=100) => Ok(Size::Percent(percent)),
                _ => Err(format!("`{text}` is not a percentage of the memory; expected for example 80%")),
            },
        };
        match text.split_once('=') {
            None if text == "peak" => Ok(Trigger::Peak),
            Some(("rss", value)) => size(value).map(Trigger::Rss),
            Some(("live", value)) => size(value).map(Trigger::Live),
            Some(("every", value)) => match time(value)? {
                0 => Err("the interval must not be 0".to_owned()),
                ns => Ok(Trigger::Every(ns)),
            },
            _ => Err("expected rss=80%, live=2GiB, every=60s or peak".to_owned()),
        }
    }
}

/// The memory of this machine, or what this process's control groups leave of it.
pub(super) fn memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024).min(group_bytes().unwrap_or(u64::MAX))
}

/// The smallest limit of the control groups around this process.
fn group_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limit = |group: &Path| -> Option<u64> {
        fs::read_to_string(Path::new("/sys/fs/cgroup").join(group).join("memory.max"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    Path::new(own).ancestors().filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_words() {
        let number = |text: &str| text.parse().map_err(|_| "no number".to_owned());
        let parse = |text| Trigger::parse(text, number, number);
        for (text, trigger) in [
            ("peak", Trigger::Peak),
            ("rss=80%", Trigger::Rss(Size::Percent(80))),
            ("rss=4096", Trigger::Rss(Size::Bytes(4096))),
            ("live=7", Trigger::Live(Size::Bytes(7))),
            ("every=9", Trigger::Every(9)),
        ] {
            assert_eq!(parse(text), Ok(trigger));
        }
        for text in ["", "peak=1", "rss", "rss=0%", "rss=101%", "live=x", "every=0", "often"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(Size::Percent(80).bytes(1000), 800);
        assert!(memory_bytes() > 1 << 20);
    }
}
