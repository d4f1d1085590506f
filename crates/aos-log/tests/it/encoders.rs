//! What each encoder makes of records, read back by decoders that are not ours, and the contract of room,
//! queue and totals.

use crate::common::{all_vectors, data, whole};
use heapscribe_aos_log::checksum::{jamcrc, masked};
use heapscribe_aos_log::encode::{Encoder, FLUSH_BYTES, Framing, MARK, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::pack::{Bytes, Fields, MessageRecord, Record};
use proptest::prelude::*;

const AOS: Framing = Framing::Aos { chunk_bytes: FLUSH_BYTES };

/// Gives the record to the encoder, writing out whenever it has no more room.
fn encode(encoder: &mut dyn Encoder, record: &mut dyn Record, file: &mut Vec<u8>) {
    let mut at = 0;
    while at < record.size() {
        let taken = encoder.encode(record, at).expect("encoded");
        at += taken;
        if at < record.size() {
            assert!(taken > 0 || !encoder.queue().is_empty(), "neither takes nor gives");
            drain(encoder, file);
        }
    }
}

fn drain(encoder: &mut dyn Encoder, file: &mut Vec<u8>) {
    file.extend_from_slice(encoder.queue());
    encoder.clear();
    assert!(encoder.queue().is_empty());
    assert_eq!(encoder.total_bytes(), file.len() as u64);
}

fn finish(encoder: &mut dyn Encoder, mut file: Vec<u8>) -> Vec<u8> {
    while !encoder.finish().expect("finished") {
        drain(encoder, &mut file);
    }
    drain(encoder, &mut file);
    file
}

/// The chunks of snappy's framing: kind, masked checksum, uncompressed bytes.
fn chunks(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut rest = file.strip_prefix(b"\xff\x06\x00\x00sNaPpY").expect("the identifier");
    let mut chunks = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<4>() {
        assert_eq!(head[0], 0, "a chunk that is not a compressed one");
        let (chunk, next) = behind.split_at(u32::from_le_bytes([head[1], head[2], head[3], 0]) as usize);
        let checksum = u32::from_le_bytes(*chunk.first_chunk().expect("checksum"));
        chunks.push((checksum, snap::raw::Decoder::new().decompress_vec(&chunk[4..]).expect("snappy")));
        rest = next;
    }
    assert!(rest.is_empty());
    chunks
}

fn decode_aos(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (checksum, chunk) in chunks(file) {
        assert_eq!(checksum, masked(jamcrc(&chunk)));
        bytes.extend(chunk);
    }
    bytes
}

fn decode_standard(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::copy(&mut snap::read::FrameDecoder::new(file), &mut bytes).expect("snappy frames");
    bytes
}

fn decode_xz(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::copy(&mut liblzma::read::XzDecoder::new(file), &mut bytes).expect("xz");
    bytes
}

fn decode_zstd(file: &[u8]) -> Vec<u8> {
    assert!(file.starts_with(MARK));
    zstd::decode_all(file).expect("zstd")
}

type Decode = fn(&[u8]) -> Vec<u8>;

fn all_encoders() -> Vec<(&'static str, Box<dyn Encoder>, Decode)> {
    vec![
        ("plain", Box::new(Plain::new(4096)), |file| file.to_vec()),
        ("snappy", Box::new(Snappy::new(AOS, 1 << 20).expect("snappy")), decode_aos),
        (
            "snappy, small",
            Box::new(Snappy::new(Framing::Aos { chunk_bytes: 4096 }, 64).expect("s")),
            decode_aos,
        ),
        ("snappy, standard", Box::new(Snappy::new(Framing::Standard, 0).expect("snappy")), decode_standard),
        ("xz", Box::new(Xz::new(0).expect("xz")), decode_xz),
        ("zstd", Box::new(Zstd::new(3).expect("zstd")), decode_zstd),
    ]
}

/// Bytes that hardly compress.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..bytes).map(next).collect()
}

fn message(data: &[u8]) -> MessageRecord<'_> {
    MessageRecord::new(Layout::V2024, Kind::Message, &Fields { data, ..Fields::default() }).expect("a record")
}

#[test]
fn all_records_of_all_parts_are_decoded() {
    for (name, mut encoder, decode) in all_encoders() {
        for part in 0..3 {
            let (mut file, mut expected) = (Vec::new(), Vec::new());
            for vector in all_vectors() {
                encode(&mut *encoder, &mut vector.record(), &mut file);
                expected.extend(vector.bytes);
            }
            for bytes in [0, 1, 65_536, 300_001, 4_000] {
                let data = noise(bytes, part);
                encode(&mut *encoder, &mut message(&data), &mut file);
                expected.extend(whole(&mut message(&data)));
            }
            let file = finish(&mut *encoder, file);
            assert!(decode(&file) == expected, "{name}, part {part}");
            encoder.restart().expect("restarted");
        }
    }
}

#[test]
fn a_part_without_records_is_read_too() {
    for (name, mut encoder, decode) in all_encoders() {
        let file = finish(&mut *encoder, Vec::new());
        assert_eq!(decode(&file), [0u8; 0], "{name}");
    }
}

