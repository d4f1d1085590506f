//! A zip file with what a wheel needs of it: deflated files, their modes, one time. Readers of wheels want no
//! more, and files here are far below the 4 GiB from which zip has longer fields.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

const VERSION: u16 = 20;
const MADE_BY_UNIX: u16 = 3 << 8 | VERSION;
const UTF8_NAMES: u16 = 1 << 11;
const DEFLATED: u16 = 8;
const REGULAR_FILE: u32 = 0o100_000;

/// A zip file that grows.
pub(super) struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
    time: u16,
    date: u16,
}

impl Zip {
    /// An empty one, with the time of all its files in seconds since 1970.
    pub(super) fn new(epoch: u64) -> Self {
        let (date, time) = dos_time(epoch);
        Self { bytes: Vec::new(), directory: Vec::new(), count: 0, time, date }
    }

    /// Adds a file.
    pub(super) fn add(&mut self, name: &str, content: &[u8], mode: u32) -> Result<(), String> {
        let packed = deflate(content).map_err(|e| format!("{name}: {e}"))?;
        let too_large = |_| format!("{name}: too large for a zip file");
        let offset = u32::try_from(self.bytes.len()).map_err(too_large)?;
        let shared = self.shared(name, content, &packed).map_err(too_large)?;
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&shared);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(&packed);
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(MADE_BY_UNIX.to_le_bytes());
        self.directory.extend(&shared);
        // No comment, first disk, no attributes of DOS.
        self.directory.extend([0; 6]);
        self.directory.extend(((REGULAR_FILE | mode) << 16).to_le_bytes());
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// What the local header and the directory have in common.
    fn shared(
        &self,
        name: &str,
        content: &[u8],
        packed: &[u8],
    ) -> Result<Vec<u8>, std::num::TryFromIntError> {
        let mut crc = Crc::new();
        crc.update(content);
        let mut out = Vec::new();
        for half in [VERSION, UTF8_NAMES, DEFLATED, self.time, self.date] {
            out.extend(half.to_le_bytes());
        }
        for word in [crc.sum(), u32::try_from(packed.len())?, u32::try_from(content.len())?] {
            out.extend(word.to_le_bytes());
        }
        out.extend(u16::try_from(name.len())?.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        Ok(out)
    }

    /// The whole file.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, String> {
        let word = |number: usize| u32::try_from(number).map_err(|_| "the zip file is too large".to_owned());
        let (length, offset) = (word(self.directory.len())?, word(self.bytes.len())?);
        self.bytes.append(&mut self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(offset.to_le_bytes());
        self.bytes.extend([0; 2]);
        Ok(self.bytes)
    }
}

fn deflate(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

/// Date and time as DOS had them, in UTC; from 1980 on, in steps of two seconds.
fn dos_time(epoch: u64) -> (u16, u16) {
    const DAY: u64 = 86_400;
    let (mut days, second) = (epoch / DAY, epoch % DAY);
    let mut year = 1970;
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    if !(1980..=2107).contains(&year) {
        return (1 << 5 | 1, 0);
    }
    let date = (year - 1980) << 9 | month << 5 | (days + 1);
    let time = (second / 3600) << 11 | (second / 60 % 60) << 5 | (second % 60 / 2);
    (u16::try_from(date).unwrap_or(0x21), u16::try_from(time).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_dos() {
        // 2026-11-23 10:47:02 is the first; 1979-12-31 has none and is 1980-01-01.
        assert_eq!(dos_time(1_795_430_822), (46 << 9 | 11 << 5 | 23, 10 << 11 | 47 << 5 | 1));
        assert_eq!(dos_time(315_532_799), (1 << 5 | 1, 0));
        assert_eq!(dos_time(951_782_400), (20 << 9 | 2 << 5 | 29, 0));
    }

    /// Python's own reader checks each sum.
    #[test]
    fn python_reads_what_is_written() {
        let mut zip = Zip::new(1_795_430_822);
        zip.add("a/empty", b"", 0o644).unwrap();
        zip.add("a/program", &[b"x".repeat(100_000), (0..=255).collect()].concat(), 0o755).unwrap();
        let path = std::env::temp_dir().join(format!("heapscribe-zip-{}.zip", std::process::id()));
        std::fs::write(&path, zip.finish().unwrap()).unwrap();
        let script = "import sys, zipfile\n\
                      z = zipfile.ZipFile(sys.argv[1])\n\
                      assert z.testzip() is None\n\
                      print([(i.filename, i.file_size, oct(i.external_attr >> 16), i.date_time) for i in z.infolist()])";
        let python = std::process::Command::new("python3").arg("-c").arg(script).arg(&path).output();
        std::fs::remove_file(&path).unwrap();
        let Ok(python) = python else {
            return crate::skipped::note("packages::zip", "python3 is not there");
        };
        assert_eq!(
            String::from_utf8_lossy(&python.stdout).trim(),
            "[('a/empty', 0, '0o100644', (2026, 11, 23, 10, 47, 2)), \
             ('a/program', 100256, '0o100755', (2026, 11, 23, 10, 47, 2))]",
            "{}",
            String::from_utf8_lossy(&python.stderr)
        );
    }
}
