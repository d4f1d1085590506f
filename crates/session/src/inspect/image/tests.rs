//! What is read of files with holes and of pages, and what is refused.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;

use heapscribe_wire::live::walk::{Live, seen_words, walk};
use heapscribe_wire::live::{GRANULE_SHIFT_GLIBC, HEADER_SLOTS, SIZE_ELSEWHERE, UNIT_SLOTS, region_units};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const LIVE: u64 = 1 << 52;

/// A sparse file with a slot in some units: what of it is read.
#[test]
fn holes_are_left_out_and_the_rest_is_whole() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(2000 * UNIT).unwrap();
    let filled = [0u64, 1, 7, 20, 21, 22, 63, 150, 151, 152, 153, 154, 155, 156, 1999];
    for unit in filled {
        file.write_all_at(&(LIVE | unit).to_le_bytes(), unit * UNIT + 8192).unwrap();
    }
    let mut image = Image::default();
    image.provide(&file, 5).unwrap();
    for (units, writers) in
        [(2000, Writers::Held), (22, Writers::Running), (0, Writers::Held), (2000, Writers::Running)]
    {
        image.read(&file, units, writers).unwrap();
        image.index();
        for unit in 0..2000u32 {
            let is_there = filled.contains(&u64::from(unit)) && unit < units;
            let expected = if is_there { LIVE | u64::from(unit) } else { 0 };
            assert_eq!(image.unit(unit).slot(512), [expected, 0], "unit {unit} of {units}");
        }
    }
    assert!(matches!(image.unit(40), Unit::Hole), "a hole costs nothing");
    let extents = [0..2, 7..8, 20..23, 63..64, 150..157, 1999..2000].map(|of| of.start * UNIT..of.end * UNIT);
    assert_eq!(image.extents(), extents);
}

/// What was cut off passed for a hole, and a table without its beginning for an empty one.
#[test]
fn a_file_that_was_cut_is_refused_at_its_end() {
    let file = tempfile::tempfile().unwrap();
    for (len, expected) in [(2 * UNIT, None), (2 * UNIT - 1, Some("32767")), (0, Some("0"))] {
        file.set_len(len).unwrap();
        let refused = Image::default().read(&file, 2, Writers::Held).err().map(|e| e.to_string());
        let words =
            expected.map(|is| format!("the file ends at byte {is}, and 32,768 bytes of it are in use"));
        assert_eq!(refused, words);
    }
}

#[test]
fn pages_become_units() {
    // A page has a live slot at its begin, whose number this is.
    let pages = |number: u64, n: usize| {
        let mut page = vec![0; 4096];
        page[..8].copy_from_slice(&(LIVE | number).to_le_bytes());
        page.repeat(n)
    };
    let mut assembly = Assembly::new(10);
    for (page, number, n) in [(0, 1, 1), (2, 4, 1), (13, 2, 8), (36, 3, 4), (400, 5, 1)] {
        assembly.add(page * 4096, &pages(number, n));
    }
    let image = assembly.end();
    let numbers = |unit: u32| [0, 1, 2, 3].map(|page| image.unit(unit).slot(page * 256)[0] & !LIVE);
    assert_eq!(numbers(0), [1, 0, 4, 0]);
    assert_eq!([numbers(1), numbers(2), numbers(6)], [[0; 4]; 3]);
    assert_eq!([numbers(3), numbers(4), numbers(5)], [[0, 2, 2, 2], [2; 4], [2, 0, 0, 0]]);
    assert_eq!(numbers(9), [3; 4]);
    assert_eq!(numbers(100), [0; 4], "beyond the units in use");
}

/// The bytes of the file, as an oracle.
struct Bytes(Vec<u8>);

impl Units for Bytes {
    fn units(&self) -> u32 {
        (self.0.len() / LIVE_UNIT_BYTES) as u32
    }

    fn unit(&self, number: u32) -> Unit<'_> {
        self.0.as_chunks().0.get(number as usize).into()
    }
}

fn blocks(of: &impl Units) -> Vec<Result<Live, String>> {
    let (mut all, mut seen) = (Vec::new(), vec![0; seen_words(of.units())]);
    walk(of, GRANULE_SHIFT_GLIBC, &mut seen, |found| all.push(found.map_err(|e| e.to_string()))).unwrap();
    all
}

const UNITS: u32 = 150;
/// Words of a unit.
const WORDS: usize = LIVE_UNIT_BYTES / 8;
/// A table, the region that it leads to, and the units behind that.
const TABLE: usize = 8;
const REGION: usize = 9;
const REGION_END: usize = REGION + region_units(GRANULE_SHIFT_GLIBC) as usize;

