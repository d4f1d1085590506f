//! How long a call was in the heap: written right behind the event of the call, when that is over.

use super::tag::OTHER_THREAD;
use crate::limits::TOOK_BYTES_MAX;
use crate::varint;

/// Its tag: a flag without a kind.
pub(super) const TOOK: u8 = OTHER_THREAD;

/// Writes the event [`super::Event::Took`]; how many bytes it took.
#[inline(always)]
pub fn put_latency(units: u64, at: &mut [u8; TOOK_BYTES_MAX]) -> usize {
    at[0] = TOOK;
    1 + varint::put(&mut at[1..], units)
}
