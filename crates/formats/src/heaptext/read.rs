//! From the lines of a file to sums.

use std::collections::HashMap;

use super::maps::Maps;
use crate::profile::{
    Builder, CallNumber, Frame, FrameNumber, Origin, Profile, ProfileError, Rate, StackSums, Sum, Unit,
    Unsampling, unsampled,
};

/// What gperftools' first version means when it names no distance of samples, bytes.
const OLD_MEAN_BYTES: u64 = 128 * 1024;

/// Whether a file that begins with these bytes is one.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(b"heap profile:") || first.starts_with(b"heap_v2/")
}

/// Reads a profile.
///
/// # Errors
/// When it is damaged.
pub fn read(bytes: &[u8]) -> Result<Profile, ProfileError> {
    let mut reading = Reading::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let line = String::from_utf8_lossy(line);
        reading.line(number, line.trim()).map_err(|what| ProfileError::in_line(number, what))?;
    }
    reading.finish()
}

struct Reading {
    to: Builder,
    how: Unsampling,
    /// The header's sums, as the file has them: live, and allocated in all.
    header: Option<[Sum; 2]>,
    /// What the stacks have together, as the file has them.
    stacks: [Sum; 2],
    /// The stack of the lines of threads that follow.
    stack: Option<CallNumber>,
    frames: HashMap<u64, FrameNumber>,
    pcs: Vec<u64>,
    /// None before the mapped files.
    maps: Option<Maps>,
}

impl Reading {
    fn new() -> Reading {
        Reading {
            to: Builder::new(Origin::HeapText),
            how: Unsampling::None,
            header: None,
            stacks: [Sum::default(); 2],
            stack: None,
            frames: HashMap::new(),
            pcs: Vec::new(),
            maps: None,
        }
    }

    fn line(&mut self, number: u64, line: &str) -> Result<(), String> {
        if let Some(maps) = &mut self.maps {
            maps.line(line);
            return Ok(());
        }
        if number == 1 {
            return self.first(line);
        }
        if line.starts_with("MAPPED_LIBRARIES:") || line.starts_with("--- Memory map:") {
            self.maps = Some(Maps::default());
            return Ok(());
        }
        match line.as_bytes().first() {
            None | Some(b'#') => Ok(()),
            Some(b'@') => {
                self.stack = Some(self.calls(&line[1..])?);
                Ok(())
            }
            Some(b't') => self.thread(line),
            Some(b'0'..=b'9') => {
                let (sums, rest) = sums(line).ok_or("no sums of a stack")?;
                let stack = rest.trim_start().strip_prefix('@').ok_or("sums without a stack")?;
                let call = self.calls(stack)?;
                self.add(call, sums)
            }
            Some(_) => Err(format!("{:?}, which is no line of a heap profile,", shortened(line))),
        }
    }

    /// The line that says what it is.
    fn first(&mut self, line: &str) -> Result<(), String> {
        if let Some(rate) = line.strip_prefix("heap_v2/") {
            let mean_bytes = rate.parse().ok().filter(|rate| *rate > 0).ok_or("no rate of samples")?;
            self.how = Unsampling::Poisson { mean_bytes };
            return Ok(());
        }
        let line = line.strip_prefix("heap profile:").ok_or("no head of a heap profile")?;
        let (header, rest) = sums(line).ok_or("no sums of the whole profile")?;
        self.header = Some(header);
        let kind = rest.trim_start().strip_prefix('@').unwrap_or_default().trim();
        let (kind, rate) = kind.split_once('/').unwrap_or((kind, ""));
        let rate: Option<u64> = rate.parse().ok().filter(|rate| *rate > 0);
        self.how = match kind {
            "" if header[0] == header[1] => Unsampling::Even { mean_bytes: OLD_MEAN_BYTES },
            "heapprofile" | "" => Unsampling::None,
            _ if kind.contains("_v2") => Unsampling::Poisson { mean_bytes: rate.unwrap_or(OLD_MEAN_BYTES) },
            _ if kind.contains("heap") => {
                Unsampling::Even { mean_bytes: rate.map_or(OLD_MEAN_BYTES, |rate| (rate / 2).max(1)) }
            }
            _ => Unsampling::None,
        };
        Ok(())
    }