/// Words of a table: entries that lead to a unit or a slot, slots of blocks, and sizes.
fn store() -> impl Strategy<Value = (usize, u64)> {
    let at = prop_oneof![
        0..TABLE * WORDS,
        TABLE * WORDS..(REGION + 3) * WORDS,
        REGION_END * WORDS..UNITS as usize * WORDS
    ];
    let entry = || {
        let slots = UNITS * UNIT_SLOTS as u32;
        prop_oneof![Just(0), Just(8), Just(9), 0..UNITS + 9, REGION_END as u32 * UNIT_SLOTS as u32..slots + 9]
    };
    let word = prop_oneof![
        (entry(), entry()).prop_map(|(low, high)| u64::from(low) | u64::from(high) << 32),
        any::<u64>(),
        any::<u64>().prop_map(|word| word | LIVE | SIZE_ELSEWHERE),
        (0..1u64 << 48),
    ];
    (at, word)
}

/// The numbers of the units that these stores change, in order.
fn changed(stores: &[(usize, u64)]) -> Vec<u32> {
    stores.iter().map(|(at, _)| (*at / WORDS) as u32).collect::<BTreeSet<_>>().into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// What was changed since is read again, some of it twice, and the rest is not. A table is new, and units behind those
    /// that were in use.
    #[test]
    fn units_that_are_renewed_are_as_if_all_were_read_then(rounds in vec(vec(store(), 0..400), 1..5)) {
        let mut bytes = vec![0; UNITS as usize * LIVE_UNIT_BYTES];
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        let mut put = |at: usize, word: u64| {
            bytes[at * 8..at * 8 + 8].copy_from_slice(&word.to_le_bytes());
            file.write_all_at(&word.to_le_bytes(), at as u64 * 8).unwrap();
        };
        put(0, TABLE as u64);
        put(TABLE * WORDS, REGION as u64);
        let mut image = Image::default();
        image.read(&file, UNITS - 10, Writers::Held).unwrap();
        for (round, mut stores) in rounds.into_iter().enumerate() {
            stores.retain(|(at, _)| (TABLE * WORDS..UNITS as usize * WORDS).contains(at));
            if round == 1 {
                stores.extend([(1, 140), (140 * WORDS, 100)]);
            }
            // A word that is stored may be taken back again.
            stores.iter_mut().skip(4).step_by(5).for_each(|(_, word)| *word = 0);
            stores.iter().for_each(|(at, word)| put(*at, *word));
            image.renew(&file, UNITS, &changed(&stores)).unwrap();
        }
        image.index();
        prop_assert_eq!(blocks(&image), blocks(&Bytes(bytes)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// A walk finds the same, in the same order, and the same wrong, in what was kept as in the bytes of the file.
    #[test]
    fn what_is_kept_of_any_file_is_what_a_walk_finds(
        stores in vec(store(), 0..3000),
        sound in vec((0..128u32 * 1024, any::<u64>()), 0..200),
    ) {
        let mut bytes = vec![0; UNITS as usize * LIVE_UNIT_BYTES];
        let mut put = |at: usize, word: &[u8]| bytes[at..at + word.len()].copy_from_slice(word);
        stores.iter().for_each(|(at, word)| put(*at * 8, &word.to_le_bytes()));
        // A directory that leads to a table that leads to a region, and out of the file.
        put(0, &(TABLE as u64).to_le_bytes());
        put(TABLE * LIVE_UNIT_BYTES, &(REGION as u64 | u64::from(UNITS) << 32).to_le_bytes());
        for (nth, (granule, word)) in sound.iter().enumerate() {
            let slot = (REGION_END + 60) * UNIT_SLOTS + HEADER_SLOTS + nth;
            put(REGION * LIVE_UNIT_BYTES + *granule as usize * 4, &(slot as u32).to_le_bytes());
            put(slot * 16, &(*word | LIVE).to_le_bytes());
        }
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let oracle = Bytes(bytes);
        let expected = blocks(&oracle);
        let mut image = Image::default();
        for writers in [Writers::Held, Writers::Running] {
            image.read(&file, UNITS, writers).unwrap();
            image.index();
            prop_assert_eq!(&blocks(&image), &expected);
        }
        let mut assembly = Assembly::new(UNITS);
        let pages = oracle.0.chunks(4096).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0));
        pages.for_each(|(nth, page)| assembly.add(nth as u64 * 4096, page));
        let assembled = assembly.end();
        prop_assert_eq!(&blocks(&assembled), &expected);
        // And as it is written to a named snapshot.
        let mut second = Assembly::new(UNITS);
        for extent in image.extents() {
            extent.step_by(LIVE_UNIT_BYTES).for_each(|at| second.add(at, &*image.bytes(at)));
        }
        prop_assert_eq!(&blocks(&second.end()), &expected);
        let granules: BTreeSet<_> = sound.iter().map(|(granule, _)| granule).collect();
        prop_assert!(expected.len() >= granules.len());
    }
}
