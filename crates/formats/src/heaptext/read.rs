//! From the lines of a file to sums.

use std::collections::HashMap;

use super::go::{Comments, Shown};
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
    reading.add_pending()?;
    reading.finish(bytes.len(), bytes.ends_with(b"\n"))
}

struct Reading {
    to: Builder,
    how: Unsampling,
    /// The header's sums, as the file has them: live, and allocated in all.
    header: Option<[Sum; 2]>,
    /// The stack of the lines of threads that follow.
    stack: Option<CallNumber>,
    frames: HashMap<u64, FrameNumber>,
    /// The address of each frame that may lie in a file.
    pcs: Vec<Option<u64>>,
    comments: Comments,
    /// A stack whose comments may follow: its line, its sums, and its addresses, the innermost first.
    pending: Option<(u64, [Sum; 2], Vec<u64>)>,
    /// Sums of stacks, as the file has them, with their lines.
    sums: Vec<(u64, CallNumber, [Sum; 2])>,
    /// None before the mapped files.
    maps: Option<Maps>,
}

impl Reading {
    fn new() -> Reading {
        Reading {
            to: Builder::new(Origin::HeapText),
            how: Unsampling::None,
            header: None,
            stack: None,
            frames: HashMap::new(),
            pcs: Vec::new(),
            comments: Comments::default(),
            pending: None,
            sums: Vec::new(),
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
            None => {}
            Some(b'#') => self.comments.line(line),
            Some(b'@') => {
                let pcs = addresses(&line[1..])?;
                self.stack = Some(self.calls(pcs.into_iter().map(Shown::Address).collect())?);
            }
            Some(b't') => self.thread(number, line)?,
            Some(b'0'..=b'9') => {
                self.add_pending().map_err(|error| error.what)?;
                let (sums, rest) = sums(line).ok_or("no sums of a stack")?;
                let stack = rest.trim_start().strip_prefix('@').ok_or("sums without a stack")?;
                self.pending = Some((number, sums, addresses(stack)?));
            }
            Some(_) => return Err(format!("{:?}, which is no line of a heap profile,", shortened(line))),
        }
        Ok(())
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

    /// The stack whose comments were read.
    fn add_pending(&mut self) -> Result<(), ProfileError> {
        let Some((line, sums, pcs)) = self.pending.take() else { return Ok(()) };
        let shown = self.comments.stack(&pcs);
        let call = self.calls(shown).map_err(|what| ProfileError::in_line(line, what))?;
        self.sums.push((line, call, sums));
        Ok(())
    }

    /// The call of a stack, innermost first.
    fn calls(&mut self, shown: Vec<Shown>) -> Result<CallNumber, String> {
        let mut call = CallNumber::ROOT;
        for frame in shown.into_iter().rev() {
            let frame = match frame {
                Shown::Named(lines) => {
                    let frame = self.to.frame(Frame::Named(lines));
                    self.pcs.resize(self.to.profile.frames.len(), None);
                    frame
                }
                Shown::Address(pc) => self.address(pc),
            };
            call = self.to.call(call, frame)?;
        }
        Ok(call)
    }

    fn address(&mut self, pc: u64) -> FrameNumber {
        let (to, pcs) = (&mut self.to, &mut self.pcs);
        *self.frames.entry(pc).or_insert_with(|| {
            pcs.push(Some(pc));
            // The mapped files come last: which one it lies in is looked up then.
            to.frame(Frame::Address { module: None, address: pc, is_return_address: true })
        })
    }

    /// `t*: 2: 64 [0: 0]`, or of one thread.
    fn thread(&mut self, number: u64, line: &str) -> Result<(), String> {
        let (thread, rest) = line.split_once(':').ok_or("no sums of a thread")?;
        let (sums, _) = sums(rest).ok_or("no sums of a thread")?;
        match (self.stack, thread) {
            (None, "t*") => self.header = Some(sums),
            (Some(call), "t*") => self.sums.push((number, call, sums)),
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, file_bytes: usize, ends_with_line: bool) -> Result<Profile, ProfileError> {
        let Some(header) = self.header else {
            return Err(ProfileError::in_line(1, "no sums of the whole profile behind the head"));
        };
        if let (true, Unsampling::Even { mean_bytes }) = (self.comments.is_any, self.how) {
            self.how = Unsampling::PoissonOfGo { mean_bytes };
        }
        let stacks = self.add_sums()?;
        let is_go = self.comments.is_any;
        let is_whole = ends_with_line && (self.maps.is_some() || self.comments.has_end);
        let about = &mut self.to.profile.about;
        if is_go {
            about.origin = Origin::GoText;
        }
        about.known.live = Unit::BOTH;
        // jemalloc counts what was allocated in all only when it is told to, and writes zeroes otherwise.
        if stacks[1] != Sum::default() || stacks[0] == Sum::default() {
            about.known.allocated = Unit::BOTH;
        }
        about.rate = rate(self.how);
        if !is_whole {
            about.problems.push(cut(file_bytes, &stacks, &header, self.maps.is_some() || is_go));
        } else if (about.rate == Rate::Exact || is_go) && stacks != header {
            // The head of a jemalloc profile of samples counts otherwise than its stacks do.
            let sums = compared(&stacks, &header);
            about.problems.push(format!("{sums}: a part of the file is missing, or its writer was at work"));
        }
        if let Some(mut maps) = self.maps {
            maps.sort();
            for (frame, pc) in self.to.profile.frames.iter_mut().zip(&self.pcs) {
                if let Some(pc) = pc {
                    *frame = maps.frame(*pc);
                }
            }
        }
        Ok(self.to.finish())
    }

    /// Adds what samples stand for; the sums as the file has them, live and allocated.
    fn add_sums(&mut self) -> Result<[Sum; 2], ProfileError> {
        let mut all = [Sum::default(); 2];
        for (line, call, sums) in std::mem::take(&mut self.sums) {
            for (sum, more) in all.iter_mut().zip(sums) {
                sum.blocks = sum.blocks.saturating_add(more.blocks);
                sum.bytes = sum.bytes.saturating_add(more.bytes);
            }
            let [live, allocated] = sums.map(|sum| unsampled(sum, self.how));
            let sums = StackSums { call, live, allocated, ..StackSums::default() };
            self.to.add(&sums).map_err(|what| ProfileError::in_line(line, what))?;
        }
        Ok(all)
    }
}

fn rate(how: Unsampling) -> Rate {
    match how {
        Unsampling::None
        | Unsampling::Even { mean_bytes: 1 }
        | Unsampling::Poisson { mean_bytes: 1 }
        | Unsampling::PoissonOfGo { mean_bytes: 1 } => Rate::Exact,
        Unsampling::Even { mean_bytes }
        | Unsampling::Poisson { mean_bytes }
        | Unsampling::PoissonOfGo { mean_bytes } => Rate::Sampled { mean_bytes },
    }
}

/// That a file is cut. Before the list of files that stands at its end no function has a name.
fn cut(file_bytes: usize, stacks: &[Sum; 2], header: &[Sum; 2], has_names: bool) -> String {
    let names =
        if has_names { "" } else { " before the list of mapped files, so that no function has a name" };
    format!("the file is cut at byte {file_bytes}{names}; {}", compared(stacks, header))
}

fn compared([live, _]: &[Sum; 2], [whole, _]: &[Sum; 2]) -> String {
    format!(
        "its stacks have {} live blocks of {} bytes, and its first lines say {} of {}",
        live.blocks, live.bytes, whole.blocks, whole.bytes
    )
}

/// The addresses of a stack.
fn addresses(text: &str) -> Result<Vec<u64>, String> {
    let address = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        u64::from_str_radix(digits, 16).map_err(|_| format!("{:?}, which is no address,", shortened(word)))
    };
    text.split_ascii_whitespace().map(address).collect()
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
