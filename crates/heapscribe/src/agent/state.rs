//! What another agent needs to go on where this one was killed, as a file of text that is replaced whole.
//!
//! ```text
//!   heapscribe-agent 1
//!   boot ID             of the machine's start, of which all times are
//!   base PATH           of the sessions
//!   run ID              in the names of files
//!   starts N            names the file of definitions
//!   window MONO REAL    the begin of the window that is open, ns of CLOCK_MONOTONIC and since 1970
//!   until MONO          up to when it was counted
//!   dropped WINDOWS BLOCKS BYTES     not delivered
//!   rate BYTES          between two samples
//!   image ...           the lines of `heapscribe_convert::rolling`
//!   crc32 HEX           of all before: a changed digit is a figure that is as good as any
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use heapscribe_convert::rolling::{BadLine, Image};

use super::spool::Dropped;

const FIRST_LINE: &str = "heapscribe-agent 1";

/// The state.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct State {
    pub(super) boot: String,
    pub(crate) base: PathBuf,
    pub(super) run: String,
    pub(super) starts: u64,
    pub(super) window_mono_ns: u64,
    pub(super) window_real_ns: u64,
    pub(super) until_ns: u64,
    pub(super) dropped: Dropped,
    pub(crate) rate: u64,
}

impl State {
    /// Replaces the file.
    pub(super) fn save<'a>(&self, path: &Path, images: impl Iterator<Item = &'a Image>) -> io::Result<()> {
        let Dropped { windows, blocks, bytes } = self.dropped;
        let mut text = format!(
            "{FIRST_LINE}\nboot {}\nbase {}\nrun {}\nstarts {}\nwindow {} {}\nuntil {}\n\
             dropped {windows} {blocks} {bytes}\nrate {}\n",
            self.boot,
            self.base.display(),
            self.run,
            self.starts,
            self.window_mono_ns,
            self.window_real_ns,
            self.until_ns,
            self.rate
        );
        images.for_each(|image| image.save(&mut text));
        let sum = checksum(&text);
        text.push_str(&sum);
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, text)?;
        fs::rename(unfinished, path)
    }

    /// Reads it; `None` when there is none.
    pub(super) fn load(path: &Path) -> io::Result<Option<(State, Vec<Image>)>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let sum = text.trim_end().rfind('\n').map_or(0, |end| end + 1);
        if text[sum..] != checksum(&text[..sum]) {
            return Err(damaged(format!(
                "{} is damaged: its checksum is not that of its lines",
                path.display()
            )));
        }
        State::parse(&text[..sum]).map(Some).map_err(|(number, BadLine)| {
            damaged(format!("line {} of {} makes no sense", number + 1, path.display()))
        })
    }

    fn parse(text: &str) -> Result<(State, Vec<Image>), (usize, BadLine)> {
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, line)| line != FIRST_LINE) {
            return Err((0, BadLine));
        }
        let (mut state, mut images) = (State::default(), Vec::<Image>::new());
        for (number, line) in lines {
            let taken = match (Image::begun(line), images.last_mut()) {
                (Some(image), _) => image.map(|image| images.push(image)),
                (None, Some(image)) => image.restore(line),
                (None, None) => state.take(line),
            };
            taken.map_err(|bad| (number, bad))?;
        }
        Ok((state, images))
    }

    fn take(&mut self, line: &str) -> Result<(), BadLine> {
        let (key, value) = line.split_once(' ').ok_or(BadLine)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| BadLine);
        let pair = |text: &str| {
            let (first, second) = text.split_once(' ').ok_or(BadLine)?;
            Ok((number(first)?, second.to_owned()))
        };
        match key {
            "boot" => self.boot = value.to_owned(),
            "base" => self.base = value.into(),
            "run" => self.run = value.to_owned(),
            "starts" => self.starts = number(value)?,
            "window" => {
                let (mono_ns, real_ns) = pair(value)?;
                (self.window_mono_ns, self.window_real_ns) = (mono_ns, number(&real_ns)?);
            }
            "until" => self.until_ns = number(value)?,
            "dropped" => {
                let (windows, rest) = pair(value)?;
                let (blocks, bytes) = pair(&rest)?;
                self.dropped = Dropped { windows, blocks, bytes: number(&bytes)? };
            }
            "rate" => self.rate = number(value)?,
            _ => return Err(BadLine),
        }
        Ok(())
    }
}

/// The last line of a file that begins with `text`.
fn checksum(text: &str) -> String {
    format!("crc32 {:08x}\n", crc32fast::hash(text.as_bytes()))
}

/// Names this start of the machine.
pub(super) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use heapscribe_convert::rolling::ImageKey;

    use super::*;

    #[test]
    fn what_is_saved_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        assert_eq!(State::load(&path).unwrap(), None);
        let state = State {
            boot: "b".to_owned(),
            base: "/dev/shm/a b".into(),
            run: "r-1".to_owned(),
            starts: 3,
            window_mono_ns: 5,
            window_real_ns: 6,
            until_ns: 7,
            dropped: Dropped { windows: 8, blocks: 9, bytes: 10 },
            rate: 11,
        };
        let mut image = Image::new(ImageKey { pid: 1, created_mono_ns: 2 });
        for line in ["counted 1 0 65", "window 4 1 2 3 4 5", "live 4 1 2 3 4 5 0 0 0 0"] {
            image.restore(line).unwrap();
        }
        state.save(&path, std::iter::once(&image)).unwrap();
        assert_eq!(State::load(&path).unwrap(), Some((state, vec![image])));
        let saved = fs::read(&path).unwrap();
        for at in 0..saved.len() {
            let mut changed = saved.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert_eq!(State::load(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "byte {at}");
            fs::write(&path, &saved[..at]).unwrap();
            assert_eq!(State::load(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "cut at {at}");
        }
    }

    #[track_caller]
    fn check_refused(text: &str, line: usize) {
        assert_eq!(State::parse(text).unwrap_err().0, line, "{text}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_line() {
        check_refused("", 0);
        check_refused("heapscribe-agent 2\n", 0);
        check_refused("heapscribe-agent 1\nboot x\nwindow 1\n", 2);
        check_refused("heapscribe-agent 1\nimage 1 2 0\n", 1);
        check_refused("heapscribe-agent 1\nimage 1 2 0 0\nlive 1 1 2 3\n", 2);
        check_refused("heapscribe-agent 1\nimage 1 2 0 0\nlive 1 1 -2 3 0 0 0 0 0 0\n", 2);
    }
}
