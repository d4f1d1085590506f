//! From a stack to its number: the hash of its path is looked up in one table, lock-free.
//!
//! ```text
//!   entry    hash of the path, 0: no entry    number of the node in defs
//!   place    low bits of the hash, then the entries after it
//! ```
//! An entry's number is stored before its hash. A table that has grown too full is replaced by one twice
//! as large, and the memory of the old one is given back at once: who still reads it finds it empty, and
//! comes to the new one under the lock. Only where the leaf is new are nodes defined, from the outermost one
//! that is missing inwards, under the lock. Two stacks whose 64-bit hashes are equal would share a number:
//! for a million stacks the chance is 3 in 100 million.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use heapscribe_wire::defs::{Definition, Node};
use heapscribe_wire::head::{Drop, SharedHead};
use heapscribe_wire::ids::{CodeAddress, StackId};

use crate::capture::{Frame, PathHash};
use crate::define::Definer;
use crate::lock::Held;
use crate::{memory, sys};

const FIRST_CAPACITY: usize = 4096;

/// A table: this, then `capacity` entries.
#[repr(C, align(64))]
#[derive(Debug)]
struct Table {
    capacity: usize,
}

type Entry = [AtomicU64; 2];

impl Table {
    const fn bytes(capacity: usize) -> usize {
        size_of::<Table>() + capacity * size_of::<Entry>()
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> &Entry {
        // SAFETY: a table is allocated with `capacity` entries behind it; the index is masked.
        unsafe { &*ptr::from_ref(self).add(1).cast::<Entry>().add(index & (self.capacity - 1)) }
    }

    #[inline(always)]
    fn find(&self, hash: u64) -> Option<StackId> {
        for i in 0..self.capacity {
            let [found, id] = self.entry((hash as usize).wrapping_add(i));
            match found.load(Ordering::Acquire) {
                0 => return None,
                h if h == hash => {
                    // 0 when the table's memory was given back this instant.
                    let id = StackId(id.load(Ordering::Relaxed) as u32);
                    return (id != StackId::UNKNOWN).then_some(id);
                }
                _ => {}
            }
        }
        None
    }

    fn insert(&self, hash: u64, id: StackId) {
        let mut entries = (0..self.capacity).map(|i| self.entry((hash as usize).wrapping_add(i)));
        if let Some([found, number]) = entries.find(|entry| entry[0].load(Ordering::Relaxed) == 0) {
            number.store(u64::from(id.0), Ordering::Relaxed);
            found.store(hash, Ordering::Release);
        }
    }

    /// Gives back the pages of a table that nobody looks into any more, but for the first, whose capacity
    /// readers may still use.
    fn give_back(&self) {
        const PAGE_BYTES: usize = 4096;
        let begin = (ptr::from_ref(self) as usize + size_of::<Table>()).next_multiple_of(PAGE_BYTES);
        let end = (ptr::from_ref(self) as usize + Table::bytes(self.capacity)) & !(PAGE_BYTES - 1);
        if begin < end {
            // SAFETY: whole pages of the table's own entries, which are atomic integers that may turn to
            // zero at any time. Locked pages cannot be given back, and stay.
            let _ = unsafe { sys::advise(begin as *mut u8, end - begin, sys::Advice::DontNeed) };
        }
    }
}

/// The nodes of this process, by the hash of their path.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    table: AtomicPtr<Table>,
    entries: AtomicUsize,
}

/// A captured stack, the outermost frame first.
pub(crate) trait Path {
    /// How many frames it has.
    fn len(&self) -> usize;
    /// The path from the outermost frame to frame `index`; the frame; the path's number, if it is known.
    fn frame(&self, index: usize) -> (PathHash, Frame, StackId);
    /// Takes note of the number of the path to frame `index`.
    fn set_id(&mut self, index: usize, id: StackId);
    /// The hash of the path before its first frame, and why that is not an outermost one.
    fn root(&self) -> (PathHash, Option<Drop>);
}

