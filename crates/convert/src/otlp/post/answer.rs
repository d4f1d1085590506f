//! What a collector answers: HTTP/1.1, of which the status, the time to wait and the first bytes of the body count.

use std::io::{self, Read};
use std::time::Duration;

use heapscribe_wire::varint;

/// Bytes of an answer that are read; a collector's has some hundred.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// Characters of a collector's words that are shown.
const WORDS_MAX: usize = 300;

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Answer {
    /// Such as 200.
    pub(super) status: u16,
    /// What stands behind it.
    pub(super) reason: String,
    /// How long to wait before the next try, if it says so.
    pub(super) retry_after: Option<Duration>,
    body: Vec<u8>,
}

impl Answer {
    /// Reads one to its end.
    ///
    /// # Errors
    /// When there is none, or it is no HTTP.
    pub(super) fn read(from: impl Read) -> io::Result<Answer> {
        let mut bytes = Vec::new();
        let read = from.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            read?;
            let what = if bytes.is_empty() { "the connection was closed" } else { "the answer is no HTTP" };
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status_line = lines.next().and_then(|line| line.strip_prefix("HTTP/1."));
        let mut words = status_line.unwrap_or_default().splitn(3, ' ').skip(1);
        let status = words.next().and_then(|status| status.parse().ok());
        let status =
            status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is no HTTP"))?;
        let mut answer =
            Answer { status, reason: shown(words.next().unwrap_or_default()), ..Answer::default() };
        let mut body = bytes[end + 4..].to_vec();
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            match (name.to_ascii_lowercase().as_str(), value.trim()) {
                ("retry-after", seconds) => {
                    answer.retry_after = seconds.parse().ok().map(Duration::from_secs)
                }
                ("transfer-encoding", "chunked") => body = unchunked(&body),
                _ => {}
            }
        }
        Ok(Answer { body, ..answer })
    }

    /// How many profiles it did not take of a message that it took, and why.
    pub(super) fn rejected(&self) -> Option<(u64, String)> {
        let partial = Fields(&self.body).find_map(|(field, value)| (field == 1).then_some(value))?;
        let Value::Bytes(partial) = partial else { return None };
        let (mut count, mut words) = (0, String::new());
        for (field, value) in Fields(partial) {
            match (field, value) {
                (1, Value::Number(n)) => count = n,
                (2, Value::Bytes(bytes)) => words = shown(&String::from_utf8_lossy(bytes)),
                _ => {}
            }
        }
        (count > 0 || !words.is_empty()).then_some((count, words))
    }

    /// Its words where it refuses: those of a `Status`, else the text of the body.
    pub(super) fn words(&self) -> String {
        let status = Fields(&self.body).find_map(|(field, value)| match value {
            Value::Bytes(bytes) if field == 2 => std::str::from_utf8(bytes).ok().map(shown),
            _ => None,
        });
        status.unwrap_or_else(|| shown(&String::from_utf8_lossy(&self.body)))
    }
}

/// What can be shown of somebody else's words.
fn shown(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(WORDS_MAX).collect::<String>().trim().to_owned()
}

/// The body of which each part has its length before it.
fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = bytes.windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&bytes[..at]).ok();
        let length = length.and_then(|text| usize::from_str_radix(text.split(';').next()?.trim(), 16).ok());
        let part = length.filter(|length| *length > 0).and_then(|length| bytes[at + 2..].get(..length));
        let Some(part) = part else { break };
        body.extend_from_slice(part);
        bytes = bytes[at + 2 + part.len()..].strip_prefix(b"\r\n").unwrap_or_default();
    }
    body
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, as long as they make sense.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let (value, bytes) = varint::get(self.0)?;
        self.0 = self.0.get(bytes..)?;
        Some(value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Value::Bytes(bytes)
            }
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}
