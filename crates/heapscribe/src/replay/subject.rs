//! The heaps that a trace is replayed on, as the command line names them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A heap.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Subject {
    /// Our pool heap.
    Tlsf,
    /// What `malloc` is when nothing is preloaded.
    System,
    /// What it is under this library.
    Library(PathBuf),
}

impl Subject {
    /// Reads `tlsf`, `system` or the path of a library.
    pub(crate) fn parse(text: &str) -> Result<Subject, String> {
        match text {
            "tlsf" => Ok(Subject::Tlsf),
            "system" => Ok(Subject::System),
            _ => match std::fs::canonicalize(text) {
                Ok(path) if path.is_file() => Ok(Subject::Library(path)),
                _ => Err(format!(
                    "there is no heap `{text}`; use tlsf, system, or the path of a library that exports malloc"
                )),
            },
        }
    }

    /// How it is called.
    pub(crate) fn name(&self) -> String {
        match self {
            Subject::Tlsf => "tlsf".to_owned(),
            Subject::System => "system".to_owned(),
            Subject::Library(path) => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_have_names() {
        assert_eq!(Subject::parse("tlsf"), Ok(Subject::Tlsf));
        assert_eq!(Subject::parse("system"), Ok(Subject::System));
        assert!(Subject::parse("/nowhere/libx.so").is_err_and(|e| e.contains("`/nowhere/libx.so`")));
        assert!(Subject::parse("/").is_err());
        let here = std::env::current_exe().unwrap();
        assert_eq!(Subject::Library("/a/libx.so.2".into()).name(), "libx.so.2");
        assert_eq!(
            Subject::parse(here.to_str().unwrap()),
            Ok(Subject::Library(here.canonicalize().unwrap()))
        );
    }
}