impl Interner {
    #[inline(always)]
    fn table(&self) -> Option<&Table> {
        // SAFETY: a published table stays for the life of the process; its entries may turn to zero.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    /// The number of a path that is known.
    #[inline(always)]
    pub(crate) fn find(&self, path: PathHash) -> Option<StackId> {
        self.table()?.find(path.key())
    }

    /// Index of the first frame whose path has no number, and the number before it.
    pub(crate) fn first_new(&self, path: &impl Path) -> (usize, StackId) {
        for index in (0..path.len()).rev() {
            let (hash, frame, id) = path.frame(index);
            if frame == Frame::default() {
                return (index + 1, StackId::UNKNOWN); // the word that ends the stack
            }
            let id = if id == StackId::UNKNOWN { self.find(hash) } else { Some(id) };
            if let Some(id) = id {
                return (index + 1, id);
            }
        }
        (0, StackId::UNKNOWN)
    }

    /// The number of a path, defining what of it is new. `None` when there is no room or memory for it.
    pub(crate) fn define(
        &self,
        path: &mut impl Path,
        definer: &Definer,
        head: &SharedHead,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let (first, mut parent) = self.first_new(path);
        if let (StackId::UNKNOWN, (seed, Some(reason))) = (parent, path.root()) {
            let cut = Definition::Cut { reason: reason as u8 };
            parent = match self.find(seed) {
                Some(id) => id,
                None => self.append(seed, &cut, definer, head, held)?,
            };
        }
        for index in first..path.len() {
            let (hash, frame, _) = path.frame(index);
            let pc = CodeAddress(frame.address());
            let node = Node { parent, pc, guesses: frame.guesses(), exact: frame.is_exact() };
            parent = self.append(hash, &Definition::Node(node), definer, head, held)?;
            path.set_id(index, parent);
        }
        Some(parent)
    }

    fn append(
        &self,
        hash: PathHash,
        definition: &Definition<'_>,
        definer: &Definer,
        head: &SharedHead,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let table = self.with_room(held)?;
        let id = definer.append(definition, head, held).ok()?;
        table.insert(hash.key(), id);
        self.entries.fetch_add(1, Ordering::Relaxed);
        Some(id)
    }

    /// The table, replaced by a larger one when it is more than three quarters full.
    fn with_room(&self, held: &Held<'_>) -> Option<&Table> {
        match self.table() {
            Some(table) if self.entries.load(Ordering::Relaxed) * 4 < table.capacity * 3 => Some(table),
            Some(table) => self.grow(Some(table), table.capacity * 2, held),
            None => self.grow(None, FIRST_CAPACITY, held),
        }
    }

    fn grow(&self, old: Option<&Table>, capacity: usize, _held: &Held<'_>) -> Option<&Table> {
        // SAFETY: the lock is held.
        let place = unsafe { memory::alloc(Table::bytes(capacity)) }?.cast::<Table>();
        // SAFETY: zeroed bytes of that many, which are an empty table but for its capacity.
        let table = unsafe {
            (*place.as_ptr()).capacity = capacity;
            place.as_ref()
        };
        for i in 0..old.map_or(0, |t| t.capacity) {
            let [hash, id] = old?.entry(i).each_ref().map(|word| word.load(Ordering::Relaxed));
            if hash != 0 {
                table.insert(hash, StackId(id as u32));
            }
        }
        self.table.store(place.as_ptr(), Ordering::Release);
        if let Some(old) = old {
            old.give_back();
        }
        Some(table)
    }
}

#[cfg(test)]
pub(crate) use tests::{file, head, random};

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::atomic::AtomicU32;

    use heapscribe_wire::defs::{Definitions, Position};
    use heapscribe_wire::limits::DEFS_STEP_BYTES;

    use super::*;
    use crate::lock::Lock;
    use crate::shared::SharedFile;
    use crate::sys;
    use crate::walks::Walked;

