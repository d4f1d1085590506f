//! From counters by function to counters by kind of call.

use heapscribe_wire::record::Call;

use crate::answer::{Amount, Calls, Totals};
use crate::counters::ThreadSums;

/// Calls as the program made them.
pub(super) fn calls(by_function: &[u64; Call::ALL.len()]) -> Calls {
    let mut calls = Calls::default();
    for (call, count) in Call::ALL.iter().zip(by_function) {
        if let Some(kind) = kind(&mut calls, *call) {
            *kind += count;
        }
    }
    calls
}

/// The counter of a kind; none for calls that are not the heap's.
fn kind(calls: &mut Calls, call: Call) -> Option<&mut u64> {
    Some(match call {
        Call::Malloc => &mut calls.malloc,
        Call::Calloc => &mut calls.calloc,
        Call::Realloc | Call::Reallocarray => &mut calls.realloc,
        Call::PosixMemalign | Call::AlignedAlloc | Call::Memalign | Call::Valloc | Call::Pvalloc => {
            &mut calls.aligned
        }
        Call::Free | Call::Cfree | Call::FreeSized | Call::FreeAlignedSized => &mut calls.free,
        Call::PoolAlloc | Call::PoolFree => return None,
    })
}

/// What a thread or a process did.
pub(super) fn totals(sums: &ThreadSums) -> Totals {
    Totals {
        calls: calls(&sums.calls),
        allocations: sums.allocations,
        allocated_bytes: sums.allocated_bytes,
        frees: sums.frees,
        freed_bytes: sums.freed_bytes,
        failed: sums.failed,
        reallocs_grown: sums.grown,
        reallocs_shrunk: sums.shrunk,
        reallocs_same: sums.same,
        unknown_blocks: sums.unknown,
        frees_by_others: sums.others_freed,
        lost_events: sums.lost,
    }
}

/// The blocks that were temporary.
pub(super) fn temporary(sums: &ThreadSums) -> Amount {
    Amount { blocks: sums.temporary, bytes: sums.temporary_bytes }
}
