//! Files as sources of a reader: at offsets, by several threads at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use anyhow::{Context, Result};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::Source;

/// A file that is read at offsets, by several threads at a time.
#[derive(Debug)]
pub struct FileSource {
    /// The file.
    pub file: File,
    len: u64,
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, offset)
    }
}

impl FileSource {
    /// A file that was just written, from its beginning.
    ///
    /// # Errors
    /// When its length cannot be read.
    pub fn of(file: File) -> io::Result<FileSource> {
        let len = file.metadata()?.len();
        Ok(FileSource { file, len })
    }
}

/// Opens a file to be read at offsets.
pub fn source(path: &Path) -> Result<FileSource> {
    let shown = path.display();
    // Looked at first: who opens a pipe waits for its writer.
    let kind = std::fs::metadata(path).map_err(|e| no_file(path, &e))?;
    if !kind.is_file() {
        return Err(not_a_file(path, kind.is_dir()).into());
    }
    let file = File::open(path).map_err(|e| no_file(path, &e))?;
    let meta = file.metadata().with_context(|| format!("cannot read {shown}"))?;
    Ok(FileSource { file, len: meta.len() })
}

/// A file without a name, which the kernel removes with its last descriptor.
pub fn nameless_file() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = std::env::temp_dir().join(format!(
        "heapscribe.{}.{}",
        std::process::id(),
        TEMPORARY.fetch_add(1, Relaxed)
    ));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Numbers temporary files.
static TEMPORARY: AtomicU32 = AtomicU32::new(0);

fn no_file(path: &Path, e: &io::Error) -> Problem {
    Problem::new(
        format!("cannot open {}: {}", path.display(), why(e)),
        "record a trace with `heapscribe record -o TRACE -- CMD`",
    )
}

fn why(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        kind => kind.to_string(),
    }
}

fn not_a_file(path: &Path, is_dir: bool) -> Problem {
    let shown = path.display();
    if is_dir {
        Problem::new(
            format!("{shown} is a directory, not a trace"),
            "pass the file that `heapscribe record` wrote; `heapscribe ps` lists what a killed recording left",
        )
    } else {
        Problem::new(format!("{shown} is not a regular file"), "write the trace to a file first")
    }
}
