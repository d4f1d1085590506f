//! Sources of bytes: anything that can be read at an offset, by several threads at a time.

use std::io;

/// Bytes at offsets. The program implements it for files.
pub trait Source {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Reads bytes at `offset` to the start of `at`: how many, less than asked for only as `read` may; 0
    /// is the end.
    ///
    /// # Errors
    /// Those of the medium.
    fn read_at(&self, offset: u64, at: &mut [u8]) -> io::Result<usize>;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Source for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(start..).unwrap_or_default();
        let n = rest.len().min(at.len());
        at[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        Source::len(self.as_slice())
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, at)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, at)
    }
}

/// Reads until `at` is full or the source ends: how many bytes. One call reads the first bytes of a source for
/// [`detect`](crate::detect::detect()), and the same source is then passed on to the reader of the format.
///
/// # Errors
/// Those of the source, but for interrupted reads, which are repeated.
pub fn read_up_to<S: Source + ?Sized>(source: &S, offset: u64, at: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < at.len() {
        match source.read_at(offset + done as u64, &mut at[done..]) {
            Ok(0) => break,
            Ok(n) => done = (done + n).min(at.len()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}
