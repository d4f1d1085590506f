//! What holds of every byte of the wire: what was written is read back, and what nobody wrote is an error
//! within the bytes given or some value, but never a panic.

use heapscribe_wire::chunk::{HEADER_BYTES, Header};
use heapscribe_wire::head::{HEAD_FILE_BYTES, Head, MAGIC};
use heapscribe_wire::ids::{HeapAddress, RateId, StackId, ThreadId};
use heapscribe_wire::limits::NAME_BYTES_MAX;
use heapscribe_wire::live::{
    ADDRESS_END, GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER, Path, SIZE_ELSEWHERE, Slot, age_ticks,
};
use heapscribe_wire::plan::{MAGIC as PLAN_MAGIC, PLAN_BYTES, Plan};
use heapscribe_wire::{ABI_VERSION, varint};
use proptest::collection::vec;
use proptest::prelude::*;

#[path = "properties/definitions.rs"]
mod definitions;
#[path = "properties/events.rs"]
mod events;
#[path = "properties/heap.rs"]
mod heap;

/// Numbers of all lengths, not only of the longest.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64u32).prop_map(|(n, shift)| n >> shift)
}

fn stack() -> impl Strategy<Value = StackId> {
    number().prop_map(|n| StackId(n as u32))
}

/// What a reader makes of bytes of which all before `changed` are as written: all records that end before
/// it, as they were, and no error in them.
fn holds_up_to<T: PartialEq + std::fmt::Debug>(changed: usize, starts: &[usize], all: &[T], read: &[T]) {
    let whole = starts.iter().skip(1).filter(|&&end| end <= changed).count();
    assert_eq!(read.get(..whole), Some(&all[..whole]));
}

proptest! {
    #[test]
    fn varints_round_trip(value in number(), signed in any::<i64>(), rest in vec(any::<u8>(), 0..4)) {
        let mut at = [0; varint::MAX_BYTES];
        let n = varint::put(&mut at, value);
        let bytes = [&at[..n], &rest[..]].concat();
        prop_assert_eq!(varint::get(&bytes), Some((value, n)));
        prop_assert_eq!(varint::get(&at[..n - 1]), None);
        prop_assert_eq!(varint::put(&mut at[..n - 1], value), 0);
        prop_assert_eq!(varint::unzigzag(varint::zigzag(signed)), signed);
    }

    #[test]
    fn any_bytes_are_a_varint_or_none(bytes in vec(any::<u8>(), 0..12)) {
        if let Some((value, n)) = varint::get(&bytes) {
            prop_assert!(n <= bytes.len() && bytes[n - 1] < 0x80);
            prop_assert!(varint::put(&mut [0; varint::MAX_BYTES], value) <= n, "none is shorter than ours");
        }
    }

    #[test]
    fn slots_round_trip(
        size_bytes in number(), stack in 0..1u32 << 26, thread in 0..1u32 << 24,
        birth_ticks in 0..1u64 << 48, upper_half in any::<bool>(), age in 0..1u64 << 47,
        rate in 0..4u8,
    ) {
        let (stack, thread) = (StackId(stack), ThreadId(thread));
        let slot = Slot { size_bytes, stack, thread, birth_ticks, upper_half, rate: RateId(rate) };
        let size_bytes = size_bytes.min(SIZE_ELSEWHERE);
        prop_assert_eq!(Slot::unpack(slot.pack()), Some(Slot { size_bytes, ..slot }));
        prop_assert_eq!(age_ticks(birth_ticks + age, birth_ticks), age);
    }

    #[test]
    fn any_words_are_a_slot_or_none(words in any::<[u64; 2]>()) {
        match Slot::unpack(words) {
            Some(slot) => prop_assert_eq!(Slot::unpack(slot.pack()), Some(slot)),
            None => prop_assert_eq!(words[0] >> 52 & 1, 0),
        }
    }

    #[test]
    fn paths_lead_back_and_neighbours_have_their_own(address in 0..ADDRESS_END / 8) {
        let address = address * 8;
        for (shift, lost) in [(GRANULE_SHIFT_GLIBC, 0x10), (GRANULE_SHIFT_OTHER, 0)] {
            let path = Path::of(HeapAddress(address), shift);
            prop_assert_eq!(path.address(shift).0, address & !lost);
            for apart in [8, 32].map(|n| address + n).into_iter().filter(|&other| other < ADDRESS_END) {
                prop_assert_ne!(Path::of(HeapAddress(apart), shift), path);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_head_or_an_error(
        mut bytes in vec(any::<u8>(), HEAD_FILE_BYTES), len in 0..HEAD_FILE_BYTES + 1,
        is_ours in any::<bool>(),
    ) {
        if is_ours {
            bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
            bytes[8..12].copy_from_slice(&ABI_VERSION.to_le_bytes());
        }
        prop_assert_eq!(Head::parse(&bytes).is_ok(), is_ours);
        if let Ok(head) = Head::parse(&bytes[..len]) {
            prop_assert!(head.exe.len() <= NAME_BYTES_MAX && head.command.len() <= NAME_BYTES_MAX);
        }
    }

    #[test]
    fn any_bytes_are_a_plan_or_none(mut bytes in any::<[u8; PLAN_BYTES]>()) {
        prop_assert_eq!(Plan::parse(&bytes), None);
        bytes[..8].copy_from_slice(&PLAN_MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&ABI_VERSION.to_le_bytes());
        let plan = Plan::parse(&bytes).expect("all that is not the magic has a meaning");
        prop_assert_eq!(Plan::parse(&plan.to_bytes()), Some(plan));
    }

    #[test]
    fn any_bytes_are_a_chunk_header(mut bytes in any::<[u8; HEADER_BYTES]>()) {
        let header = Header::parse(&bytes);
        bytes[12..16].fill(0);
        prop_assert_eq!(header.to_bytes(), bytes);
    }
}
