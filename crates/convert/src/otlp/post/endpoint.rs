//! Where a collector listens.

use std::fmt;

use heapscribe_diagnostics::Problem;

/// Where collectors take profiles, unless the URL says another place.
const PATH: &str = "/v1development/profiles";
const PORT: u16 = 80;

/// The URL of a collector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Its name, or its address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
}

impl Endpoint {
    /// Reads a URL.
    ///
    /// # Errors
    /// When it is none that we speak.
    pub fn parse(url: &str) -> Result<Endpoint, Problem> {
        let not_one = || {
            Problem::new(
                format!("`{url}` is no URL of a collector"),
                "give it as http://HOST:PORT, such as http://localhost:4318",
            )
        };
        if url.starts_with("https://") {
            let what = format!("{url}: heapscribe does not speak https");
            let hint = "send to a collector on this machine (http://localhost:4318), which speaks https to the next one";
            return Err(Problem::new(what, hint));
        }
        let rest = url.strip_prefix("http://").ok_or_else(not_one)?;
        let (place, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@');
        let (host, port) = match place.strip_prefix('[') {
            Some(bracketed) => bracketed.split_once(']').ok_or_else(not_one)?,
            None => place.find(':').map_or((place, ""), |at| place.split_at(at)),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| not_one())?,
            None if port.is_empty() => PORT,
            None => return Err(not_one()),
        };
        if host.is_empty() || !is_plain(host) || !is_plain(path) {
            return Err(not_one());
        }
        let path = if path.len() <= 1 { PATH.to_owned() } else { path.to_owned() };
        Ok(Endpoint { host: host.to_owned(), port, path })
    }

    /// As a request names it.
    pub(super) fn authority(&self) -> String {
        let Endpoint { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}
