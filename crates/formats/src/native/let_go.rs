//! The payload of a block that tells what a ring let go: sums over the events that are not in the trace,
//! of the process whose block it is, or of all those of which nothing else is left. Of several blocks of
//! one process the sums add up.
//!
//! ```text
//!   processes  until mono  chunks  events  lost events  blocks that came  known blocks that went
//!   bytes that came  bytes that went  mask of the calls that occur  how often, for each bit set
//! ```
//! All are varints. A later minor version may add fields.

use super::fields::{Fields, put};
use crate::model::LetGo;

pub(super) fn put_let_go(out: &mut Vec<u8>, gone: &LetGo) {
    let fields = [
        gone.processes,
        gone.until_mono_ns,
        gone.chunks,
        gone.events,
        gone.lost_events,
        gone.came_blocks,
        gone.went_blocks,
        gone.came_bytes,
        gone.went_bytes,
    ];
    fields.iter().for_each(|n| put(out, *n));
    let mask = gone.calls.iter().rev().fold(0, |mask, n| mask << 1 | u64::from(*n != 0));
    put(out, mask);
    gone.calls.iter().filter(|n| **n != 0).for_each(|n| put(out, *n));
}

pub(super) fn get(payload: &[u8]) -> Option<LetGo> {
    let mut f = Fields::new(payload);
    let mut gone = LetGo {
        processes: f.number()?,
        until_mono_ns: f.number()?,
        chunks: f.number()?,
        events: f.number()?,
        lost_events: f.number()?,
        came_blocks: f.number()?,
        went_blocks: f.number()?,
        came_bytes: f.number()?,
        went_bytes: f.number()?,
        ..LetGo::default()
    };
    let mask = f.number()?;
    for (_, n) in gone.calls.iter_mut().enumerate().filter(|(i, _)| mask >> i & 1 != 0) {
        *n = f.number()?;
    }
    Some(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_round_trip_and_a_cut_is_noticed() {
        let mut gone = LetGo { processes: 3, until_mono_ns: 1 << 50, events: u64::MAX, ..LetGo::default() };
        (gone.calls[0], gone.calls[9], gone.came_bytes, gone.went_bytes) = (7, 1 << 40, 99, 98);
        let mut bytes = Vec::new();
        put_let_go(&mut bytes, &gone);
        assert_eq!(get(&bytes), Some(gone));
        assert_eq!(gone.live_bytes(), 1);
        for cut in 0..bytes.len() {
            assert_eq!(get(&bytes[..cut]), None, "{cut}");
        }
        let mut twice = gone;
        twice.merge(&gone);
        assert_eq!((twice.processes, twice.events, twice.calls[9]), (6, u64::MAX, 2 << 40));
    }
}
