//! The payload of a block of evicted events: sums over events that a ring has dropped from the trace,
//! of the process whose block it is, or of all those of which the ring kept nothing. Of several blocks of
//! one process the sums add up.
//!
//! ```text
//!   processes  until mono  chunks  events  lost events  allocated blocks  freed known blocks
//!   allocated bytes  freed bytes  mask of the calls that occur  how often, for each bit set
//!   of processes that are not in the trace: the fields of `EndedImages`
//! ```
//! All are varints. A later minor version may add fields.

use super::fields::{Fields, put};
use crate::model::{EndedImages, Evicted};

pub(super) fn put_evicted(out: &mut Vec<u8>, evicted: &Evicted) {
    let fields = [
        evicted.processes,
        evicted.until_mono_ns,
        evicted.chunks,
        evicted.events,
        evicted.lost_events,
        evicted.allocated_blocks,
        evicted.freed_blocks,
        evicted.allocated_bytes,
        evicted.freed_bytes,
    ];
    fields.iter().for_each(|n| put(out, *n));
    let mask = evicted.calls.iter().rev().fold(0, |mask, n| mask << 1 | u64::from(*n != 0));
    put(out, mask);
    evicted.calls.iter().filter(|n| **n != 0).for_each(|n| put(out, *n));
    if evicted.ended.images > 0 {
        evicted.ended.fields().iter().for_each(|n| put(out, *n));
    }
}

pub(super) fn get_evicted(payload: &[u8]) -> Option<Evicted> {
    let mut f = Fields::new(payload);
    let mut evicted = Evicted {
        processes: f.number()?,
        until_mono_ns: f.number()?,
        chunks: f.number()?,
        events: f.number()?,
        lost_events: f.number()?,
        allocated_blocks: f.number()?,
        freed_blocks: f.number()?,
        allocated_bytes: f.number()?,
        freed_bytes: f.number()?,
        ..Evicted::default()
    };
    let mask = f.number()?;
    for (_, n) in evicted.calls.iter_mut().enumerate().filter(|(i, _)| mask >> i & 1 != 0) {
        *n = f.number()?;
    }
    if !f.is_empty() {
        let mut fields = EndedImages::default().fields();
        for field in &mut fields {
            *field = f.number()?;
        }
        evicted.ended = EndedImages::of_fields(fields);
    }
    Some(evicted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_round_trip_and_a_cut_is_noticed() {
        let mut evicted =
            Evicted { processes: 3, until_mono_ns: 1 << 50, events: u64::MAX, ..Evicted::default() };
        (evicted.calls[0], evicted.calls[9], evicted.allocated_bytes, evicted.freed_bytes) =
            (7, 1 << 40, 99, 98);
        let mut bytes = Vec::new();
        put_evicted(&mut bytes, &evicted);
        let without_images = bytes.len();
        assert_eq!(get_evicted(&bytes), Some(evicted));
        evicted.ended = EndedImages::of_fields(std::array::from_fn(|n| n as u64 + 1));
        bytes.clear();
        put_evicted(&mut bytes, &evicted);
        assert_eq!(get_evicted(&bytes), Some(evicted));
        assert_eq!(evicted.live_bytes(), 1);
        for cut in (0..bytes.len()).filter(|cut| *cut != without_images) {
            assert_eq!(get_evicted(&bytes[..cut]), None, "{cut}");
        }
        let mut twice = evicted;
        twice.merge(&evicted);
        assert_eq!((twice.processes, twice.events, twice.calls[9]), (6, u64::MAX, 2 << 40));
        let images = twice.ended;
        assert_eq!((images.images, images.first_mono_ns, images.leaked_bytes_max), (2, 2, 12));
        assert_eq!((images.one_leaked_bytes, images.peaks_bytes), (8, 24));
    }
}
