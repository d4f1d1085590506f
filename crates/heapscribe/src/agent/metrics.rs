//! Figures for Prometheus, in its text format 0.0.4, to whoever asks `GET /metrics`. A thread answers one after the other;
//! who asks slowly is hung up on.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use heapscribe_wire::head::{DROP_COUNTERS, LossReason};

use super::spool::Dropped;

/// How long a request, and a silence in it, may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of a request that are read.
const REQUEST_BYTES_MAX: usize = 8 << 10;

/// What is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) processes: u64,
    pub(crate) live_bytes: u64,
    pub(crate) live_objects: u64,
    /// All that was allocated since the agent began.
    pub(crate) allocated_bytes: u64,
    pub(crate) allocated_objects: u64,
    pub(crate) samples: u64,
    pub(crate) mean_bytes: u64,
    pub(crate) drops: [u64; DROP_COUNTERS],
    pub(crate) closed: u64,
    pub(crate) delivered: u64,
    pub(crate) spooled: (u64, u64),
    pub(crate) dropped: Dropped,
    pub(crate) is_away: bool,
}

/// The figures, shared with the thread that tells them.
#[derive(Clone, Default)]
pub(crate) struct Metrics(Arc<Mutex<Figures>>);

impl Metrics {
    /// Answers at this address from now on.
    ///
    /// # Errors
    /// When it cannot be listened at.
    pub(crate) fn serve(&self, address: SocketAddr) -> Result<()> {
        let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
        let shared = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = shared.answer(&stream); // who asked has hung up
            }
        });
        Ok(())
    }

    /// Tells these figures from now on.
    pub(crate) fn set(&self, figures: Figures) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    fn answer(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
            match stream.read(&mut piece)? {
                0 => break,
                n => request.extend_from_slice(&piece[..n]),
            }
        }
        let is_asked = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET /metrics?");
        let (status, body) = if is_asked {
            let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ("200 OK", text(&figures))
        } else {
            ("404 Not Found", "ask for /metrics\n".to_owned())
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }
}

fn text(figures: &Figures) -> String {
    let mut out = String::new();
    let lost = LossReason::lost_events(&figures.drops);
    let all = figures.samples.saturating_add(lost);
    let coverage = if all == 0 { 1.0 } else { figures.samples as f64 / all as f64 };
    let mut one = |name: &str, kind: &str, help: &str, value: String| {
        let _ = writeln!(out, "# HELP heapscribe_{name} {help}\n# TYPE heapscribe_{name} {kind}");
        let _ = writeln!(out, "heapscribe_{name} {value}");
    };
    let (gauge, counter) = ("gauge", "counter");
    let n = |n: u64| n.to_string();
    one("processes", gauge, "Recorded processes that live.", n(figures.processes));
    one("live_bytes", gauge, "Bytes of live blocks, estimated from samples.", n(figures.live_bytes));
    one("live_objects", gauge, "Live blocks, estimated from samples.", n(figures.live_objects));
    one(
        "allocated_bytes_total",
        counter,
        "Bytes allocated, estimated from samples.",
        n(figures.allocated_bytes),
    );
    one(
        "allocated_objects_total",
        counter,
        "Blocks allocated, estimated from samples.",
        n(figures.allocated_objects),
    );
    one("samples_total", counter, "Blocks that were sampled.", n(figures.samples));
    one("sampling_mean_bytes", gauge, "Mean bytes between two samples.", n(figures.mean_bytes));
    one(
        "coverage_ratio",
        gauge,
        "Samples that were recorded, of these and the events that were lost.",
        format!("{coverage:.6}"),
    );
    one("windows_closed_total", counter, "Windows that were written.", n(figures.closed));
    one("windows_delivered_total", counter, "Windows that the collector took.", n(figures.delivered));
    one("windows_spooled", gauge, "Windows that wait for the collector.", n(figures.spooled.0));
    one("spool_bytes", gauge, "Bytes of these on disk.", n(figures.spooled.1));
    one(
        "windows_dropped_total",
        counter,
        "Windows that the collector will not get.",
        n(figures.dropped.windows),
    );
    one("dropped_objects_total", counter, "Blocks allocated in these.", n(figures.dropped.blocks));
    one("dropped_bytes_total", counter, "Bytes of these blocks.", n(figures.dropped.bytes));
    one(
        "collector_up",
        gauge,
        "Whether the collector took what was sent last.",
        n(u64::from(!figures.is_away)),
    );
    let _ = writeln!(
        out,
        "# HELP heapscribe_lost_total What recorders lost, by reason.\n# TYPE heapscribe_lost_total counter"
    );
    for reason in LossReason::ALL {
        let count = figures.drops[reason as usize];
        let _ = writeln!(out, "heapscribe_lost_total{{reason=\"{}\"}} {count}", reason.name());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_line_and_its_kind() {
        let mut figures = Figures { live_bytes: 7, samples: 9, ..Figures::default() };
        figures.drops[LossReason::LogFull as usize] = 1;
        let text = text(&figures);
        for line in [
            "heapscribe_live_bytes 7",
            "heapscribe_coverage_ratio 0.900000",
            "heapscribe_lost_total{reason=\"log_full\"} 1",
            "# TYPE heapscribe_windows_dropped_total counter",
        ] {
            assert!(text.lines().any(|of| of == line), "{line}\n{text}");
        }
    }
}
