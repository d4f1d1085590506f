//! Who is answered: the browser that was given the address, and no page of someone else's in it.
//!
//! Any page on the web may have the browser connect to this machine. Its requests come with its own `Origin`, or, when
//! its name was made to mean this machine (DNS rebinding), with its own `Host`. Both are refused before anything else is
//! looked at, and without the token every path is the same: there is nothing.

use super::request::Request;
use super::response::Status;
use super::token::Token;

/// The one path that changes something.
const CONTROL: &str = "api/control";

/// Who we are.
pub(super) struct Guard {
    port: u16,
    token: Token,
}

impl Guard {
    pub(super) fn new(port: u16, token: Token) -> Guard {
        Guard { port, token }
    }

    /// What is asked for behind the token: the path without its first `/`, and the query. A change is a POST to the one
    /// path that changes something, from our own page, which browsers name as its origin.
    pub(super) fn admit<'r>(&self, request: &'r Request) -> Result<(&'r str, &'r str), Status> {
        let [host] = request.hosts.as_slice() else { return Err(Status::Forbidden) };
        let is_ours = |name: &str| self.names().iter().any(|ours| ours.eq_ignore_ascii_case(name));
        let is_our_origin = |origin: &String| origin.strip_prefix("http://").is_some_and(is_ours);
        if !is_ours(host) || !request.origins.iter().all(is_our_origin) {
            return Err(Status::Forbidden);
        }
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let (token, path) =
            path.strip_prefix('/').and_then(|path| path.split_once('/')).ok_or(Status::NoSuchPath)?;
        if !self.token.is(token) {
            return Err(Status::NoSuchPath);
        }
        let is_change = request.is_change() && path == CONTROL && !request.origins.is_empty();
        if !matches!(request.method.as_str(), "GET" | "HEAD") && !is_change {
            return Err(Status::MethodNotAllowed);
        }
        if request.has_body {
            return Err(Status::BadRequest);
        }
        Ok((path, query))
    }

    fn names(&self) -> [String; 2] {
        [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: String, hosts: &[&str], origins: &[&str]) -> Request {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Request {
            method: method.into(),
            target,
            hosts: owned(hosts),
            origins: owned(origins),
            has_body: false,
        }
    }

    #[test]
    fn only_the_browser_with_the_token_gets_in() {
        let token = Token::random().unwrap();
        let guard = Guard::new(4000, token.clone());
        let (us, page) = ("127.0.0.1:4000", format!("/{token}/api/flame?at=1"));
        let check = |method: &str, target: &str, hosts: &[&str], origins: &[&str], expected| {
            let request = request(method, target.to_owned(), hosts, origins);
            assert_eq!(guard.admit(&request), expected, "{request:?}");
        };
        let there = Ok(("api/flame", "at=1"));
        check("GET", &page, &[us], &[], there);
        check("HEAD", &page, &["localhost:4000"], &["http://localhost:4000"], there);
        check("GET", &page, &["LOCALHOST:4000"], &["http://127.0.0.1:4000"], there);
        check("POST", &page, &[us], &[], Err(Status::MethodNotAllowed));
        let control = format!("/{token}/api/control?do=stop");
        let ours = &["http://127.0.0.1:4000"][..];
        check("POST", &control, &[us], ours, Ok(("api/control", "do=stop")));
        check("POST", &control, &[us], &[], Err(Status::MethodNotAllowed));
        check("POST", &control, &[us], &["http://evil.example"], Err(Status::Forbidden));
        check("POST", &control[1..], &[us], ours, Err(Status::NoSuchPath));
        check("PUT", &control, &[us], ours, Err(Status::MethodNotAllowed));
        check("POST", &page, &[us], ours, Err(Status::MethodNotAllowed));
        for hosts in [&[][..], &["evil.example:4000"], &["127.0.0.1"], &["127.0.0.1:4001"], &[us, us]] {
            check("GET", &page, hosts, &[], Err(Status::Forbidden));
        }
        for origin in
            ["null", "https://127.0.0.1:4000", "http://evil.example", "http://127.0.0.1:4000.evil.example"]
        {
            check("GET", &page, &[us], &[origin], Err(Status::Forbidden));
        }
        for target in ["/", "//", "*", "", "/api/flame", &page[..20], &format!("/{token}"), "http://x/"] {
            check("GET", target, &[us], &[], Err(Status::NoSuchPath));
            check("POST", target, &[us], &[], Err(Status::NoSuchPath));
        }
        let with_body = Request { has_body: true, ..request("GET", page, &[us], &[]) };
        assert_eq!(guard.admit(&with_body), Err(Status::BadRequest));
    }
}
