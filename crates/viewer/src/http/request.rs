//! The head of a request: what is asked for, and the headers that say who asks.

use std::io::Read;

use super::limits::{HEAD_BYTES_MAX, HEADERS_MAX};

/// What of a request matters. A header that must be there once and is there twice is one that nobody should believe.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// As it was sent: path and query.
    pub(super) target: String,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    /// Whether a body follows.
    pub(super) has_body: bool,
}

impl Request {
    /// Whether it is to change something.
    pub(super) fn is_change(&self) -> bool {
        self.method == "POST"
    }
}

/// Why there is no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoRequest {
    /// The client has closed its end, or takes too long: it is owed no answer.
    Nothing,
    /// It is none of HTTP.
    Malformed,
    /// Its head is too long.
    TooLong,
}

/// Reads the head of a request.
pub(super) fn read(from: &mut impl Read) -> Result<Request, NoRequest> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while head.len() < HEAD_BYTES_MAX {
        let n = from.read(&mut piece).map_err(|_| NoRequest::Nothing)?;
        if n == 0 {
            return Err(if head.is_empty() { NoRequest::Nothing } else { NoRequest::Malformed });
        }
        head.extend_from_slice(&piece[..n]);
        if let Some(request) = parse(&head)? {
            return Ok(request);
        }
    }
    Err(NoRequest::TooLong)
}

/// The request, if its head is complete.
fn parse(head: &[u8]) -> Result<Option<Request>, NoRequest> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Err(NoRequest::TooLong),
        Err(_) => return Err(NoRequest::Malformed),
    }
    let values = |name: &str| -> Vec<String> {
        let of_name = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        of_name.map(|header| String::from_utf8_lossy(header.value).into_owned()).collect()
    };
    Ok(Some(Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        hosts: values("host"),
        origins: values("origin"),
        has_body: !values("transfer-encoding").is_empty()
            || values("content-length").iter().any(|n| n.trim() != "0"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, as a network does.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.0.len().min(3).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn a_head_is_read_in_pieces() {
        let request =
            read(&mut Slow(b"GET /t/?a=1 HTTP/1.1\r\nhOST: a\r\nHost: b\r\nOrigin: null\r\n\r\nrest"));
        let expected = Request {
            method: "GET".into(),
            target: "/t/?a=1".into(),
            hosts: vec!["a".into(), "b".into()],
            origins: vec!["null".into()],
            has_body: false,
        };
        assert_eq!(request, Ok(expected));
        assert!(read(&mut &b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"[..]).unwrap().has_body);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let endless = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(HEAD_BYTES_MAX));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(HEADERS_MAX + 1));
        for (bytes, expected) in [
            (&b""[..], NoRequest::Nothing),
            (b"GET / HT", NoRequest::Malformed),
            (b"\x16\x03\x01\x02\x00\x01", NoRequest::Malformed),
            (b"GET / HTTP/1.1\r\nno header\r\n\r\n", NoRequest::Malformed),
            (endless.as_bytes(), NoRequest::TooLong),
            (many.as_bytes(), NoRequest::TooLong),
        ] {
            assert_eq!(read(&mut &bytes[..]), Err(expected), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
