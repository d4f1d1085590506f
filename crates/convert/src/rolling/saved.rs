//! An image as lines of text: what another process needs to count on where this one was killed.
//!
//! ```text
//!   image PID CREATED_NS ENDED SEEN
//!   counted THREAD NUMBER BYTES
//!   spilled BYTES              where there are any
//!   window STACK THREAD BLOCKS BYTES VARIANCE VARIANCE
//!   live STACK THREAD BLOCKS BYTES VARIANCE VARIANCE BLOCKS BYTES VARIANCE VARIANCE
//! ```
//! The last has what was allocated, then what was freed.

use std::fmt::Write as _;
use std::str::{FromStr, SplitWhitespace};

use heapscribe_wire::ids::StackId;

use super::image::{Counted, Image, ImageKey};
use crate::tables::rows::Sum;

/// A line that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadLine;

impl Image {
    /// Adds its lines.
    pub fn save(&self, out: &mut String) {
        let ImageKey { pid, created_mono_ns } = self.key;
        let _ = writeln!(out, "image {pid} {created_mono_ns} {} {}", u8::from(self.has_ended), self.seen);
        for ((thread, number), bytes) in &self.counted {
            let _ = writeln!(out, "counted {thread} {number} {bytes}");
        }
        if self.spilled_bytes > 0 {
            let _ = writeln!(out, "spilled {}", self.spilled_bytes);
        }
        for ((stack, thread), sum) in &self.window {
            let _ = write!(out, "window {} {thread}", stack.0);
            put(sum, out);
            out.push('\n');
        }
        for ((stack, thread), of) in &self.live {
            let _ = write!(out, "live {} {thread}", stack.0);
            put(&of.allocated, out);
            put(&of.freed, out);
            out.push('\n');
        }
    }

    /// The image that a line begins; `None` where it is another line.
    ///
    /// # Errors
    /// When it makes no sense.
    pub fn begun(line: &str) -> Option<Result<Image, BadLine>> {
        let mut words = Words(line.strip_prefix("image ")?.split_whitespace());
        let mut read = || {
            let key = ImageKey { pid: words.next()?, created_mono_ns: words.next()? };
            let has_ended = words.next::<u8>()? != 0;
            Ok(Image { has_ended, seen: words.next()?, ..Image::new(key) })
        };
        Some(read())
    }

    /// Takes one of its other lines.
    ///
    /// # Errors
    /// When it makes no sense.
    pub fn restore(&mut self, line: &str) -> Result<(), BadLine> {
        let (kind, rest) = line.split_once(' ').ok_or(BadLine)?;
        let mut words = Words(rest.split_whitespace());
        match kind {
            "counted" => {
                let key = (words.next()?, words.next()?);
                self.counted.insert(key, words.next()?);
            }
            "spilled" => self.spilled_bytes = words.next()?,
            "window" => {
                let owner = (StackId(words.next()?), words.next()?);
                self.window.insert(owner, words.sum()?);
            }
            "live" => {
                let owner = (StackId(words.next()?), words.next()?);
                let of = Counted { allocated: words.sum()?, freed: words.sum()? };
                self.live.insert(owner, of);
            }
            _ => return Err(BadLine),
        }
        Ok(())
    }
}

fn put(sum: &Sum, out: &mut String) {
    let Sum { blocks, bytes, blocks_variance, bytes_variance } = sum;
    let _ = write!(out, " {blocks} {bytes} {blocks_variance} {bytes_variance}");
}

struct Words<'a>(SplitWhitespace<'a>);

impl Words<'_> {
    fn next<T: FromStr>(&mut self) -> Result<T, BadLine> {
        self.0.next().and_then(|word| word.parse().ok()).ok_or(BadLine)
    }

    fn sum(&mut self) -> Result<Sum, BadLine> {
        let (blocks, bytes) = (self.next()?, self.next()?);
        Ok(Sum { blocks, bytes, blocks_variance: self.next()?, bytes_variance: self.next()? })
    }
}
