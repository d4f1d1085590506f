//! What happens to files: they are cut, bytes change, ranges vanish, appear and repeat. A reader shows
//! what is left and says that something is missing and where.

use super::super::block::{BLOCK_HEADER_BYTES, BlockHeader, Kind};
use super::super::header::{FOOTER_BYTES, HEADER_BYTES};
use super::*;

/// Where the blocks of an undamaged trace stand.
fn blocks(bytes: &[u8]) -> Vec<(usize, BlockHeader)> {
    let (mut at, mut list) = (HEADER_BYTES, Vec::new());
    while at < bytes.len() - FOOTER_BYTES {
        let header = BlockHeader::decode(bytes[at..at + BLOCK_HEADER_BYTES].try_into().unwrap()).unwrap();
        list.push((at, header));
        at += header.file_bytes() as usize;
    }
    list
}

fn first_of(bytes: &[u8], kind: Kind) -> usize {
    blocks(bytes).into_iter().find(|(_, h)| h.kind == kind as u8).unwrap().0
}

fn same_chunk(a: &ChunkEntry, b: &ChunkEntry) -> bool {
    (a.process, a.info, a.sums, a.offset, a.number) == (b.process, b.info, b.sums, b.offset, b.number)
}

#[test]
fn a_cut_trace_is_a_prefix_and_is_reported() {
    for level in [0, 1] {
        let bytes = sample(level);
        let whole = contents_of(&bytes[..]).unwrap();
        assert!(whole.is_clean(), "{whole:?}");
        for cut in 0..bytes.len() {
            let contents = match contents_of(&bytes[..cut]) {
                Ok(contents) => contents,
                Err(e) => {
                    assert!(cut < HEADER_BYTES && e.to_string().contains("byte"), "{cut}: {e}");
                    continue;
                }
            };
            assert!(cut >= HEADER_BYTES && !contents.problems.is_empty(), "{cut}");
            assert_eq!(contents.errors, [""; 0], "{cut}");
            assert!(contents.chunks.iter().zip(&whole.chunks).all(|(a, b)| same_chunk(a, b)), "{cut}");
            assert!(whole.events.starts_with(&contents.events), "{cut}");
            assert!(whole.definitions.starts_with(&contents.definitions), "{cut}");
            assert!(whole.memory.starts_with(&contents.memory), "{cut}");
        }
    }
}

#[test]
fn a_trace_without_its_footer_reads_the_same() {
    let bytes = sample(1);
    let whole = contents_of(&bytes[..]).unwrap();
    let mut contents = contents_of(&bytes[..bytes.len() - FOOTER_BYTES]).unwrap();
    assert_eq!(contents.problems.len(), 1);
    contents.problems.clear();
    assert_eq!(contents, whole);
}

#[test]
fn a_damaged_definitions_block_costs_only_itself() {
    let bytes = sample(1);
    let whole = contents_of(&bytes[..]).unwrap();
    let mut damaged = bytes.clone();
    damaged[first_of(&bytes, Kind::Definitions) + 40] ^= 1;
    let contents = contents_of(&damaged).unwrap();
    assert_eq!(contents.definitions[..], whole.definitions[4..]);
    assert_eq!(contents.events, whole.events);
    let what: Vec<_> = contents.problems.iter().map(|p| p.what).collect();
    assert_eq!(what, ["damaged definitions block", "definitions of stacks are missing before this block"]);
}

#[test]
fn a_damaged_process_block_leaves_its_events() {
    let bytes = sample(1);
    let whole = contents_of(&bytes[..]).unwrap();
    let mut damaged = bytes.clone();
    damaged[first_of(&bytes, Kind::Process) + 40] ^= 1;
    for end in [bytes.len(), bytes.len() - FOOTER_BYTES] {
        let contents = contents_of(&damaged[..end]).unwrap();
        assert!(contents.processes[0].info.is_none() && contents.processes[1].info.is_some());
        assert_eq!(contents.events, whole.events);
        assert!(contents.problems.iter().any(|p| p.what == "damaged process block"));
    }
}

