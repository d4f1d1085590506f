//! From a name that the program gives to its number: found by its hash, lock-free; only a new name takes the
//! lock and is defined. Two names whose 64-bit hashes are equal would share a number.
//!
//! ```text
//!   entry    hash of the name, 0: no entry    its number
//!   place    low bits of the hash, then the entries after it
//! ```
//! An entry's number is stored before its hash. There are twice as many places as names, so that a search
//! ends soon.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::NameId;
use heapscribe_wire::limits::{MARK_NAME_BYTES_MAX, NAMES_MAX};

use super::writer::DefinitionWriter;
use crate::platform::lock::Lock;
use crate::platform::memory;

const PLACES: usize = 2 * NAMES_MAX as usize;
const _: () = assert!(PLACES.is_power_of_two());

type Table = [[AtomicU64; 2]; PLACES];

/// The names of this process.
#[derive(Debug, Default)]
pub(crate) struct Names {
    table: AtomicPtr<Table>,
    count: AtomicU32,
}

/// FNV-1a, mixed, never 0.
fn hash(name: &[u8]) -> u64 {
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ hash >> 32).max(1)
}

impl Names {
    fn table(&self) -> Option<&Table> {
        // SAFETY: a published table stays for the life of the process.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    fn look(&self, hash: u64) -> Option<NameId> {
        let table = self.table()?;
        let places = (0..PLACES).map(|n| &table[(hash as usize).wrapping_add(n) % PLACES]);
        for [found, number] in places {
            match found.load(Ordering::Acquire) {
                0 => return None,
                same if same == hash => return Some(NameId(number.load(Ordering::Relaxed) as u32)),
                _ => {}
            }
        }
        None
    }

    /// The number of a name that is known.
    pub(crate) fn find(&self, name: &[u8]) -> Option<NameId> {
        self.look(hash(cut(name)))
    }

    /// The number of a name, defined when it is new. `None` when there is no room or memory for it.
    pub(crate) fn find_or_define(
        &self,
        name: &[u8],
        definitions: &DefinitionWriter,
        lock: &Lock,
    ) -> Option<NameId> {
        let name = cut(name);
        self.look(hash(name)).or_else(|| self.define(name, definitions, lock))
    }

    #[cold]
    fn define(&self, name: &[u8], definitions: &DefinitionWriter, lock: &Lock) -> Option<NameId> {
        let held = lock.hold()?;
        let hash = hash(name);
        if let Some(id) = self.look(hash) {
            return Some(id);
        }
        if self.table.load(Ordering::Relaxed).is_null() {
            let place = memory::alloc(size_of::<Table>(), &held)?;
            self.table.store(place.cast().as_ptr(), Ordering::Release);
        }
        let number = self.count.load(Ordering::Relaxed) + 1;
        let id = (number <= NAMES_MAX).then_some(NameId(number))?;
        definitions.append(&Definition::Name { id, name }, &held).ok()?;
        self.count.store(number, Ordering::Relaxed);
        let table = self.table()?;
        let mut places = (0..PLACES).map(|n| &table[(hash as usize).wrapping_add(n) % PLACES]);
        let [found, place] = places.find(|place| place[0].load(Ordering::Relaxed) == 0)?;
        place.store(u64::from(number), Ordering::Relaxed);
        found.store(hash, Ordering::Release);
        Some(id)
    }
}

fn cut(name: &[u8]) -> &[u8] {
    name.get(..MARK_NAME_BYTES_MAX).unwrap_or(name)
}

/// The bytes of a C string, up to one more than a name can have; `None` for null.
///
/// # Safety
/// * `name` is null or a C string that lives as long as the bytes are used.
pub unsafe fn bytes_of<'a>(name: *const u8) -> Option<&'a [u8]> {
    if name.is_null() {
        return None;
    }
    // SAFETY: `name` is a C string, and no byte behind its first NUL is read.
    let ends = |at: &usize| unsafe { *name.add(*at) } == 0;
    let len = (0..=MARK_NAME_BYTES_MAX).find(ends).unwrap_or(MARK_NAME_BYTES_MAX + 1);
    // SAFETY: the first `len` bytes were just read, and the string lives as long as they are used.
    Some(unsafe { &*ptr::slice_from_raw_parts(name, len) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_c_string_is_read_no_further_than_a_name_goes() {
        let long = [b'x'; 2 * MARK_NAME_BYTES_MAX];
        // SAFETY: two C strings, null, and bytes that are more than will be read.
        let read = unsafe {
            [
                bytes_of(c"".as_ptr().cast()),
                bytes_of(c"name".as_ptr().cast()),
                bytes_of(ptr::null()),
                bytes_of(long.as_ptr()),
            ]
        };
        assert_eq!(read, [Some(&b""[..]), Some(b"name"), None, Some(&long[..=MARK_NAME_BYTES_MAX])]);
        assert_eq!(cut(&long).len(), MARK_NAME_BYTES_MAX);
        assert_ne!(hash(b"a"), hash(b"b"));
    }
}