    /// A head as it is when its file was just made.
    pub(crate) fn head() -> &'static SharedHead {
        // SAFETY: a head is integers, for which zero is valid.
        Box::leak(unsafe { Box::<SharedHead>::new_zeroed().assume_init() })
    }

    /// A session file in a directory of its own, which is gone when this returns.
    pub(crate) fn file(map_bytes: usize) -> SharedFile {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("heapscribe-recorder-{}-{n}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        let dir = sys::File::open(&name, sys::Open::Directory).unwrap();
        let windows = (0..crate::shared::windows_of(map_bytes)).map(|_| Default::default()).collect();
        let file = SharedFile::create(&dir, c"file", map_bytes, Vec::leak(windows)).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        file
    }

    /// The next of a row of numbers that look random.
    pub(crate) fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let n = *state ^ *state >> 33;
        n.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 24
    }

    /// The arena that tables come from is for who holds the recorder's lock, here the one of all tests.
    static ARENA: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// A stack: where its definitions are of, why it is cut, and its frames, the leaf first.
    type Stack = (u32, Option<Drop>, Vec<u64>);

    fn frames(bits: &[u64]) -> &[Frame] {
        // SAFETY: a frame is 64 bits, of which all values are valid.
        unsafe { core::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
    }

    /// The interner, its definitions, and the twin: the stacks that it was asked to define.
    struct Both {
        interner: Interner,
        definer: Definer,
        head: &'static SharedHead,
        lock: Lock,
        twin: HashMap<Stack, StackId>,
    }

    impl Both {
        fn new(map_bytes: usize) -> Both {
            let definer = Definer::new(file(map_bytes));
            let (interner, head, lock) = (Interner::default(), head(), Lock::default());
            Both { interner, definer, head, lock, twin: HashMap::new() }
        }

        /// Interns a stack as a hook does. What is found must be what the twin knows.
        fn intern(&mut self, stack: &Stack) -> Option<StackId> {
            let (generation, cut, bits) = stack;
            let mut hashes = vec![PathHash::default(); bits.len()];
            let mut walked = Walked::new(frames(bits), &mut hashes, *generation, *cut);
            let known = self.twin.get(stack).copied();
            let found = self.interner.find(walked.hash());
            if known.is_some() {
                assert_eq!(found, known, "{stack:x?}");
                return known;
            }
            let held = self.lock.hold().unwrap();
            let id = self.interner.define(&mut walked, &self.definer, self.head, &held)?;
            assert!(found.is_none_or(|found| found == id), "a part of a stack that was defined before");
            assert_eq!(self.interner.find(walked.hash()), Some(id));
            self.twin.insert(stack.clone(), id);
            Some(id)
        }

        /// The nodes and cuts that were defined, from number 1 on.
        fn definitions(&self) -> Vec<Definition<'static>> {
            let len = self.head.defs_committed.load(Ordering::Acquire) as usize;
            // SAFETY: the first `len` bytes are written, and the mapping stays.
            let bytes = unsafe { core::slice::from_raw_parts(self.definer.file().at(0), len) };
            Definitions::new(bytes, Position::default()).map(|read| read.unwrap().1).collect()
        }

        /// That each number leads, caller by caller, to what its stack was, and that no node is there
        /// twice or for nothing.
        fn check(&self) {
            let definitions = self.definitions();
            for ((_, cut, bits), id) in &self.twin {
                let mut at = *id;
                for &frame in bits {
                    let Definition::Node(node) = definitions[at.0 as usize - 1] else { panic!("no node") };
                    assert_eq!(node.pc.0 | u64::from(node.exact) << 63, frame);
                    at = node.parent;
                }
                let root = at.0.checked_sub(1).map(|i| definitions[i as usize]);
                assert_eq!(root, cut.map(|reason| Definition::Cut { reason: reason as u8 }));
            }
            let mut nodes = HashSet::new();
            for (generation, cut, bits) in self.twin.keys() {
                let from = usize::from(cut.is_none());
                nodes.extend((from..=bits.len()).map(|n| (generation, cut, &bits[bits.len() - n..])));
            }
            assert_eq!(definitions.len(), nodes.len());
            assert_eq!(self.interner.entries.load(Ordering::Relaxed), nodes.len());
        }
    }

    /// A stack that shares its outer frames with one of those before it.
    fn grown(before: &[Stack], state: &mut u64) -> Stack {
        let (mut generation, mut cut, mut bits) = before[random(state) as usize % before.len()].clone();
        bits.drain(..random(state) as usize % (bits.len() + 1));
        for _ in 0..1 + random(state) % 6 {
            let exact = u64::from(random(state).is_multiple_of(16)) << 63;
            // Return addresses as they are: close together, in few functions.
            bits.insert(0, (0x5555_5555_0000 + random(state) % 5000 * 4) | exact);
        }
        if random(state).is_multiple_of(50) {
            generation = random(state) as u32 % 4;
            cut = [None, Some(Drop::StackDepth), Some(Drop::StackRule)][random(state) as usize % 3];
        }
        (generation, cut, bits)
    }

    #[test]
    fn numbers_are_those_of_a_map() {
        let _arena = ARENA.lock().unwrap();
        let mut both = Both::new(16 << 20);
        let (mut stacks, mut state) = (vec![(0, None, vec![0x40_1000])], 1);
        for _ in 0..30_000 {
            let stack = grown(&stacks, &mut state);
            both.intern(&stack).unwrap();
            let again = &stacks[random(&mut state) as usize % stacks.len()];
            both.intern(again).unwrap();
            stacks.push(stack);
        }
        assert!(both.interner.entries.load(Ordering::Relaxed) > 16 * FIRST_CAPACITY, "it has grown often");
        both.check();
    }

    #[test]
    fn without_room_known_stacks_keep_their_numbers() {
        let _arena = ARENA.lock().unwrap();
        let mut both = Both::new(DEFS_STEP_BYTES);
        let (mut stacks, mut state) = (vec![(0, None, vec![0x40_1000])], 1);
        while both.intern(stacks.last().unwrap()).is_some() {
            stacks.push(grown(&stacks, &mut state));
        }
        let lost = stacks.pop().unwrap();
        assert!(stacks.len() > 1000);
        assert_eq!(both.intern(&lost), None);
        stacks.iter().for_each(|stack| assert!(both.intern(stack).is_some()));
    }

    #[test]
    fn a_frame_that_guesses_its_caller_says_so() {
        const GUESSES: u64 = 1 << 62;
        let _arena = ARENA.lock().unwrap();
        let both = Both::new(DEFS_STEP_BYTES);
        let mut hashes = [PathHash::default(); 3];
        let mut walked = Walked::new(frames(&[3 | GUESSES, 2, 1]), &mut hashes, 0, None);
        let held = both.lock.hold().unwrap();
        both.interner.define(&mut walked, &both.definer, both.head, &held).unwrap();
        let guessed = both.definitions().into_iter().map(|d| matches!(d, Definition::Node(n) if n.guesses));
        assert_eq!(guessed.collect::<Vec<_>>(), [false, false, true], "from the outermost in");
    }
}
