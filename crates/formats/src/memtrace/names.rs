//! Names of files and functions, each stored once and referred to by a number.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use foldhash::fast::RandomState;

/// A name of a file or function, by its number in the [`super::Locations`] that gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NameId(u32);

impl NameId {
    /// A name that was lost with a damaged part of the file.
    pub const UNKNOWN: NameId = NameId(0);
    /// The file of a location that is too long for the format.
    pub(crate) const NO_FILE: NameId = NameId(1);
    /// The function of a location that is too long for the format.
    pub(crate) const NO_FUNCTION: NameId = NameId(2);
}

const LOST: &[u8] = b"?";

/// Names in the order of their numbers, one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Numbers by the hash of the text; of texts with the same hash the second has the next key, and so on.
    numbers: HashMap<u64, NameId, BuildHasherDefault<Hashed>>,
    hasher: RandomState,
    texts: Vec<u8>,
    /// Where each text begins, and where the last one ends.
    begins: Vec<usize>,
}

/// Passes on keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only whole hashes are keys")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names {
            numbers: HashMap::default(),
            hasher: RandomState::default(),
            texts: Vec::new(),
            begins: vec![0],
        };
        for name in [LOST, b"<unknown>", b"??"] {
            names.number(name);
        }
        names
    }
}

impl Names {
    pub(crate) fn number(&mut self, text: &[u8]) -> NameId {
        let mut hash = self.hasher.hash_one(text);
        while let Some(known) = self.numbers.get(&hash) {
            if self.text(*known) == text {
                return *known;
            }
            hash = hash.wrapping_add(1);
        }
        let Ok(number) = u32::try_from(self.begins.len() - 1) else { return NameId::UNKNOWN };
        self.texts.extend_from_slice(text);
        self.begins.push(self.texts.len());
        self.numbers.insert(hash, NameId(number));
        NameId(number)
    }

    #[inline]
    pub(crate) fn text(&self, name: NameId) -> &[u8] {
        let at = name.0 as usize;
        let found = self.begins.get(at..).and_then(<[usize]>::first_chunk::<2>);
        found.map_or(LOST, |[begin, end]| &self.texts[*begin..*end])
    }
}