    /// The call of a stack of addresses, innermost first.
    fn calls(&mut self, addresses: &str) -> Result<CallNumber, String> {
        let mut call = CallNumber::ROOT;
        for word in addresses.split_ascii_whitespace().rev() {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            let pc = u64::from_str_radix(digits, 16)
                .map_err(|_| format!("{:?}, which is no address,", shortened(word)))?;
            let (to, pcs) = (&mut self.to, &mut self.pcs);
            let frame = *self.frames.entry(pc).or_insert_with(|| {
                pcs.push(pc);
                // The mapped files come last: which one it lies in is looked up then.
                to.frame(Frame::Address { module: None, address: pc, is_return_address: true })
            });
            call = self.to.call(call, frame)?;
        }
        Ok(call)
    }

    /// `t*: 2: 64 [0: 0]`, or of one thread.
    fn thread(&mut self, line: &str) -> Result<(), String> {
        let (thread, rest) = line.split_once(':').ok_or("no sums of a thread")?;
        let (sums, _) = sums(rest).ok_or("no sums of a thread")?;
        match (self.stack, thread) {
            (None, "t*") => self.header = Some(sums),
            (Some(call), "t*") => self.add(call, sums)?,
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, call: CallNumber, [live, allocated]: [Sum; 2]) -> Result<(), String> {
        for (sum, more) in self.stacks.iter_mut().zip([live, allocated]) {
            sum.blocks = sum.blocks.saturating_add(more.blocks);
            sum.bytes = sum.bytes.saturating_add(more.bytes);
        }
        let (live, allocated) = (unsampled(live, self.how), unsampled(allocated, self.how));
        self.to.add(&StackSums { call, live, allocated, ..StackSums::default() })
    }

    fn finish(mut self) -> Result<Profile, ProfileError> {
        let Some(header) = self.header else {
            return Err(ProfileError::in_line(1, "no sums of the whole profile behind the head"));
        };
        if let Some(mut maps) = self.maps {
            maps.sort();
            for (frame, pc) in self.to.profile.frames.iter_mut().zip(&self.pcs) {
                *frame = maps.frame(*pc);
            }
        } else if !self.pcs.is_empty() {
            let what = "the list of mapped files is missing, so that no function has a name".to_owned();
            self.to.profile.about.problems.push(what);
        }
        let [live, allocated] = self.stacks;
        self.to.profile.about.known.live = Unit::BOTH;
        // jemalloc counts what was allocated in all only when it is told to, and writes zeroes otherwise.
        if allocated != Sum::default() || live == Sum::default() {
            self.to.profile.about.known.allocated = Unit::BOTH;
        }
        self.to.profile.about.rate = match self.how {
            Unsampling::None | Unsampling::Even { mean_bytes: 1 } | Unsampling::Poisson { mean_bytes: 1 } => {
                Rate::Exact
            }
            Unsampling::Even { mean_bytes } | Unsampling::Poisson { mean_bytes } => {
                Rate::Sampled { mean_bytes }
            }
        };
        // The head of a jemalloc profile of samples counts otherwise than its stacks do.
        if self.to.profile.about.rate == Rate::Exact && [live, allocated] != header {
            let what = format!(
                "the stacks have {} live blocks of {} bytes, and the first lines say {} of {}: the file is cut, or its \
                 writer was at work",
                live.blocks, live.bytes, header[0].blocks, header[0].bytes
            );
            self.to.profile.about.problems.push(what);
        }
        Ok(self.to.finish())
    }
}

/// `2: 64 [4: 128]`, live and in all, and the rest of the line.
fn sums(text: &str) -> Option<([Sum; 2], &str)> {
    let (live, rest) = text.split_once('[')?;
    let (allocated, rest) = rest.split_once(']')?;
    Some(([sum(live)?, sum(allocated)?], rest))
}

fn sum(text: &str) -> Option<Sum> {
    let (blocks, bytes) = text.split_once(':')?;
    Some(Sum { blocks: blocks.trim().parse().ok()?, bytes: bytes.trim().parse().ok()? })
}

/// The begin of a line that nobody knows how long it is.
fn shortened(line: &str) -> String {
    line.chars().take(40).collect()
}
