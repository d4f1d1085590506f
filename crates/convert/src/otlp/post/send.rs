//! One message to a collector, with as many tries as it takes.

use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use heapscribe_diagnostics::Problem;

use super::answer::Answer;
use super::endpoint::Endpoint;

/// The longest that a collector may have us wait between two tries.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How often and how long to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Tries, at least one.
    pub tries: u32,
    /// The wait before the second; each further one is twice as long.
    pub first_wait: Duration,
    /// How long a connection, and a silence, may last.
    pub timeout: Duration,
}

impl Default for Patience {
    /// 15 s and a half, unless the collector asks for more.
    fn default() -> Self {
        Patience { tries: 6, first_wait: Duration::from_millis(500), timeout: Duration::from_secs(30) }
    }
}

/// A message that was taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Posted {
    /// Tries that failed before.
    pub failed_tries: u32,
    /// What the collector did not take of it, in its words.
    pub rejected: Option<String>,
}

/// Why a try failed, and whether another may not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// In words.
    pub what: String,
    /// Whether the message would be refused again.
    pub is_final: bool,
    /// How long the collector wants us to wait.
    pub wait: Option<Duration>,
}

/// Sends a message.
///
/// # Errors
/// When the collector refuses it, or cannot be reached.
pub fn post(endpoint: &Endpoint, message: &[u8], patience: Patience) -> Result<Posted, Problem> {
    let packed = gzip(message).map_err(|e| Problem::new(format!("cannot compress: {e}"), "free memory"))?;
    let mut wait = patience.first_wait;
    let mut failed_tries = 0;
    loop {
        let failure = match once(endpoint, &packed, patience.timeout) {
            Ok(rejected) => return Ok(Posted { failed_tries, rejected }),
            Err(failure) => failure,
        };
        failed_tries += 1;
        if failure.is_final {
            let hint = "check that it takes opentelemetry.proto.profiles.v1development of proto 1.9 to 1.11";
            return Err(Problem::new(format!("{endpoint} refused the profiles: {}", failure.what), hint));
        }
        if failed_tries >= patience.tries.max(1) {
            let what = format!("{endpoint} took no profiles in {failed_tries} tries: {}", failure.what);
            return Err(Problem::new(
                what,
                "look whether a collector listens there, or write a file with -o",
            ));
        }
        thread::sleep(failure.wait.unwrap_or(wait).min(WAIT_MAX));
        wait = wait.saturating_mul(2);
    }
}

/// Tries once to send a message that [`gzip`] compressed; what was not taken of it.
///
/// # Errors
/// When it was not taken.
pub fn post_once(endpoint: &Endpoint, packed: &[u8], timeout: Duration) -> Result<Option<String>, Failure> {
    once(endpoint, packed, timeout)
}

/// Compresses a message.
///
/// # Errors
/// When there is no memory.
pub fn gzip(message: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(message)?;
    packed.finish()
}

/// A try; what was not taken of the message.
fn once(endpoint: &Endpoint, packed: &[u8], timeout: Duration) -> Result<Option<String>, Failure> {
    let answer = exchange(endpoint, packed, timeout).map_err(|e| {
        let what = match e.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".to_owned(),
            _ => e.to_string(),
        };
        Failure { what, is_final: false, wait: None }
    })?;
    if (200..300).contains(&answer.status) {
        let rejected = answer.rejected();
        return Ok(rejected.map(|(count, words)| format!("{count} not taken: {words}")));
    }
    let words = answer.words();
    let colon = if words.is_empty() { "" } else { ": " };
    // What OTLP calls retryable; all else would be refused again.
    let is_final = !matches!(answer.status, 429 | 502..=504);
    let what = format!("{} {}{colon}{words}", answer.status, answer.reason);
    Err(Failure { what, is_final, wait: answer.retry_after })
}

fn exchange(endpoint: &Endpoint, packed: &[u8], timeout: Duration) -> io::Result<Answer> {
    let mut stream = connect(endpoint, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: heapscribe/{}\r\nContent-Type: application/x-protobuf\r\n\
         Content-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        endpoint.path,
        endpoint.authority(),
        env!("CARGO_PKG_VERSION"),
        packed.len(),
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(packed));
    // Who refuses a message may do so before it has read all of it.
    Answer::read(&stream).or_else(|e| sent.and(Err(e)))
}

fn connect(endpoint: &Endpoint, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (endpoint.host.as_str(), endpoint.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}
