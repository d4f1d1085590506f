//! The part of an address behind `?`: names and values, percent-encoded as `URLSearchParams` of browsers writes them.

/// Names and values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads it. What is not text by its encoding is taken as far as it is; values with a name that is there twice stay.
    pub fn parse(text: &str) -> Query {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(name), decoded(value))
        };
        Query(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// Of names and values as they are.
    pub(crate) fn of(pairs: Vec<(String, String)>) -> Query {
        Query(pairs)
    }

    /// Adds a value.
    pub(crate) fn add(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    /// All names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%').and_then(hex);
        bytes.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_they_were_before_the_browser_encoded_them() {
        for (text, expected) in [
            ("", vec![]),
            ("from=1&to=2", vec![("from", "1"), ("to", "2")]),
            ("a&b=&=c&&", vec![("a", ""), ("b", ""), ("", "c")]),
            ("with=operator+new%28unsigned+long%29", vec![("with", "operator new(unsigned long)")]),
            ("x=%3Cscript%3E%26%3d%C3%A9", vec![("x", "<script>&=é")]),
            ("x=%&y=%4&z=%zz&w=%ff", vec![("x", "%"), ("y", "%4"), ("z", "%zz"), ("w", "\u{fffd}")]),
            ("a=1&a=2", vec![("a", "1"), ("a", "2")]),
        ] {
            let expected: Vec<_> = expected.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            assert_eq!(Query::parse(text), Query(expected), "{text}");
        }
        assert_eq!(Query::parse("a=1&a=2").get("a"), Some("1"));
        assert_eq!(Query::parse("a=1").get("b"), None);
    }
}
