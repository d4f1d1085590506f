//! Sinks for the bytes of parts: files, one for each part. Their paths are built in memory that is allocated at
//! construction, so that a part can begin without an allocation.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Takes the bytes of one part after the other.
pub trait Sink: Send {
    /// Begins a part.
    fn open(&mut self, part_index: i32, extension: &str) -> io::Result<()>;

    /// Writes bytes, and returns how many. Fewer than all means that there is no more space.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Ends the part.
    fn close(&mut self) -> io::Result<()>;
}

/// Longest extension of a part: its number, `.bfbs` and the encoder's own.
const NAME_MAX: usize = 40;

/// Parts as files `BASE.part0.bfbs`, `BASE.part1.bfbs` and so on. A file that is there already is not touched:
/// the part cannot begin then.
#[derive(Debug)]
pub struct Files {
    path: String,
    base_length: usize,
    file: Option<File>,
}

impl Files {
    /// Files whose names begin with `base`, which has to be valid UTF-8.
    #[must_use]
    pub fn new(base: &Path) -> Option<Self> {
        let base = base.to_str()?;
        let mut path = String::with_capacity(base.len() + NAME_MAX);
        path.push_str(base);
        Some(Self { path, base_length: base.len(), file: None })
    }

    /// The path of the part that was begun last; the base when there is none.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new(&self.path)
    }
}

impl Sink for Files {
    fn open(&mut self, part_index: i32, extension: &str) -> io::Result<()> {
        self.path.truncate(self.base_length);
        write!(self.path, ".part{part_index}.bfbs{extension}").map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o664);
        self.file = Some(options.open(&self.path)?);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Ok(0) };
        let mut written = 0;
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => break,
                Ok(n) => written += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // Bytes before the error are in the file, and have to be counted.
                Err(e) if written > 0 && is_out_of_space(&e) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(written)
    }

    fn close(&mut self) -> io::Result<()> {
        self.file = None;
        Ok(())
    }
}

/// Whether that is the end of the disk's, the user's or the file's space.
pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::StorageFull | K::QuotaExceeded | K::FileTooLarge | K::WriteZero)
}
