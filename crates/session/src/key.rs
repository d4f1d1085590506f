//! The names of sessions: a session directory is called `PID.CREATED`.

use std::fmt;

/// The process of a session, and when the session was made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionKey {
    /// The process, as it calls itself in its own pid namespace.
    pub pid: u32,
    /// When it made the session, CLOCK_MONOTONIC ns.
    pub created_mono_ns: u64,
}

impl SessionKey {
    /// The key that a name has; `None` for names of other files.
    pub fn parse(name: &str) -> Option<SessionKey> {
        let (pid, created) = name.split_once('.')?;
        Some(SessionKey { pid: pid.parse().ok()?, created_mono_ns: created.parse().ok()? })
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.pid, self.created_mono_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_pid_and_a_time() {
        let key = SessionKey { pid: 7, created_mono_ns: 1000 };
        assert_eq!(key.to_string(), "7.1000");
        assert_eq!(SessionKey::parse("7.1000"), Some(key));
        for name in ["7", "7.", ".1000", "7.x", "plan"] {
            assert_eq!(SessionKey::parse(name), None, "{name}");
        }
    }
}
