//! Answers and their headers.

use std::io::{self, Write};

/// What a browser may do with the page: run and show what comes from here as files, and nothing else. A name of a
/// function that got into markup by a mistake of ours would still run nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether a request was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// With what was asked for.
    Ok,
    /// It is being worked on: ask again.
    Accepted,
    /// The question makes no sense.
    BadRequest,
    /// From a page of someone else's, or by another name of this machine.
    Forbidden,
    /// There is no such thing, or the token is wrong.
    NoSuchPath,
    /// Something else than GET and HEAD.
    MethodNotAllowed,
    /// The head is too long.
    TooLarge,
    /// It could not be answered.
    ServerError,
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::Accepted => "202 Accepted",
            Status::BadRequest => "400 Bad Request",
            Status::Forbidden => "403 Forbidden",
            Status::NoSuchPath => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::TooLarge => "431 Request Header Fields Too Large",
            Status::ServerError => "500 Internal Server Error",
        }
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// Whether it is one.
    pub status: Status,
    /// What its body is.
    pub content_type: &'static str,
    /// What was asked for.
    pub body: Vec<u8>,
}

impl Response {
    /// One that says nothing.
    pub fn empty(status: Status) -> Response {
        Response { status, content_type: "text/plain; charset=utf-8", body: Vec::new() }
    }

    /// A file of the page.
    pub fn file(content_type: &'static str, body: &[u8]) -> Response {
        Response { status: Status::Ok, content_type, body: body.to_vec() }
    }

    /// An object.
    pub fn json(status: Status, object: &impl serde::Serialize) -> Response {
        match serde_json::to_vec(object) {
            Ok(body) => Response { status, content_type: "application/json", body },
            Err(_) => Response::empty(Status::ServerError),
        }
    }

    /// Sends it, for HEAD without its body.
    pub(super) fn write(&self, out: &mut impl Write, with_body: bool) -> io::Result<()> {
        let Response { status, content_type, body } = self;
        let head = format!(
            "HTTP/1.1 {}\r\n\
             Content-Type: {content_type}\r\n\
             Content-Length: {}\r\n\
             Content-Security-Policy: {POLICY}\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\n\
             Cache-Control: no-store\r\n\
             Connection: close\r\n\r\n",
            status.line(),
            body.len(),
        );
        out.write_all(head.as_bytes())?;
        if with_body {
            out.write_all(body)?;
        }
        out.flush()
    }
}
