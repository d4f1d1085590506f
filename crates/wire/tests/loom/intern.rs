//! The table of stacks (`record::intern`): readers without a lock, a writer under it that inserts and
//! grows. The algorithm is copied, step by step, since the real table lies in raw zeroed memory, where
//! loom's atomics can not be.

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::explore;

const FIRST_CAPACITY: usize = 2;
const TABLES: usize = 3;

type Entry = [AtomicU64; 2];

#[derive(Debug)]
struct Table(Vec<Entry>);

impl Table {
    fn entry(&self, index: u64) -> &Entry {
        &self.0[index as usize & (self.0.len() - 1)]
    }

    fn find(&self, hash: u64) -> Option<u64> {
        for i in 0..self.0.len() as u64 {
            let entry = self.entry(hash + i);
            match entry[0].load(Ordering::Acquire) {
                0 => return None,
                h if h == hash => return Some(entry[1].load(Ordering::Relaxed)),
                _ => {}
            }
        }
        None
    }

    fn insert(&self, hash: u64, id: u64) {
        for i in 0..self.0.len() as u64 {
            let entry = self.entry(hash + i);
            if entry[0].load(Ordering::Relaxed) == 0 {
                entry[1].store(id, Ordering::Relaxed);
                entry[0].store(hash, Ordering::Release);
                return;
            }
        }
    }
}

/// What the recorder's lock protects: the definitions, here the hashes in the order of their numbers.
type Definitions = Mutex<Vec<u64>>;

#[derive(Debug)]
struct Interner {
    /// Memory for the tables, each twice as large as the one before it.
    memory: Vec<Table>,
    /// The published table, counted from 1.
    table: AtomicU32,
    entries: AtomicU32,
    /// How often a stack was defined, or the table replaced.
    changes: AtomicU32,
    definitions: Definitions,
}

impl Interner {
    fn new() -> Arc<Interner> {
        let table = |i: usize| Table((0..FIRST_CAPACITY << i).map(|_| Entry::default()).collect());
        Arc::new(Interner {
            memory: (0..TABLES).map(table).collect(),
            table: AtomicU32::default(),
            entries: AtomicU32::default(),
            changes: AtomicU32::default(),
            definitions: Mutex::new(Vec::new()),
        })
    }

    fn published(&self) -> Option<(u32, &Table)> {
        let number = self.table.load(Ordering::Acquire);
        Some((number, self.memory.get(number.checked_sub(1)? as usize)?))
    }

    fn find(&self, hash: u64) -> Option<u64> {
        self.published()?.1.find(hash)
    }

    fn with_room(&self) -> &Table {
        match self.published() {
            Some((_, table)) if self.entries.load(Ordering::Relaxed) as usize * 2 < table.0.len() => table,
            Some((number, table)) => self.grow(Some(table), number + 1),
            None => self.grow(None, 1),
        }
    }

    fn grow(&self, old: Option<&Table>, number: u32) -> &Table {
        let table = &self.memory[number as usize - 1];
        for entry in old.iter().flat_map(|table| &table.0) {
            let hash = entry[0].load(Ordering::Relaxed);
            if hash != 0 {
                table.insert(hash, entry[1].load(Ordering::Relaxed));
            }
        }
        self.table.store(number, Ordering::Release);
        self.count_change();
        table
    }

    fn count_change(&self) {
        self.changes.store(self.changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// As a hook does it: look, and where that finds nothing, define under the lock, without another look when nothing
    /// has changed since.
    fn intern(&self, hash: u64) -> u64 {
        let changes = self.changes.load(Ordering::Acquire);
        if let Some(id) = self.find(hash) {
            return id;
        }
        let mut definitions = self.definitions.lock().unwrap();
        if self.changes.load(Ordering::Relaxed) != changes
            && let Some(id) = self.find(hash)
        {
            return id;
        }
        let table = self.with_room();
        definitions.push(hash);
        let id = definitions.len() as u64;
        table.insert(hash, id);
        self.entries.store(self.entries.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.count_change();
        id
    }
}

/// All of these begin their search at the same entry.
const HASHES: [u64; 2] = [4, 8];

#[test]
fn a_reader_finds_the_right_number_or_none_and_never_loses_it_again() {
    explore("reader, and a writer that inserts and grows", 4, || {
        let interner = Interner::new();
        let writer = Arc::clone(&interner);
        let thread = thread::spawn(move || HASHES.map(|hash| writer.intern(hash)));
        let mut before = [None; 2];
        for _ in 0..2 {
            let found = HASHES.map(|hash| interner.find(hash));
            for ((found, before), right) in found.iter().zip(before).zip([1, 2]) {
                assert!(found.is_none_or(|id| id == right), "{found:?} is not {right}");
                assert!(before.is_none() || found.is_some(), "{right} was lost");
            }
            before = found;
        }
        assert_eq!(thread.join().unwrap(), [1, 2]);
        assert_eq!(HASHES.map(|hash| interner.find(hash)), [Some(1), Some(2)]);
    });
}

#[test]
fn threads_that_meet_the_same_stacks_agree_on_their_numbers() {
    explore("two threads intern the same", 4, || {
        let interner = Interner::new();
        let other = Arc::clone(&interner);
        let thread = thread::spawn(move || HASHES.map(|hash| other.intern(hash)));
        let [second, first] = [8, 4].map(|hash| interner.intern(hash));
        assert_eq!(thread.join().unwrap(), [first, second]);
        assert_eq!(interner.definitions.lock().unwrap().len(), 2, "each is defined once");
    });
}
