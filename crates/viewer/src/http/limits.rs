//! What a client may take.

use std::time::Duration;

/// The longest head of a request, bytes.
pub(super) const HEAD_BYTES_MAX: usize = 16 << 10;
/// Its headers.
pub(super) const HEADERS_MAX: usize = 64;
/// Connections at a time; a browser has six. What is more is closed.
pub(super) const CONNECTIONS_MAX: usize = 32;
/// How long a client may take to send a request, or to take some of an answer. Browsers open connections ahead.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(10);
/// What is read, and not looked at, of what follows a head.
pub(super) const REST_BYTES_MAX: u64 = 1 << 20;
