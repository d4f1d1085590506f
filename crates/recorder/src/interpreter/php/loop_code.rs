//! Where the code of the interpreter's loop is: `execute_ex`, and its unlikely part, which the compiler has put elsewhere
//! and which has no name. The jumps of the first lead to the second.

use core::ops::Range;

use heapscribe_nolibc::loader::{ModuleText, Segment};

use crate::unwind::cfi;

/// So many jumps into one function that has another entry of its own are no calls.
const JUMPS_MIN: usize = 4;
/// Functions outside that jumps lead to, at most.
const PARTS_MAX: usize = 8;
/// A conditional jump: two bytes, then how far.
const JUMP_BYTES: usize = 6;

/// The code of the loop, the likely part first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoopCode {
    starts: [usize; 2],
    ends: [usize; 2],
}

impl LoopCode {
    /// Of no interpreter.
    pub(super) const NONE: LoopCode = LoopCode { starts: [0; 2], ends: [0; 2] };

    /// Whether an instruction is in it.
    #[inline(always)]
    pub(super) fn contains(&self, instruction: usize) -> bool {
        let is_in = |part: usize| self.starts[part] <= instruction && instruction < self.ends[part];
        is_in(0) || is_in(1)
    }

    /// The loop that begins at `start`, in the segment of its code; `tables` has what functions there are.
    pub(super) fn find(
        text: &ModuleText,
        code: Segment<'_>,
        tables: Segment<'_>,
        start: usize,
    ) -> Option<LoopCode> {
        let function = |at: usize| cfi::code_at(tables, text.eh_frame_hdr, at);
        let likely = function(start).filter(|found| found.start == start)?;
        let bytes = code.from(start)?.get(..likely.len())?;
        let unlikely = part_elsewhere(bytes, &likely, text, function).unwrap_or(0..0);
        Some(LoopCode { starts: [likely.start, unlikely.start], ends: [likely.end, unlikely.end] })
    }
}

/// The function outside that most jumps lead into.
fn part_elsewhere(
    bytes: &[u8],
    likely: &Range<usize>,
    text: &ModuleText,
    function: impl Fn(usize) -> Option<Range<usize>>,
) -> Option<Range<usize>> {
    let mut parts: [(Range<usize>, usize); PARTS_MAX] = [const { (0..0, 0) }; PARTS_MAX];
    for (offset, jump) in bytes.windows(JUMP_BYTES).enumerate() {
        let [0x0f, 0x80..=0x8f, distance @ ..] = jump else { continue };
        let Ok(distance) = <[u8; 4]>::try_from(distance) else { continue };
        let behind = likely.start.wrapping_add(offset + JUMP_BYTES);
        let target = behind.wrapping_add_signed(i32::from_le_bytes(distance) as isize);
        if likely.contains(&target) || !text.contains(target) {
            continue;
        }
        let Some(found) = function(target).filter(|found| found.contains(&target)) else { continue };
        let known = parts.iter_mut().find(|(part, jumps)| *part == found || *jumps == 0);
        if let Some((part, jumps)) = known {
            (*part, *jumps) = (found, *jumps + 1);
        }
    }
    let (part, jumps) = parts.into_iter().max_by_key(|(_, jumps)| *jumps)?;
    (jumps >= JUMPS_MIN).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(targets: &[usize], expected: Option<Range<usize>>) {
        const START: usize = 0x4000;
        let mut bytes = vec![0x90; 3];
        for target in targets {
            let behind = START + bytes.len() + JUMP_BYTES;
            bytes.extend([0x0f, 0x84]);
            bytes.extend((*target as i32 - behind as i32).to_le_bytes());
        }
        let text = ModuleText { start: 0x1000, end: 0x9000, eh_frame_hdr: 0, link_map: 0 };
        let functions = [0x1000..0x1100, 0x1100..0x1200, 0x4000..0x4000 + bytes.len()];
        let function = |at: usize| functions.iter().find(|range| range.contains(&at)).cloned();
        assert_eq!(part_elsewhere(&bytes, &functions[2], &text, function), expected, "{targets:x?}");
    }

    #[test]
    fn the_unlikely_part_is_where_most_jumps_lead() {
        check(&[], None);
        check(&[0x1000, 0x1004, 0x1010], None);
        check(&[0x1000, 0x1004, 0x1110, 0x1010, 0x4001, 0x1020], Some(0x1000..0x1100));
        check(&[0x1180; 5], Some(0x1100..0x1200));
        check(&[0xf000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000], None);
    }
}
