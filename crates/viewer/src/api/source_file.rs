//! The text of a source file that the debug information of the recorded program names.
//!
//! No request names a file: it names a function by its number. The path is that of the debug information, as it is, and
//! has to be absolute. Only a regular file is opened: its last part may not be a symbolic link (folders on the way may be
//! ones), no pipe or device is, as opening some of them does something, and what was opened is looked at once more, as it
//! may have been replaced in between. It is read up to a bound, and it is text, whatever is in it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::model::{SOURCE_BYTES_MAX, SOURCE_LINE_CHARS_MAX};

/// A file that was read.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct SourceFile {
    pub(super) lines: Vec<String>,
    /// When it was last changed, ns since 1970.
    pub(super) changed_real_ns: u64,
}

impl SourceFile {
    /// Reads it; why it cannot be shown, in words.
    pub(super) fn read(path: &str) -> Result<SourceFile, String> {
        let file = open(Path::new(path))?;
        let unreadable = |e: std::io::Error| format!("it cannot be read: {e}");
        let facts = file.metadata().map_err(unreadable)?;
        let mut bytes = Vec::new();
        (&file).take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > SOURCE_BYTES_MAX {
            return Err(format!("it is larger than {} MiB", SOURCE_BYTES_MAX >> 20));
        }
        let changed_real_ns = facts.mtime().saturating_mul(1_000_000_000).saturating_add(facts.mtime_nsec());
        Ok(SourceFile {
            lines: String::from_utf8_lossy(&bytes).lines().map(shown).collect(),
            changed_real_ns: u64::try_from(changed_real_ns).unwrap_or(0),
        })
    }
}

fn open(path: &Path) -> Result<File, String> {
    if !path.is_absolute() {
        return Err("the debug information does not say in which folder it is".to_owned());
    }
    let facts = path.symlink_metadata().map_err(|e| absent(&e))?;
    let other = || Err("it is no regular file".to_owned());
    if !facts.is_file() {
        return other();
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(|e| absent(&e))?;
    if file.metadata().is_ok_and(|facts| facts.is_file()) { Ok(file) } else { other() }
}

fn absent(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            "it is not on this machine".to_owned()
        }
        std::io::ErrorKind::PermissionDenied => "you may not read it".to_owned(),
        _ => format!("it cannot be opened: {e}"),
    }
}

/// As much of a line as anybody reads.
fn shown(line: &str) -> String {
    match line.char_indices().nth(SOURCE_LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn check(path: &Path, expected: Result<&[&str], &str>) {
        let lines = SourceFile::read(path.to_str().unwrap()).map(|file| file.lines);
        let expected = expected.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
        assert_eq!(lines, expected.map_err(str::to_owned), "{path:?}");
    }

    #[test]
    fn only_a_regular_file_is_read_and_not_more_than_there_is_room_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let long = "é".repeat(SOURCE_LINE_CHARS_MAX + 1);
        std::fs::write(at("a.c"), [b"<script>\n\xff\x1b[2J\n", long.as_bytes()].concat()).unwrap();
        let cut = format!("{}…", "é".repeat(SOURCE_LINE_CHARS_MAX));
        check(&at("a.c"), Ok(&["<script>", "\u{fffd}\u{1b}[2J", &cut]));
        symlink(at("a.c"), at("link.c")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo.c"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        std::fs::write(at("large.c"), vec![b'\n'; SOURCE_BYTES_MAX as usize + 1]).unwrap();
        let no_file = Err("it is no regular file");
        for name in ["link.c", "fifo.c", "."] {
            check(&at(name), no_file);
        }
        check(Path::new("/dev/zero"), no_file);
        check(&at("large.c"), Err("it is larger than 4 MiB"));
        check(&at("none.c"), Err("it is not on this machine"));
        check(&at("a.c/x"), Err("it is not on this machine"));
        check(Path::new("a.c"), Err("the debug information does not say in which folder it is"));
        check(Path::new("../a.c"), Err("the debug information does not say in which folder it is"));
    }
}
