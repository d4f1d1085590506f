//! Tests that cannot come to the same under recording, and why: a list of lines
//!
//! ```text
//!   TEST  REASON         TEST: its whole name, or its beginning up to a `*`
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The list.
#[derive(Default)]
pub(super) struct Explained {
    reasons: Vec<(String, String)>,
}

impl Explained {
    pub(super) fn read(path: &Path) -> Result<Explained, String> {
        match fs::read_to_string(path) {
            Ok(text) => {
                Explained::parse(&text).map_err(|line| format!("{}: no reason: {line}", path.display()))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Explained::default()),
            Err(e) => Err(format!("{}: {e}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Explained, String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let pair = |line: &str| {
            let (test, reason) = line.split_once(char::is_whitespace).ok_or_else(|| line.to_owned())?;
            Ok((test.to_owned(), reason.trim().to_owned()))
        };
        lines.map(pair).collect::<Result<_, _>>().map(|reasons| Explained { reasons })
    }

    /// Why this test differs.
    pub(super) fn reason(&self, test: &str) -> Option<&str> {
        let is_of = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => test.starts_with(beginning),
            None => test == pattern,
        };
        self.reasons.iter().find(|(pattern, _)| is_of(pattern)).map(|(_, reason)| reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_have_reasons_by_name_or_beginning() {
        let list = Explained::parse("# why\n\ntest.a.B.c  it counts\ntest.x.*  all of x\n").unwrap();
        assert_eq!(list.reason("test.a.B.c"), Some("it counts"));
        assert_eq!(list.reason("test.a.B.cd"), None);
        assert_eq!(list.reason("test.x.Y.z"), Some("all of x"));
        assert!(Explained::parse("test.a").is_err());
    }
}
