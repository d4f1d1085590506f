//! Massif's files: the heap at moments, some of which have a tree of who held it, from what allocates to its callers.
//!
//! ```text
//!   snapshot=7
//!   mem_heap_B=52288
//!   heap_tree=peak
//!   n2: 52288 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
//!    n1: 40000 0x109162: make (blocks.c:5)
//!     n0: 40000 0x1091A2: keep_many (blocks.c:6)
//!    n0: 12288 in 3 places, all below massif's threshold (1.00%)
//! ```
//! A call's bytes are those of its callers, too: what no caller has is its own. Numbers of blocks are not known.

use super::frame::frame;
use crate::profile::{
    Builder, CallNumber, Frame, FrameNumber, Line, Origin, Profile, ProfileError, Rate, StackSums, Sum, Unit,
};

/// Whether a file that begins with these bytes is one.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(b"desc:")
}

/// A moment that has a tree: its bytes, and the line that its tree begins in.
#[derive(Clone, Copy)]
struct Moment {
    bytes: u64,
    tree: u64,
}

/// Reads a file.
///
/// # Errors
/// When it is damaged, or has no tree.
pub fn read(bytes: &[u8]) -> Result<Profile, ProfileError> {
    let mut to = Builder::new(Origin::Massif);
    let mut chosen: Option<Moment> = None;
    let (mut heap_bytes, mut largest_bytes) = (0, 0);
    for (number, line) in lines(bytes) {
        if let Some(command) = line.strip_prefix("cmd:") {
            command.trim().clone_into(&mut to.profile.about.command);
        } else if let Some(bytes) = line.strip_prefix("mem_heap_B=") {
            let no_number = |_| ProfileError::in_line(number, "no number of bytes");
            heap_bytes = bytes.trim().parse().map_err(no_number)?;
            largest_bytes = largest_bytes.max(heap_bytes);
        } else if let Some(kind) = line.strip_prefix("heap_tree=") {
            // What massif calls the peak may be less than a later moment.
            let is_larger = |of: Moment| heap_bytes > of.bytes;
            if kind.trim() != "empty" && chosen.is_none_or(is_larger) {
                chosen = Some(Moment { bytes: heap_bytes, tree: number + 1 });
            }
        }
    }
    let Some(moment) = chosen else {
        return Err(ProfileError::in_line(1, "no moment of which it says who held the heap"));
    };
    if largest_bytes > moment.bytes {
        to.profile.about.heap_max_bytes = largest_bytes;
    }
    Tree::default().read(bytes, moment.tree, &mut to)?;
    to.profile.about.rate = Rate::Exact;
    to.profile.about.known.at_peak = Unit { blocks: false, bytes: true };
    Ok(to.finish())
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, std::borrow::Cow<'_, str>)> {
    (1..).zip(bytes.split(|byte| *byte == b'\n').map(String::from_utf8_lossy))
}

/// A call whose callers are being read.
struct Open {
    /// Callers that are still to come.
    callers: u64,
    /// Bytes that no caller has had yet.
    own_bytes: u64,
    /// None of the root.
    frame: Option<FrameNumber>,
}

/// The calls from the root to the one that is read.
#[derive(Default)]
struct Tree {
    open: Vec<Open>,
}

impl Tree {
    fn read(mut self, bytes: &[u8], first: u64, to: &mut Builder) -> Result<(), ProfileError> {
        let at = usize::try_from(first - 1).unwrap_or(usize::MAX);
        let mut last = first;
        for (number, line) in lines(bytes).skip(at) {
            last = number;
            let is_end = self.line(&line, to).map_err(|what| ProfileError::in_line(number, what))?;
            if is_end {
                return Ok(());
            }
        }
        Err(ProfileError::in_line(last, "a tree that is cut"))
    }

    /// Takes a line; whether it was the last one of the tree.
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<bool, String> {
        let text = line.trim_start_matches(' ');
        let no_call = || "no line of a tree".to_owned();
        if line.len() - text.len() != self.open.len() {
            return Err(no_call());
        }
        let (callers, rest) =
            text.strip_prefix('n').and_then(|text| text.split_once(": ")).ok_or_else(no_call)?;
        let (bytes, text) = rest.split_once(' ').ok_or_else(no_call)?;
        let (Ok(callers), Ok(bytes)) = (callers.parse::<u64>(), bytes.parse::<u64>()) else {
            return Err(no_call());
        };
        let frame = match self.open.last_mut() {
            None => None,
            Some(callee) => {
                callee.callers -= 1;
                let rest = callee.own_bytes.checked_sub(bytes);
                callee.own_bytes = rest.ok_or("a caller with more bytes than the call has")?;
                Some(to.frame(named(text)))
            }
        };
        self.open.push(Open { callers, own_bytes: bytes, frame });
        while self.open.last().is_some_and(|call| call.callers == 0) {
            self.close(to)?;
        }
        Ok(self.open.is_empty())
    }

    /// The innermost callers are read: what none of them has is of this stack.
    fn close(&mut self, to: &mut Builder) -> Result<(), String> {
        let own_bytes = self.open.last().map_or(0, |call| call.own_bytes);
        if own_bytes > 0 {
            let mut call = CallNumber::ROOT;
            for frame in self.open.iter().rev().filter_map(|open| open.frame) {
                call = to.call(call, frame)?;
            }
            let at_peak = Sum { blocks: 0, bytes: own_bytes };
            to.add(&StackSums { call, at_peak, ..StackSums::default() })?;
        }
        self.open.pop();
        Ok(())
    }
}

/// The frame of a call; calls that hold little are one line.
fn named(text: &str) -> Frame {
    if !text.starts_with("in ") {
        return frame(text);
    }
    let short = text.split(" (").next().unwrap_or(text);
    Frame::Named(vec![Line { function: format!("[{short}]"), ..Line::default() }])
}
