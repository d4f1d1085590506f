//! An error that knows the next step, and the next step of errors that only the kernel explained.

use std::fmt;

/// An error that knows what its user could do about it.
#[derive(Debug)]
pub struct Problem {
    what: String,
    hint: String,
}

impl Problem {
    /// What is wrong, and what to do next.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Problem {}

/// What to do next about an error: its own hint, or what the kernel's code for it suggests.
pub fn hint_of(e: &anyhow::Error) -> Option<&str> {
    if let Some(problem) = e.chain().find_map(|cause| cause.downcast_ref::<Problem>()) {
        return Some(&problem.hint);
    }
    e.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()).and_then(next_step)
}

/// What to do about a file when nothing more is known than what the kernel said.
fn next_step(e: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind::*;
    Some(match e.kind() {
        NotFound => "check the spelling, and that its directory exists",
        PermissionDenied | ReadOnlyFilesystem => {
            "check its permissions and those of its directory, or choose another path"
        }
        AlreadyExists | NotADirectory => "choose another path",
        IsADirectory => "pass a file, not a directory",
        StorageFull | QuotaExceeded => "free some space, or choose another disk",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    /// The hint is found however much context was put around it.
    fn check(e: anyhow::Error, hint: Option<&str>) {
        assert_eq!(hint_of(&e.context("outer")), hint);
    }

    #[test]
    fn a_hint_survives_context() {
        check(Problem::new("what", "do this").into(), Some("do this"));
        let full: Result<(), _> = Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
        check(full.context("inner").unwrap_err(), Some("free some space, or choose another disk"));
        check(anyhow::anyhow!("unexplained"), None);
    }
}
