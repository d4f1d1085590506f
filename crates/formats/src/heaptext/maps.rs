//! The mapped files behind a profile, as `/proc/PID/maps` has them, and the addresses that lie in them.

use crate::profile::{Frame, Mapped};

/// What was linked to its addresses is mapped below this, and everything else above.
const LINKED_BELOW: u64 = 1 << 32;

/// A part of a file that is mapped.
#[derive(Debug)]
struct Part {
    begin: u64,
    end: u64,
    /// What addresses are above those in the file.
    bias: u64,
    path: String,
}

/// All of them, in the order of their addresses.
#[derive(Debug, Default)]
pub(super) struct Maps(Vec<Part>);

impl Maps {
    /// Takes a line; whether it is one.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let Some(part) = part(line) else { return false };
        let Some(part) = part else { return true };
        // The parts of a file lie one behind the other, and the first begins with the file.
        let same = self.0.iter().rev().find(|before| before.path == part.path && before.bias <= part.begin);
        let is_begin = part.bias == part.begin;
        let bias = match same {
            _ if part.begin < LINKED_BELOW => 0,
            Some(before) if !is_begin => before.bias,
            _ => part.bias,
        };
        self.0.push(Part { bias, ..part });
        true
    }

    /// To be called behind the last line.
    pub(super) fn sort(&mut self) {
        self.0.sort_by_key(|part| part.begin);
    }

    /// The frame of an address that a call returns to.
    pub(super) fn frame(&self, pc: u64) -> Frame {
        let call = pc.saturating_sub(1);
        let found = self.0[..self.0.partition_point(|part| part.begin <= call)].last();
        let found = found.filter(|part| call < part.end);
        let module = found.map(|part| Mapped { path: part.path.clone(), build_id: Vec::new() });
        let address = pc.wrapping_sub(found.map_or(0, |part| part.bias));
        Frame::Address { module, address, is_return_address: true }
    }
}

/// A line of maps: none is no such line, and no part is what no file is mapped by.
fn part(line: &str) -> Option<Option<Part>> {
    let mut words = line.split_ascii_whitespace();
    let (begin, end) = words.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (begin, end) = (hex(begin)?, hex(end)?);
    let (_, offset, _, _) = (words.next()?, hex(words.next()?)?, words.next()?, words.next()?);
    let path = words.collect::<Vec<_>>().join(" ");
    let is_file = path.starts_with('/') && begin < end;
    Some(is_file.then(|| Part { begin, end, bias: begin.wrapping_sub(offset), path }))
}
