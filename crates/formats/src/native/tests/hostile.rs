//! Hostile files: every checksum is valid, and the content is false.

use super::super::block::{BLOCK_HEADER_BYTES, BlockHeader, Codec, Kind, NO_PROCESS};
use super::super::header::file_header;
use super::damage::{Rng, mutate};
use super::resealed::reseal;
use super::*;

/// A block to be put into a file, with any length that it may claim.
#[derive(Clone, Copy)]
struct FalseBlock<'a> {
    kind: Kind,
    codec: Codec,
    process: u32,
    raw_bytes: u32,
    stored: &'a [u8],
}

impl FalseBlock<'_> {
    /// Of the first process, as one zstd frame.
    fn zstd(kind: Kind, raw_bytes: u32, stored: &[u8]) -> FalseBlock<'_> {
        FalseBlock { kind, codec: Codec::Zstd, process: 0, raw_bytes, stored }
    }

    /// Of the first process, memory samples as they are.
    fn memory(stored: &[u8]) -> FalseBlock<'_> {
        let raw_bytes = stored.len() as u32;
        FalseBlock { kind: Kind::Memory, codec: Codec::Raw, process: 0, raw_bytes, stored }
    }
}

/// A file of these blocks, well formed and without an end.
fn file(blocks: &[FalseBlock<'_>]) -> Vec<u8> {
    let mut out = file_header(0).to_vec();
    for (number, block) in blocks.iter().enumerate() {
        let FalseBlock { kind, codec, process, raw_bytes, stored } = *block;
        let header = BlockHeader {
            kind: kind as u8,
            codec: codec as u8,
            process,
            number: number as u32,
            raw_bytes,
            stored_bytes: stored.len() as u32,
            crc: crc32c::crc32c(stored),
        };
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(stored);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    out
}

fn problems(block: FalseBlock<'_>) -> Vec<&'static str> {
    let contents = contents_of(file(&[block])).unwrap();
    contents.problems[1..].iter().map(|p| p.what).collect()
}

#[test]
fn two_thousand_false_files_with_valid_checksums() {
    let mut rng = Rng(0x0123_4567_89ab_cdef);
    let samples = [sample(0), sample(1)];
    // More of them are the business of the fuzz target: most of a round goes into pages for lengths that are not true.
    for round in 0..2_000 {
        let mut bytes = samples[round % 2].clone();
        (0..1 + rng.below(4)).for_each(|_| mutate(&mut bytes, &mut rng));
        reseal(&mut bytes);
        let source = Counted { bytes: &bytes, read: Cell::new(0) };
        if let Err(e) = contents_of(&source) {
            assert!(e.to_string().contains("byte"), "{round}: {e}");
        }
        assert!(source.read.get() < 100 * bytes.len() as u64 + 4096, "{round}: {}", source.read.get());
    }
}

#[test]
fn lengths_that_no_block_has_are_refused() {
    let most = BLOCK_MAX as u32;
    assert_eq!(problems(FalseBlock::zstd(Kind::Memory, most + 1, b"x")), ["block longer than blocks are"]);
    let events = (256 << 10) + 1;
    assert_eq!(problems(FalseBlock::zstd(Kind::Events, events, b"x")), ["block longer than blocks are"]);
    let longer = "block that is longer stored than raw";
    assert_eq!(problems(FalseBlock::zstd(Kind::Memory, 1, b"xy")), [longer]);
}

const BLOCK_MAX: usize = super::super::block::BLOCK_BYTES_MAX;

#[test]
fn a_frame_of_a_wrong_length_is_damage() {
    let frame = zstd::bulk::compress(&[0; 1000], 1).unwrap();
    for raw_bytes in [999, 1001, 1 << 20] {
        assert_eq!(
            problems(FalseBlock::zstd(Kind::Events, raw_bytes.min(256 << 10), &frame)),
            ["damaged events block"]
        );
    }
    assert_eq!(
        problems(FalseBlock { process: NO_PROCESS, ..FalseBlock::zstd(Kind::Session, 1000, &frame) }),
        ["damaged session block"]
    );
}

#[test]
fn definitions_with_decreasing_or_huge_numbers_are_refused() {
    let block = |next_node: u32| {
        let mut out = next_node.to_le_bytes().to_vec();
        out.extend_from_slice(&[0; 12]);
        out.extend_from_slice(&definition_bytes(
            &[Definition::Cut { reason: 1, parent: StackId::UNKNOWN }],
            &mut Position { next_node, last_pc: 0 },
        ));
        out
    };
    let all: Vec<_> = [5, 5, 0, u32::MAX - 1, 1 << 26, 6].map(block).to_vec();
    let false_block =
        |stored| FalseBlock { kind: Kind::Definitions, process: 7, ..FalseBlock::memory(stored) };
    let blocks: Vec<_> = all.iter().map(|b| false_block(b)).collect();
    let contents = contents_of(file(&blocks)).unwrap();
    assert_eq!(
        contents.definitions,
        [5, 6].map(|id| format!("ProcessIndex(7) StackId({id}) Cut {{ reason: 1, parent: StackId(0) }}"))
    );
    assert_eq!(contents.problems.len(), 1 + 1 + 4, "{:?}", contents.problems);
}

#[test]
fn headers_that_claim_the_same_bytes_take_no_quadratic_time() {
    let one = &file(&[FalseBlock::memory(b"")])[32..];
    let mut bytes = file_header(0).to_vec();
    for number in 0..20_000u32 {
        let mut header = BlockHeader::decode(one.try_into().unwrap()).unwrap();
        (header.number, header.raw_bytes, header.stored_bytes) = (number, 500_000, 500_000);
        bytes.extend_from_slice(&header.encode());
    }
    let source = Counted { bytes: &bytes, read: Cell::new(0) };
    let contents = contents_of(&source).unwrap();
    assert!(contents.problems.len() > 1);
    let most = (20 * bytes.len() + 64 * BLOCK_HEADER_BYTES) as u64;
    assert!(source.read.get() < most, "{} of {}", source.read.get(), bytes.len());
}

#[test]
fn blocks_of_a_later_minor_version_are_skipped() {
    let mut bytes = file(&[FalseBlock::memory(b"abc")]);
    bytes[32 + 4] = 200;
    reseal(&mut bytes);
    assert_eq!(contents_of(&bytes).unwrap().problems.len(), 1);
}

#[test]
fn damage_everywhere_is_read_a_few_times_at_most() {
    let one = file(&[FalseBlock::memory(b"")])[32..].to_vec();
    let mut bytes = file_header(0).to_vec();
    for number in 0..10_000u32 {
        let header = BlockHeader { number, ..BlockHeader::decode(one[..].try_into().unwrap()).unwrap() };
        bytes.extend_from_slice(&header.encode());
        bytes.extend_from_slice(b"\xf1hsB and no more");
    }
    let source = Counted { bytes: &bytes, read: Cell::new(0) };
    assert_eq!(contents_of(&source).unwrap().problems.len(), 10_001);
    assert!(source.read.get() < 16 * bytes.len() as u64, "{} of {}", source.read.get(), bytes.len());
}

#[test]
fn a_footer_that_points_out_of_the_file_is_reported_at_its_end() {
    let mut bytes = sample(1);
    let footer = bytes.len() - 32;
    bytes[footer + 8..footer + 16].fill(0xff);
    reseal(&mut bytes);
    let contents = contents_of(&bytes[..]).unwrap();
    assert_eq!(contents.problems[0].offset, bytes.len() as u64);
    assert_eq!(contents.events, contents_of(&sample(1)[..]).unwrap().events);
}
