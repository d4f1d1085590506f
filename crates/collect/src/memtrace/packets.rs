//! A file that gets whole packets. When one cannot be written the file ends with the packet before it, that
//! is reported once, and the worker continues, so that no program waits for a disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use heapscribe_diagnostics as diagnostics;

/// The file, or the place of one that could not be made.
pub(super) struct Packets {
    file: Option<File>,
    /// Bytes of whole packets.
    pub(super) written: u64,
    pub(super) is_cut: bool,
}

impl Packets {
    /// A new file. An existing one of that name is replaced.
    pub(super) fn create(path: &Path) -> Packets {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let mut packets = Packets { file: None, written: 0, is_cut: false };
        match file {
            Ok(file) => packets.file = Some(file),
            Err(e) => packets.cut(&format!("cannot write {}: {e}", path.display())),
        }
        packets
    }

    fn cut(&mut self, what: &str) {
        self.is_cut = true;
        diagnostics::error(what);
        diagnostics::hint("the program keeps running; the trace is readable up to here");
    }
}

impl Write for Packets {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        let Some(file) = self.file.as_mut().filter(|_| !self.is_cut) else { return Ok(packet.len()) };
        match file.write_all(packet) {
            Ok(()) => self.written += packet.len() as u64,
            Err(e) => {
                let _ = file.set_len(self.written);
                let what = format!("a trace ends at byte {}: {e}", self.written);
                self.cut(&what);
            }
        }
        Ok(packet.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
