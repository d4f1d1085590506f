//! Connections: each gets a thread, one answer, and an end.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::guard::Guard;
use super::limits::{CONNECTIONS_MAX, IDLE_MAX, REST_BYTES_MAX};
use super::query::Query;
use super::request::{self, NoRequest, Request};
use super::response::{Response, Status};
use super::token::Token;

/// What is asked for, by someone who may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The path behind the token, without a `/` in front.
    pub path: String,
    /// The query.
    pub query: Query,
    /// Whether it is to change something.
    pub is_change: bool,
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    guard: Guard,
    address: String,
    stop: Stop,
}

/// Ends a server from another thread.
#[derive(Clone)]
pub struct Stop {
    port: u16,
    is_asked: Arc<AtomicBool>,
}

impl Stop {
    /// Ends it: it accepts no more, and closes what is open.
    pub fn stop(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
        // It waits for a connection; if none can be made, then it listens no more.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }

    fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::SeqCst)
    }
}

impl Server {
    /// Listens on this machine only; port 0 is any that is free.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn listen(port: u16, token: Token) -> io::Result<Server> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let port = listener.local_addr()?.port();
        Ok(Server {
            listener,
            address: format!("http://127.0.0.1:{port}/{token}/"),
            guard: Guard::new(port, token),
            stop: Stop { port, is_asked: Arc::default() },
        })
    }

    /// Where the page is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What ends it.
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// Answers requests until it is stopped.
    pub fn serve(&self, answer: &(impl Fn(&Asked) -> Response + Sync)) {
        let open = Open::default();
        thread::scope(|scope| {
            for (number, connection) in (0u64..).zip(self.listener.incoming()) {
                if self.stop.is_asked() {
                    break;
                }
                // Of a client that has left already, or when there are no more descriptors: the next may do better.
                let Ok(connection) = connection else { continue };
                if !open.add(number, &connection) {
                    continue;
                }
                let open = &open;
                scope.spawn(move || {
                    let _ = self.one(&connection, answer); // a client that left needs no answer
                    open.remove(number);
                });
            }
            open.close();
        });
    }

    fn one(&self, mut connection: &TcpStream, answer: &impl Fn(&Asked) -> Response) -> io::Result<()> {
        connection.set_read_timeout(Some(IDLE_MAX))?;
        connection.set_write_timeout(Some(IDLE_MAX))?;
        let (response, with_body) = match request::read(&mut connection) {
            Ok(request) => (self.response(&request, answer), request.method != "HEAD"),
            Err(NoRequest::Nothing) => return Ok(()),
            Err(NoRequest::Malformed) => (Response::empty(Status::BadRequest), true),
            Err(NoRequest::TooLong) => (Response::empty(Status::TooLarge), true),
        };
        response.write(&mut connection, with_body)?;
        connection.shutdown(Shutdown::Write)?;
        // The kernel takes an answer back of which the client is still sending the question.
        io::copy(&mut connection.take(REST_BYTES_MAX), &mut io::sink())?;
        Ok(())
    }

    fn response(&self, request: &Request, answer: &impl Fn(&Asked) -> Response) -> Response {
        match self.guard.admit(request) {
            Ok((path, query)) => answer(&Asked {
                path: path.to_owned(),
                query: Query::parse(query),
                is_change: request.is_change(),
            }),
            Err(status) => Response::empty(status),
        }
    }
}

/// Connections that are open, to be closed at the end: one that a browser opened ahead would be waited for.
#[derive(Default)]
struct Open(Mutex<HashMap<u64, TcpStream>>);

impl Open {
    /// Whether there is room for one more.
    fn add(&self, number: u64, connection: &TcpStream) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(connection) = connection.try_clone() else { return false };
        open.len() < CONNECTIONS_MAX && open.insert(number, connection).is_none()
    }

    fn remove(&self, number: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    fn close(&self) {
        for connection in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            let _ = connection.shutdown(Shutdown::Both); // else it is closed already
        }
    }
}