#[test]
fn a_record_exactly_as_large_as_the_buffer_fits() {
    let bytes = data(FLUSH_BYTES);
    let mut record = Bytes::new(&bytes).expect("aligned");
    let mut encoder = Plain::new(FLUSH_BYTES);
    assert!(encoder.has_space(FLUSH_BYTES));
    assert!(!encoder.has_space(FLUSH_BYTES + 8));
    assert_eq!(encoder.encode(&mut record, 0), Ok(FLUSH_BYTES));
    assert_eq!(encoder.queue(), bytes);
    assert!(encoder.has_space(0) && !encoder.has_space(8));
    assert_eq!(encoder.encode(&mut record, 0), Ok(0));
}

#[test]
fn the_plain_buffer_is_filled_to_its_last_byte_and_begins_at_a_sector() {
    let bytes = data(4096 + 8);
    let mut record = Bytes::new(&bytes).expect("aligned");
    let mut encoder = Plain::new(4096);
    assert_eq!(encoder.queue().as_ptr() as usize % 512, 0);
    assert_eq!(encoder.encode(&mut record, 0), Ok(4096));
    assert_eq!(encoder.queue(), &bytes[..4096]);
    encoder.clear();
    assert_eq!(encoder.encode(&mut record, 4096), Ok(8));
    assert_eq!(encoder.queue(), &bytes[4096..]);
    assert_eq!(encoder.total_bytes(), 4104);
}

#[test]
fn has_space_is_reliable() {
    for (name, mut encoder, _) in all_encoders() {
        let mut file = Vec::new();
        for round in 0..2000 {
            let data = noise(round * 37 % 3000, round as u64);
            let mut record = message(&data);
            if encoder.has_space(record.size()) {
                assert_eq!(encoder.encode(&mut record, 0), Ok(record.size()), "{name}, round {round}");
            } else {
                encode(&mut *encoder, &mut record, &mut file);
            }
        }
    }
}

#[test]
fn chunks_end_where_aos_ends_them_with_its_checksums() {
    // Written by the real encoder, chunks of 4 KiB and of 128 KiB. The compressed bytes depend on the library,
    // lengths and checksums of what was compressed do not.
    for (name, chunk_bytes) in [
        ("part0.2022.bfbs.4k.sz", 4096),
        ("part0.2024.bfbs.4k.sz", 4096),
        ("part0.2022.bfbs.sz", FLUSH_BYTES),
    ] {
        let real = chunks(&std::fs::read(crate::common::fixture("aos").join(name)).expect("fixture"));
        let part: Vec<u8> = real.iter().flat_map(|(_, chunk)| chunk.clone()).collect();
        let mut encoder = Snappy::new(Framing::Aos { chunk_bytes }, 1 << 17).expect("snappy");
        let (mut file, mut rest) = (Vec::new(), &part[..]);
        while let Some(length) = rest.first_chunk() {
            let (record, behind) = rest.split_at(4 + u32::from_le_bytes(*length) as usize);
            encode(&mut encoder, &mut Bytes::new(record).expect("aligned"), &mut file);
            rest = behind;
        }
        let ours = chunks(&finish(&mut encoder, file));
        let facts =
            |chunks: &[(u32, Vec<u8>)]| chunks.iter().map(|(sum, c)| (*sum, c.len())).collect::<Vec<_>>();
        assert!(real.len() > 1, "{name}: one chunk shows nothing");
        assert_eq!(facts(&ours), facts(&real), "{name}");
    }
}

#[test]
fn a_record_longer_than_a_chunk_is_cut() {
    assert!(Snappy::new(Framing::Aos { chunk_bytes: 14 << 20 }, 64).is_err());
    let data = noise(16 << 20, 1);
    let mut encoder = Snappy::new(AOS, 17 << 20).expect("snappy");
    let mut file = Vec::new();
    encode(&mut encoder, &mut message(&data), &mut file);
    let file = finish(&mut encoder, file);
    assert_eq!(chunks(&file).len(), 2);
    assert!(decode_aos(&file) == whole(&mut message(&data)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn any_records_with_any_moments_of_writing_out(
        sizes in proptest::collection::vec((0..9000usize, any::<bool>()), 0..40),
    ) {
        for (name, mut encoder, decode) in all_encoders() {
            let (mut file, mut expected) = (Vec::new(), Vec::new());
            for (i, (bytes, writes_out)) in sizes.iter().enumerate() {
                let data = if i % 2 == 0 { noise(*bytes, i as u64) } else { data(*bytes) };
                encode(&mut *encoder, &mut message(&data), &mut file);
                expected.extend(whole(&mut message(&data)));
                while *writes_out && !encoder.flush().expect("flushed") {
                    drain(&mut *encoder, &mut file);
                }
                if *writes_out {
                    drain(&mut *encoder, &mut file);
                    prop_assert_eq!(encoder.held_bytes(), 0);
                }
            }
            let file = finish(&mut *encoder, file);
            prop_assert!(decode(&file) == expected, "{}", name);
        }
    }
}