#[test]
fn a_scan_skips_a_damaged_block_header() {
    let bytes = sample(1);
    let whole = contents_of(&bytes[..]).unwrap();
    let offset = first_of(&bytes, Kind::Events);
    let mut damaged = bytes[..bytes.len() - FOOTER_BYTES].to_vec();
    damaged[offset + 16] ^= 1;
    let contents = contents_of(&damaged).unwrap();
    assert_eq!(contents.problems[1].offset, offset as u64, "{:?}", contents.problems);
    assert_eq!(contents.events[..], whole.events[15..]);
}

#[test]
fn a_missing_block_is_noticed() {
    let mut bytes = sample(1);
    let (start, header) = blocks(&bytes)[3];
    bytes.drain(start..start + header.file_bytes() as usize);
    let contents = contents_of(&bytes).unwrap();
    assert!(contents.problems.iter().any(|p| p.what == "blocks are missing before this one"));
}

#[test]
fn a_damaged_index_is_replaced_by_a_scan() {
    let bytes = sample(1);
    let whole = contents_of(&bytes[..]).unwrap();
    let mut damaged = bytes.clone();
    damaged[first_of(&bytes, Kind::Index) + 40] ^= 1;
    let contents = contents_of(&damaged).unwrap();
    assert_eq!((&contents.chunks, &contents.events), (&whole.chunks, &whole.events));
    assert_eq!(contents.problems[0].what, "damaged index, blocks were searched instead");
}

#[test]
fn later_versions_are_refused_and_other_files_too() {
    let refused = |at: usize, value: u8| {
        let mut bytes = sample(1);
        bytes[at] = value;
        Trace::open(bytes).unwrap_err().to_string()
    };
    assert_eq!(refused(8, 2), "trace of format version 2, known is 1 (byte 8)");
    let next = heapscribe_wire::ABI_VERSION as u8 + 1;
    let expected = format!("trace of format version {next}, known is {} (byte 24)", next - 1);
    assert_eq!(refused(24, next), expected);
    assert_eq!(refused(0, 9), "not a heapscribe trace (byte 0)");
}

pub(super) struct Rng(pub u64);

impl Rng {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Does one of the things that happen to files.
pub(super) fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    if bytes.is_empty() {
        return; // cut to nothing by the mutation before
    }
    let at = rng.below(bytes.len());
    let end = (at + 1 + rng.below(200)).min(bytes.len());
    match rng.below(8) {
        0 => bytes[at] ^= 1 << rng.below(8),
        1 => bytes[at] = rng.below(256) as u8,
        2 => bytes[at..end].fill(if rng.below(2) == 0 { 0 } else { 0xff }),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            let to = rng.below(bytes.len());
            bytes.splice(to..to, piece);
        }
        5 => bytes.truncate(at),
        6 => {
            let all = blocks_by_sync(bytes);
            let header = all.get(rng.below(all.len())).copied().unwrap_or(at);
            let field = header + 4 + 4 * rng.below(6);
            if let Some(field) = bytes.get_mut(field..field + 4) {
                let values = [0, 1, 31, 1 << 16, 1 << 20, u32::MAX, rng.below(1 << 21) as u32];
                field.copy_from_slice(&values[rng.below(values.len())].to_le_bytes());
            }
        }
        _ => bytes[at..end].iter_mut().for_each(|b| *b = rng.below(256) as u8),
    }
}

fn blocks_by_sync(bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"\xf1hsB")).collect()
}

#[test]
fn ten_thousand_mutations_are_noticed_and_cost_little() {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let originals = [0, 1].map(sample);
    let wholes = originals.each_ref().map(|original| contents_of(&original[..]).unwrap());
    for round in 0..10_000 {
        let (mut bytes, whole) = (originals[round % 2].clone(), &wholes[round % 2]);
        (0..1 + rng.below(3)).for_each(|_| mutate(&mut bytes, &mut rng));
        if bytes.is_empty() {
            continue;
        }
        let source = Counted { bytes: &bytes, read: Cell::new(0) };
        match contents_of(&source) {
            Ok(contents) => assert!(!contents.is_clean() || contents == *whole, "{round}: {contents:?}"),
            Err(e) => assert!(e.to_string().contains("byte"), "{round}: {e}"),
        }
        assert!(source.read.get() < 40 * bytes.len() as u64 + 4096, "{round}: {}", source.read.get());
    }
}
