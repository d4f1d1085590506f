//! A live table in which anybody has written anything: the walk over it ends, each unit is visited once at
//! most, and blocks lie where blocks can be. The same bytes as the beginning of a named snapshot.
#![no_main]

use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::walk::{Unit, Units, seen_words, walk};
use heapscribe_wire::live::{ADDRESS_END, SLOT_BYTES};
use heapscribe_wire::named_snapshot::{EXTENT_HEADER_BYTES, Named, parse_extent};
use libfuzzer_sys::fuzz_target;

const UNITS: u32 = 300;

struct Table(Vec<u8>);

impl Units for Table {
    fn units(&self) -> u32 {
        UNITS
    }

    fn unit(&self, number: u32) -> Unit<'_> {
        self.0.as_chunks().0.get(number as usize).into()
    }
}

/// The bytes are stores: unit, word within it, value, 8 bytes each.
fn table(stores: &[u8]) -> Table {
    let mut bytes = vec![0; UNITS as usize * LIVE_UNIT_BYTES];
    for store in stores.as_chunks::<8>().0 {
        let unit = u16::from_le_bytes([store[0], store[1]]) as usize % UNITS as usize;
        let word = u16::from_le_bytes([store[2], store[3]]) as usize % (LIVE_UNIT_BYTES / 4);
        let at = unit * LIVE_UNIT_BYTES + 4 * word;
        bytes[at..at + 4].copy_from_slice(&store[4..]);
    }
    Table(bytes)
}

fuzz_target!(|data: &[u8]| {
    let table = table(data);
    for granule_shift in [4, 5, u32::from(data.first().copied().unwrap_or(0))] {
        let (mut seen, mut blocks) = (vec![0; seen_words(UNITS)], 0);
        let _ = walk(&table, granule_shift, &mut seen, |found| {
            if let Ok(live) = found {
                blocks += 1;
                assert!(live.address.0 < ADDRESS_END);
            }
        });
        assert!(blocks <= table.0.len() / SLOT_BYTES, "a slot was visited twice");
    }
    if let Ok(named) = Named::parse(data) {
        assert_eq!(Named::parse(&named.to_bytes(true)), Ok(named));
    }
    if let Some(header) = data.first_chunk::<EXTENT_HEADER_BYTES>() {
        let _ = parse_extent(header);
    }
});
