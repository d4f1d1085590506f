//! The tree of a moment, as stacks with what is their own.

use super::super::frame::frame;
use super::moments::{call, lines};
use crate::profile::{Builder, CallNumber, Frame, FrameNumber, Line, ProfileError, StackSums, Sum};

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
pub(super) struct Tree {
    open: Vec<Open>,
}

impl Tree {
    /// Reads the tree that begins in a line.
    ///
    /// # Errors
    /// When it is damaged.
    pub(super) fn read(mut self, bytes: &[u8], first: u64, to: &mut Builder) -> Result<(), ProfileError> {
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
        let (callers, bytes, text) = call(text).ok_or_else(no_call)?;
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
