//! What another agent needs to go on where this one was killed: a file of text that is replaced whole now and then. Between
//! that, what has changed is added to it: a service of thousands of processes has megabytes of it, and something to save
//! whenever one of them ends.
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
//! Then parts that were added, each with `until`, `dropped`, `rate`, the images that have changed, and its own `crc32`. One
//! without that line at the end of the file was not written whole, and nothing that it has was freed in a session.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use heapscribe_convert::rolling::{BadLine, Image, ImageKey};

use super::spool::Dropped;

const FIRST_LINE: &str = "heapscribe-agent 1";
/// So much is added to a file at least, before it is replaced.
const ADDED_BYTES_MIN: u64 = 1 << 20;

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
    /// The text of all of it.
    fn text<'a>(&self, images: impl Iterator<Item = &'a Image>) -> String {
        let mut text = format!(
            "{FIRST_LINE}\nboot {}\nbase {}\nrun {}\nstarts {}\nwindow {} {}\n",
            self.boot,
            self.base.display(),
            self.run,
            self.starts,
            self.window_mono_ns,
            self.window_real_ns,
        );
        text.push_str(&self.figures(images));
        text
    }

    /// The text of what changes from moment to moment, and of these images.
    fn figures<'a>(&self, images: impl Iterator<Item = &'a Image>) -> String {
        let Dropped { windows, blocks, bytes } = self.dropped;
        let mut text =
            format!("until {}\ndropped {windows} {blocks} {bytes}\nrate {}\n", self.until_ns, self.rate);
        images.for_each(|image| image.save(&mut text));
        text
    }

    /// Without what the parts have that are added.
    fn without_figures(&self) -> State {
        State { until_ns: 0, dropped: Dropped::default(), rate: 0, ..self.clone() }
    }

    /// Reads it; `None` when there is none.
    pub(super) fn load(path: &Path) -> io::Result<Option<(State, Vec<Image>)>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        State::parse(&text).map(Some).map_err(|bad| {
            let path = path.display();
            let what = match bad {
                Bad::Line(number) => format!("line {} of {path} makes no sense", number + 1),
                Bad::Sum => format!("{path} is damaged: its checksum is not that of its lines"),
            };
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    fn parse(text: &str) -> Result<(State, Vec<Image>), Bad> {
        let (first, mut rest) = part(text)?.ok_or(Bad::Sum)?;
        let mut lines = first.lines().enumerate();
        if lines.next().is_none_or(|(_, line)| line != FIRST_LINE) {
            return Err(Bad::Line(0));
        }
        let (mut state, mut images) = (State::default(), Vec::new());
        state.take_lines(lines, &mut images)?;
        let mut places: BTreeMap<ImageKey, usize> = images.iter().map(|image| image.key).zip(0..).collect();
        // Each part has the line of its checksum besides.
        let mut before = first.lines().count() + 1;
        while let Some((added, after)) = part(rest)? {
            let mut changed = Vec::new();
            let lines = added.lines().enumerate().map(|(number, line)| (before + number, line));
            state.take_lines(lines, &mut changed)?;
            for image in changed {
                let place = *places.entry(image.key).or_insert(images.len());
                match images.get_mut(place) {
                    Some(old) => *old = image,
                    None => images.push(image),
                }
            }
            before += added.lines().count() + 1;
            rest = after;
        }
        Ok((state, images))
    }

    fn take_lines<'a>(
        &mut self,
        lines: impl Iterator<Item = (usize, &'a str)>,
        images: &mut Vec<Image>,
    ) -> Result<(), Bad> {
        for (number, line) in lines {
            let taken = match (Image::begun(line), images.last_mut()) {
                (Some(image), _) => image.map(|image| images.push(image)),
                (None, Some(image)) => image.restore(line),
                (None, None) => self.take(line),
            };
            taken.map_err(|BadLine| Bad::Line(number))?;
        }
        Ok(())
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

/// What is wrong with a file.
#[derive(PartialEq, Debug)]
enum Bad {
    /// The line with this number, from 0.
    Line(usize),
    Sum,
}

/// The lines up to the next checksum, and what comes after; `None` where there is no other.
fn part(text: &str) -> Result<Option<(&str, &str)>, Bad> {
    let Some(end) = text.find("\ncrc32 ").map(|at| at + 1) else { return Ok(None) };
    let (lines, rest) = text.split_at(end);
    let Some(end) = rest.find('\n').map(|at| at + 1) else { return Ok(None) };
    if rest[..end] != checksum(lines) {
        return Err(Bad::Sum);
    }
    Ok(Some((lines, &rest[end..])))
}

/// The last line of a part that begins with `text`.
fn checksum(text: &str) -> String {
    format!("crc32 {:08x}\n", crc32fast::hash(text.as_bytes()))
}

/// The file.
pub(super) struct StateFile {
    path: PathBuf,
    saved: Option<Saved>,
    /// Bytes that were ever written.
    #[cfg(test)]
    pub(super) written: u64,
}

/// What is in it.
struct Saved {
    file: File,
    /// As it was when the file was replaced.
    state: State,
    whole_bytes: u64,
    /// With what was added.
    bytes: u64,
}

impl StateFile {
    /// In its place, where another agent may have left one.
    pub(super) fn at(path: PathBuf) -> StateFile {
        StateFile {
            path,
            saved: None,
            #[cfg(test)]
            written: 0,
        }
    }

    /// Replaces it.
    ///
    /// # Errors
    /// Those of the output.
    pub(super) fn replace<'a>(
        &mut self,
        state: &State,
        images: impl Iterator<Item = &'a Image>,
    ) -> io::Result<()> {
        let text = with_sum(state.text(images));
        let unfinished = self.path.with_extension("unfinished");
        self.saved = None;
        let file = File::create(&unfinished)?;
        file.write_all_at(text.as_bytes(), 0)?;
        fs::rename(unfinished, &self.path)?;
        let bytes = self.note_written(&text);
        self.saved = Some(Saved { file, state: state.without_figures(), whole_bytes: bytes, bytes });
        Ok(())
    }

    /// Adds what has changed; whether it can be added, or else the file is to be replaced.
    ///
    /// # Errors
    /// Those of the output.
    pub(super) fn add<'a>(
        &mut self,
        state: &State,
        changed: impl Iterator<Item = &'a Image>,
    ) -> io::Result<bool> {
        let Some(mut saved) = self.saved.take() else { return Ok(false) };
        let added = saved.bytes - saved.whole_bytes;
        if added > saved.whole_bytes.max(ADDED_BYTES_MIN) || saved.state != state.without_figures() {
            return Ok(false);
        }
        let text = with_sum(state.figures(changed));
        if let Err(e) = saved.file.write_all_at(text.as_bytes(), saved.bytes) {
            let _ = saved.file.set_len(saved.bytes); // else its last part is not whole, and is not read
            return Err(e);
        }
        saved.bytes += self.note_written(&text);
        self.saved = Some(saved);
        Ok(true)
    }

    fn note_written(&mut self, text: &str) -> u64 {
        #[cfg(test)]
        {
            self.written += text.len() as u64;
        }
        text.len() as u64
    }
}

fn with_sum(mut text: String) -> String {
    let sum = checksum(&text);
    text.push_str(&sum);
    text
}

/// Names this start of the machine.
pub(super) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(test)]
mod tests {
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
        for line in ["counted 1 0 65", "spilled 4096", "window 4 1 2 3 4 5", "live 4 1 2 3 4 5 0 0 0 0"] {
            image.restore(line).unwrap();
        }
        let mut file = StateFile::at(path.clone());
        file.replace(&state, std::iter::once(&image)).unwrap();
        assert_eq!(State::load(&path).unwrap(), Some((state.clone(), vec![image.clone()])));
        let saved = fs::read(&path).unwrap();
        for at in 0..saved.len() {
            let mut changed = saved.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert_eq!(State::load(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "byte {at}");
            fs::write(&path, &saved[..at]).unwrap();
            assert_eq!(State::load(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "cut at {at}");
        }
        fs::write(&path, &saved).unwrap();
        check_added(&path, state, image);
    }

    /// What is added is there when all of it is; a changed byte is found, or else nothing that was added is taken.
    fn check_added(path: &Path, mut state: State, mut image: Image) {
        let mut file = StateFile::at(path.to_owned());
        file.replace(&state, std::iter::once(&image)).unwrap();
        let (before, saved) = (Some((state.clone(), vec![image.clone()])), fs::read(path).unwrap());
        (state.until_ns, state.rate, image.seen) = (70, 12, 5);
        let new = Image::new(ImageKey { pid: 3, created_mono_ns: 4 });
        assert!(file.add(&state, [&image, &new].into_iter()).unwrap());
        assert_eq!(State::load(path).unwrap(), Some((state.clone(), vec![image.clone(), new.clone()])));
        let added = fs::read(path).unwrap();
        for at in saved.len()..added.len() {
            fs::write(path, &added[..at]).unwrap();
            assert_eq!(State::load(path).unwrap(), before, "cut at {at}");
            let mut changed = added.clone();
            changed[at] ^= 1;
            fs::write(path, &changed).unwrap();
            assert!(State::load(path).map_or(true, |loaded| loaded == before), "byte {at}");
        }
        state.base = "elsewhere".into();
        assert!(!file.add(&state, std::iter::empty()).unwrap(), "that is in no part");
    }

    #[track_caller]
    fn check_refused(text: &str, line: usize) {
        assert_eq!(State::parse(&with_sum(text.to_owned())).unwrap_err(), Bad::Line(line), "{text}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_line() {
        assert_eq!(State::parse("").unwrap_err(), Bad::Sum);
        check_refused("heapscribe\n", 0);
        check_refused("heapscribe-agent 2\n", 0);
        check_refused("heapscribe-agent 1\nboot x\nwindow 1\n", 2);
        check_refused("heapscribe-agent 1\nimage 1 2 0\n", 1);
        check_refused("heapscribe-agent 1\nimage 1 2 0 0\nlive 1 1 2 3\n", 2);
        check_refused("heapscribe-agent 1\nimage 1 2 0 0\nlive 1 1 -2 3 0 0 0 0 0 0\n", 2);
    }
}
