//! A server on a small recording, and a client that sends bytes as they are.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use heapscribe_convert::ranges::IndexOptions;
use heapscribe_convert::{Input, Opened, Salvage};
use heapscribe_symbols::Resolver;
use heapscribe_viewer::{Server, Token, Viewer};
use heapscribe_views::messages::correlation::EachMessage;
use serde_json::Value;

use crate::recording;

/// Where a server is.
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) token: String,
}

/// An answer: its status, its headers in small letters, its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Serves the recording while `client` asks.
pub(crate) fn serve(client: impl FnOnce(&Place)) {
    serve_all(1, "app.c", None, client);
}

/// The same, with messages of a log beside it.
pub(crate) fn serve_messages(each: &EachMessage, client: impl FnOnce(&Place)) {
    serve_all(1, "app.c", Some(each), client);
}

/// The same, of a program with this file of source.
pub(crate) fn serve_source(source: &str, client: impl FnOnce(&Place)) {
    serve_all(1, source, None, client);
}

/// The same, compared with itself: each function and each stack is found again.
pub(crate) fn serve_compared(client: impl FnOnce(&Place)) {
    serve_all(2, "app.c", None, client);
}

/// The recording with marks.
pub(crate) fn serve_marked(client: impl FnOnce(&Place)) {
    open(&[recording::marked()], |viewer| serve_one(&viewer, client));
}

/// The recording with a function that passes requests on.
pub(crate) fn serve_wrapped(client: impl FnOnce(&Place)) {
    open(&[recording::wrapped()], |viewer| serve_one(&viewer, client));
}

/// Opens recordings, each compared with the one before.
pub(crate) fn open(traces: &[Vec<u8>], look: impl FnOnce(Viewer<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let write = |(n, bytes): (usize, &Vec<u8>)| {
        let path = folder.path().join(["run.hst", "run2.hst"][n]);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let paths: Vec<_> = traces.iter().enumerate().map(write).collect();
    let open = |path| Input::open(path).unwrap().into_trace(Salvage::default()).unwrap();
    let traces: Vec<_> = paths.iter().map(|path| open(path)).collect();
    let recordings: Vec<_> = traces.iter().map(Opened::recording).collect();
    let viewers = traces.iter().zip(&recordings).zip(&paths).map(|((trace, recording), path)| {
        let resolver = Resolver::new("/nonexistent");
        Viewer::open(trace, recording, path, resolver, &IndexOptions::default(), &mut |_, _| {})
    });
    look(viewers.reduce(|before, after| after.compared_with(before)).unwrap());
}

fn serve_all(traces: usize, source: &str, messages: Option<&EachMessage>, client: impl FnOnce(&Place)) {
    open(&vec![recording::trace(source); traces], |viewer| match messages {
        Some(each) => serve_one(&viewer.with_messages(each), client),
        None => serve_one(&viewer, client),
    });
}

fn serve_one(viewer: &Viewer<'_>, client: impl FnOnce(&Place)) {
    viewer.analyze();
    let server = Server::listen(0, Token::random().unwrap()).unwrap();
    let (host, token) = server.address().trim_start_matches("http://").split_once('/').unwrap();
    let place = Place { host: host.to_owned(), token: token.trim_end_matches('/').to_owned() };
    let stop = server.stopper();
    thread::scope(|scope| {
        scope.spawn(|| server.serve(&|asked| viewer.answer(asked)));
        // A test that fails must not wait for a server that nobody ends.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client(&place)));
        stop.stop();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

impl Place {
    /// Sends a request as it is.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Asks as the browser does that has the address.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let Place { host, token } = self;
        self.send(&format!("GET /{token}/{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    }

    /// What the browser is told.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/{}/", self.host, self.token)
    }

    /// An answer as an object.
    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }
}
