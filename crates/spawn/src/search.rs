//! The files that the name of a program may mean, in the order in which they are tried, as `execvp` does it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where programs are when PATH is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// How much of a file tells whether it is text.
const HEAD_BYTES: u64 = 256;

/// The files to try for a program, in this order: itself when it is a path, else one in each directory of PATH.
pub fn candidates(program: &OsStr) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    candidates_in(program, &path)
}

fn candidates_in(program: &OsStr, path: &OsStr) -> Vec<PathBuf> {
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    // An empty entry is the working directory.
    std::env::split_paths(path).map(|directory| directory.join(program)).collect()
}

/// Whether a file that the kernel cannot execute may be a script: shells run it when its first line has no NUL.
pub(crate) fn is_text(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(file).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.is_ok() && has_text_line(&head)
}

fn has_text_line(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    !head.starts_with(b"\x7fELF") && !line.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_searched_and_paths_are_not() {
        let check = |program: &str, path: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(candidates_in(program.as_ref(), path.as_ref()), expected, "{program} in {path}");
        };
        check("ls", "/bin:/usr/bin", &["/bin/ls", "/usr/bin/ls"]);
        check("ls", "/bin::x", &["/bin/ls", "ls", "x/ls"]);
        check("./ls", "/bin", &["./ls"]);
        check("", "/bin", &[""]);
    }

    #[test]
    fn scripts_are_told_from_programs() {
        for (head, is_text) in [
            (&b"echo 1\n"[..], true),
            (b"", true),
            (b"# a comment\n\0", true),
            (b"\x7fELF\x02\n", false),
            (b"MZ\0\n", false),
        ] {
            assert_eq!(has_text_line(head), is_text, "{head:?}");
        }
    }
}
