//! The parts of the file that are mapped. A line is reserved by adding its length to the file's end, and is
//! written into the window of that offset. The first thread in a window maps it, and the thread that writes the last
//! missing bytes unmaps it. No thread holds a lock while it writes, so one that stops in the middle - or a handler
//! that exits by `longjmp` - blocks no other: its window stays mapped, that is all.
//!
//! ```text
//!   slot   | number + 1 (37 bits) | phase (2) | bytes written (25) |   address
//! ```

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use heapscribe_nolibc::sys;

/// Bytes of a window.
pub(super) const WINDOW_BYTES: u64 = 256 << 10;
/// What is mapped of it: a line that begins at its end goes on behind.
pub(super) const MAPPED_BYTES: usize = WINDOW_BYTES as usize + 4096;
/// Windows that are known at a time: when that many are not enough, the oldest stays mapped for ever.
const SLOTS: usize = 64;

const WRITTEN_BITS: u32 = 25;
const WRITTEN: u64 = (1 << WRITTEN_BITS) - 1;
const PHASE_SHIFT: u32 = WRITTEN_BITS;
const NUMBER_SHIFT: u32 = PHASE_SHIFT + 2;
const MAPPING: u64 = 0;
const MAPPED: u64 = 1;
const FAILED: u64 = 2;
const UNMAPPED: u64 = 3;

const _: () = assert!(WINDOW_BYTES <= WRITTEN && WINDOW_BYTES.is_power_of_two());

/// How long the others wait for the thread that maps a window.
const TRY_AGAIN_NS: u64 = 50_000;
const TRIES: u32 = 20_000;

#[derive(Debug)]
struct Slot {
    word: AtomicU64,
    at: AtomicPtr<u8>,
}

/// The windows of a file. All zeros is none.
#[derive(Debug)]
pub(super) struct Windows {
    slots: [Slot; SLOTS],
}

const fn word(number: u64, phase: u64, written: u64) -> u64 {
    (number + 1) << NUMBER_SHIFT | phase << PHASE_SHIFT | written
}

const fn number_and_phase(word: u64) -> (u64, u64) {
    (word >> NUMBER_SHIFT, word >> PHASE_SHIFT & 3)
}

impl Windows {
    fn slot(&self, number: u64) -> &Slot {
        &self.slots[number as usize % SLOTS]
    }

    /// Where window `number` is; `map` makes it when nobody has. `None` when it could not be had, or is unmapped already.
    pub(super) fn get(&self, number: u64, map: impl Fn(u64) -> Option<*mut u8>) -> Option<*mut u8> {
        let slot = self.slot(number);
        for _ in 0..TRIES {
            let seen = slot.word.load(Ordering::Acquire);
            match number_and_phase(seen) {
                (there, MAPPED) if there == number + 1 => {
                    let at = slot.at.load(Ordering::Acquire);
                    // Another window may have taken the slot since.
                    let is_still = number_and_phase(slot.word.load(Ordering::Acquire)) == (there, MAPPED);
                    return is_still.then_some(at);
                }
                (there, MAPPING) if there == number + 1 => sys::sleep_ns(TRY_AGAIN_NS),
                (there, _) if there > number => return None,
                _ => self.claim(slot, seen, number, &map),
            }
        }
        None
    }

    /// Maps the window, unless another thread is faster. Signals are held back, so that no handler of this
    /// thread's waits for it.
    fn claim(&self, slot: &Slot, seen: u64, number: u64, map: &impl Fn(u64) -> Option<*mut u8>) {
        let _blocked = sys::SignalsBlocked::new();
        let mine = word(number, MAPPING, 0);
        if slot.word.compare_exchange(seen, mine, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        let phase = match map(number) {
            Some(at) => {
                slot.at.store(at, Ordering::Release);
                MAPPED
            }
            None => FAILED,
        };
        slot.word.store(word(number, phase, 0), Ordering::Release);
    }

    /// `len` bytes at `position` are written. Each window they are in was got before; `unmap` is given those
    /// that nobody has an address in any more.
    pub(super) fn written(&self, position: u64, len: u64, unmap: impl Fn(*mut u8)) {
        let (first, last) = (position / WINDOW_BYTES, (position + len - 1) / WINDOW_BYTES);
        if first == last {
            self.add(first, len, &unmap);
        } else {
            let here = last * WINDOW_BYTES - position;
            self.add(first, here, &unmap);
            self.add(last, len - here, &unmap);
        }
    }

    fn add(&self, number: u64, len: u64, unmap: &impl Fn(*mut u8)) {
        let slot = self.slot(number);
        let mut seen = slot.word.load(Ordering::Acquire);
        loop {
            if number_and_phase(seen) != (number + 1, MAPPED) {
                return;
            }
            let is_full = (seen & WRITTEN) + len == WINDOW_BYTES;
            let new = if is_full { word(number, UNMAPPED, 0) } else { seen + len };
            let at = slot.at.load(Ordering::Acquire);
            match slot.word.compare_exchange_weak(seen, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if is_full => return unmap(at),
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn windows() -> Windows {
        let slot = || Slot { word: AtomicU64::new(0), at: AtomicPtr::default() };
        Windows { slots: std::array::from_fn(|_| slot()) }
    }

    /// Windows that nobody writes into, as only their addresses matter here: one page apart.
    fn mapped(count: &Cell<usize>) -> impl Fn(u64) -> Option<*mut u8> {
        |_| {
            count.set(count.get() + 1);
            Some(std::ptr::without_provenance_mut(count.get() << 12))
        }
    }

    fn never(_: *mut u8) {
        panic!("unmapped");
    }

    #[test]
    fn a_window_is_mapped_once_and_unmapped_when_all_of_it_is_written() {
        let (windows, count) = (windows(), Cell::new(0));
        let at = windows.get(0, mapped(&count)).unwrap();
        assert_eq!(windows.get(0, mapped(&count)), Some(at));
        windows.get(1, mapped(&count)).unwrap();
        assert_eq!(count.get(), 2);
        windows.written(0, WINDOW_BYTES - 10, never);
        let unmapped = Cell::new(Vec::new());
        windows.written(WINDOW_BYTES - 10, 40, |at| unmapped.set([unmapped.take(), vec![at]].concat()));
        assert_eq!(unmapped.take(), [at]);
        assert_eq!(windows.get(0, mapped(&count)), None);
        assert_eq!(windows.slot(1).word.load(Ordering::Relaxed) & WRITTEN, 30);
    }

    #[test]
    fn a_window_that_is_never_full_stays_and_blocks_nothing() {
        let (windows, count) = (windows(), Cell::new(0));
        let old = windows.get(3, mapped(&count)).unwrap();
        let new = windows.get(3 + SLOTS as u64, mapped(&count)).unwrap();
        assert_ne!(old, new);
        assert_eq!(windows.get(3, mapped(&count)), None);
        windows.written(3 * WINDOW_BYTES, 100, never);
        assert_eq!(windows.slot(3).word.load(Ordering::Relaxed) & WRITTEN, 0, "not of the new one");
    }

    #[test]
    fn one_that_can_not_be_had_is_asked_for_once() {
        let (windows, asked) = (windows(), Cell::new(0));
        for _ in 0..3 {
            let none = windows.get(7, |_| {
                asked.set(asked.get() + 1);
                None
            });
            assert_eq!(none, None);
        }
        assert_eq!(asked.get(), 1);
    }
}
