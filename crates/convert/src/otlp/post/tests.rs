//! Against a collector that does what a script says, one connection after the other.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Endpoint, Patience, Posted, post};
use crate::protobuf::Message;

/// What becomes of a connection.
#[derive(Clone)]
enum Act {
    /// An answer to the whole request.
    Answer(Vec<u8>),
    /// An answer before the request is read.
    AnswerAtOnce(Vec<u8>),
    /// The connection is closed without an answer.
    Close,
    /// Nothing, until we give up.
    Silence,
}

const PATIENCE: Patience =
    Patience { tries: 3, first_wait: Duration::from_millis(1), timeout: Duration::from_secs(20) };

fn answer(status: &str, more: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{more}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Reads a request: its head, and the body without compression.
fn request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            if bytes.len() == end + 4 + length.parse::<usize>().unwrap() {
                let mut body = Vec::new();
                flate2::read::GzDecoder::new(&bytes[end + 4..]).read_to_end(&mut body).unwrap();
                return (head, body);
            }
        }
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "the request ends in its middle");
        bytes.extend_from_slice(&piece[..n]);
    }
}

/// The head of a request, and its body, unpacked.
type Request = (String, Vec<u8>);

/// A collector; it ends with the requests that it read.
fn collector(script: Vec<Act>) -> (Endpoint, JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serve = move || {
        let mut requests = Vec::new();
        for act in script {
            let (mut stream, _) = listener.accept().unwrap();
            match act {
                Act::Answer(bytes) => {
                    requests.push(request(&mut stream));
                    stream.write_all(&bytes).unwrap();
                }
                Act::AnswerAtOnce(bytes) => {
                    stream.write_all(&bytes).unwrap();
                    requests.push(request(&mut stream));
                }
                Act::Close => requests.push(request(&mut stream)),
                Act::Silence => {
                    let _ = stream.read_to_end(&mut Vec::new()); // until the other side closes
                }
            }
        }
        requests
    };
    (Endpoint::parse(&url).unwrap(), thread::spawn(serve))
}

fn check(script: Vec<Act>, patience: Patience, expected: Result<Posted, &str>) {
    let (endpoint, serving) = collector(script);
    let message = vec![7; 100_000];
    let result = post(&endpoint, &message, patience).map_err(|problem| problem.to_string());
    let requests = serving.join().unwrap();
    for (head, body) in requests {
        assert!(head.starts_with("POST /v1development/profiles HTTP/1.1\r\nHost: 127.0.0.1:"), "{head}");
        assert!(head.contains("\r\nContent-Type: application/x-protobuf\r\n"), "{head}");
        assert!(body == message);
    }
    match (result, expected) {
        (Err(problem), Err(part)) => assert!(problem.contains(part), "{problem}"),
        (result, expected) => assert_eq!(result, expected.map_err(str::to_owned)),
    }
}

#[test]
fn a_message_is_taken() {
    check(vec![Act::Answer(answer("200 OK", "", b""))], PATIENCE, Ok(Posted::default()));
    check(vec![Act::AnswerAtOnce(answer("202 Accepted", "", b""))], PATIENCE, Ok(Posted::default()));
}

#[test]
fn what_is_for_a_moment_is_tried_again() {
    let busy = || Act::Answer(answer("503 Service Unavailable", "Retry-After: 0\r\n", b""));
    let script = vec![busy(), Act::Close, Act::Answer(answer("200 OK", "", b""))];
    check(script, PATIENCE, Ok(Posted { failed_tries: 2, rejected: None }));
    let expected = Err("took no profiles in 3 tries: 503 Service Unavailable");
    check(vec![busy(), busy(), busy()], PATIENCE, expected);
    let expected = Err("took no profiles in 3 tries: the connection was closed");
    check(vec![busy(), Act::Close, Act::Close], PATIENCE, expected);
}

#[test]
fn a_collector_that_does_not_answer_is_given_up() {
    let patience = Patience { timeout: Duration::from_millis(50), ..PATIENCE };
    let silence = vec![Act::Silence, Act::Silence, Act::Silence];
    check(silence, patience, Err("took no profiles in 3 tries: no answer in time"));
}

#[test]
fn a_refusal_is_final_and_has_its_words() {
    let mut status = Message::default();
    status.number(1, 3);
    status.bytes(2, b"profiles are\nnot enabled");
    let refusal = answer("400 Bad Request", "", &status.into_bytes());
    check(
        vec![Act::Answer(refusal)],
        PATIENCE,
        Err("refused the profiles: 400 Bad Request: profiles are not enabled"),
    );
    let chunked =
        b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n404 \r\n4\r\npage\r\n0\r\n\r\n";
    check(
        vec![Act::Answer(chunked.to_vec())],
        PATIENCE,
        Err("refused the profiles: 404 Not Found: 404 page"),
    );
}

#[test]
fn what_is_not_taken_of_a_message_is_known() {
    let mut partial = Message::default();
    partial.number(1, 2);
    partial.bytes(2, b"too old");
    let mut body = Message::default();
    body.message(1, &partial);
    let taken = answer("200 OK", "", &body.into_bytes());
    let rejected = Some("2 not taken: too old".to_owned());
    check(vec![Act::Answer(taken)], PATIENCE, Ok(Posted { failed_tries: 0, rejected }));
}

#[test]
fn what_is_no_answer_is_no_success() {
    for bytes in [&b"220 smtp ready\r\n\r\n"[..], b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 2\xff0 OK\r\n\r\n"] {
        let act = Act::Answer(bytes.to_vec());
        check(vec![act.clone(), act.clone(), act], PATIENCE, Err("in 3 tries: the answer is no HTTP"));
    }
    let endpoint = Endpoint::parse("http://127.0.0.1:1").unwrap();
    let problem = post(&endpoint, b"x", PATIENCE).unwrap_err().to_string();
    assert!(problem.contains("took no profiles in 3 tries: Connection refused"), "{problem}");
}

#[test]
fn urls_are_read() {
    for (url, expected) in [
        ("http://localhost:4318", Some("http://localhost:4318/v1development/profiles")),
        ("http://collector/", Some("http://collector:80/v1development/profiles")),
        ("http://[::1]:4318/x/y", Some("http://[::1]:4318/x/y")),
        ("https://localhost:4318", None),
        ("http://", None),
        ("http://host:port", None),
        ("http://user@host", None),
        ("http://host/a\r\nX: y", None),
        ("localhost:4318", None),
    ] {
        assert_eq!(
            Endpoint::parse(url).ok().map(|endpoint| endpoint.to_string()).as_deref(),
            expected,
            "{url}"
        );
    }
}
